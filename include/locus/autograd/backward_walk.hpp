#pragma once
// The walk that propagates gradients backward through the graph.

#include <locus/autograd/graph.hpp>

#include <cstdlib>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

struct BackwardOptions {
  bool retain_graph = false;  ///< keep the saved tensors, so that backward() can run again
};

namespace detail {
/// A function that is called at the end of a backward pass.
class PassEnd : public Counted {
 public:
  virtual ~PassEnd() = default;
  virtual void call() = 0;
};
template <class F>
class PassEndOf final : public PassEnd {
 public:
  explicit PassEndOf(F f) : f_(std::move(f)) {}
  void call() override { f_(); }

 private:
  F f_;
};
}  // namespace detail

/// One backward pass from a node.
class BackwardWalk {
 public:
  /// Collects the nodes below `root` whose number is `first` or higher. Lower-numbered nodes have to be inputs of the
  /// node that the outer walk is propagating; this walk only adds to their gradients. throws GraphError if one is no
  /// such input, and GraphError or StaleError if a collected node cannot run; then no gradient was touched.
  /// `asked_alone`: nodes that lead to no gradient that grad() asked for are left out, as in a walk around this one.
  explicit BackwardWalk(GraphNode& root, std::uint64_t first = 0, bool asked_alone = false)
      : first_(first), asked_alone_(asked_alone || (running_ && running_->asked_alone_ && first > 0)) {
    visit(root);
    for (std::size_t explored = 0; explored < nodes_.size(); ++explored)
      nodes_[explored]->visit_inputs(&visit_input, this);
    // Sorts pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
    std::qsort(nodes_.data(), nodes_.size(), sizeof(GraphNode*), &latest_first);
    try {
      if (asked_alone_) leave_out(root);
      for (GraphNode* node : nodes_)
        if (!node->is_left_out_) node->announce();
      for (const GraphNode* node : nodes_)
        if (runs(*node)) node->require_ready();
    } catch (...) {
      take_in();
      throw;
    }
    // The walk owns the nodes from here on, as freeing a node releases its inputs.
    for (GraphNode* node : nodes_) {
      node->retain();
      node->awaits_ = node->uses_;
    }
    root_ = &root;
  }
  BackwardWalk(const BackwardWalk&) = delete;
  BackwardWalk& operator=(const BackwardWalk&) = delete;
  ~BackwardWalk() {
    take_in();
    for (GraphNode* node : nodes_)
      if (node->release()) GraphNode::dispose(node);
  }

  /// Propagates the root's gradient to all nodes below it, latest first. After each node, calls the hooks of gradients
  /// that this node completed: all edges to them are done, whether or not each contributed. If a node or a hook throws
  /// (out of memory, say), the gradients of all nodes are cleared, so that none stays incomplete.
  void run(const BackwardOptions& options) {
    const Running running(*this);
    std::vector<Shared<detail::PassEnd>>& ends = outermost().ends_;
    const std::size_t asked_before = ends.size();
    try {
      if (is_awaited_) done_with(*root_, this);
      call_hooks();
      for (GraphNode* node : nodes_) {
        if (node->asked_) node->asked_->take();
        if (!runs(*node)) continue;
        propagated_ = node;
        node->propagate();
        if (is_awaited_) node->visit_inputs(&done_with, this);
        if (!options.retain_graph) node->free();
        call_hooks();
      }
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        const Shared<detail::PassEnd> end = ends_[i];  // a copy, because the call may add to ends_
        end->call();
      }
    } catch (...) {
      for (GraphNode* node : nodes_)
        if (!node->is_left_out_) node->clear_gradient();
      while (ends.size() > asked_before) ends.pop_back();
      throw;
    }
  }

#if LOCUS_DOUBLE_BACKWARD
  /// As run(), for gradients that grad() asked for, which are recorded. `seed()` gives the root's gradient to its
  /// record. throws GraphError, before anything is computed, if an operation's gradients cannot be recorded
  template <class Seed>
  void record(const Seed& seed) {
    const Running running(*this);
    for (const GraphNode* node : nodes_)
      if (!node->is_left_out()) detail::require_recordable(*node, runs(*node));
    detail::GradientRecords records;
    for (GraphNode* node : nodes_)
      if (!node->is_left_out()) records.add(*node);
    seed();
    for (GraphNode* node : nodes_) {
      if (node->asked_) node->asked_->take();
      if (runs(*node)) node->record_gradients();
    }
  }
#endif

  /// Whether this thread runs a walk.
  [[nodiscard]] static bool is_any_running() { return running_ != nullptr; }
  /// Adds a function to the end of this thread's outermost walk. throws GraphError outside of a walk
  static void at_end(Shared<detail::PassEnd> end) {
    if (!running_)
      fail<GraphError>({"after_backward: called outside of a backward pass; call it in a hook, on_gradient(f)"});
    outermost().ends_.push_back(std::move(end));
  }

 private:
  /// For qsort: std::sort would be compiled into every program, and the graph is small.
  static int latest_first(const void* a, const void* b) {
    const auto left = (*static_cast<GraphNode* const*>(a))->number_,
               right = (*static_cast<GraphNode* const*>(b))->number_;
    return left > right ? -1 : left < right;
  }
  static void visit_input(GraphNode& node, void* walk) { static_cast<BackwardWalk*>(walk)->visit(node); }
  void visit(GraphNode& node) {
    if (node.visited_ != mark_) {
      if (node.number_ < first_) require_input(node);
      else collect(node);
    }
    ++node.uses_;
  }
  void collect(GraphNode& node) {
    if (is_running(node)) {
      fail<GraphError>(
          {"backward: called by a hook, on a graph whose gradients the pass that called the hook is computing; call it "
           "after that pass, or compute from values, as in x.value()"});
    }
    node.visited_ = mark_;
    node.uses_ = 0;
    node.is_reached_ = false;
    is_awaited_ = is_awaited_ || node.is_hooked();
    nodes_.push_back(&node);
  }
  /// Whether the walk propagates the node's gradient.
  [[nodiscard]] static bool runs(const GraphNode& node) { return node.passes_on_ && !node.is_left_out_; }
  /// Leaves nodes out that lead to no gradient that was asked for, and counts the remaining edges. throws GraphError
  /// for a node that was freed, and does not know where it leads
  void leave_out(GraphNode& root) {
    struct Inputs {
      bool any = false, wanted = false;
      static void add(GraphNode& input, void* to) {
        auto& inputs = *static_cast<Inputs*>(to);
        inputs.any = true;
        inputs.wanted = inputs.wanted || !input.is_left_out_;
      }
    };
    for (std::size_t i = nodes_.size(); i-- > 0;) {  // the inputs of a node before the node
      GraphNode& node = *nodes_[i];
      Inputs inputs;
      node.visit_inputs(&Inputs::add, &inputs);
      if (!inputs.any && !node.is_leaf_) node.require_ready();
      node.passes_on_ = inputs.wanted;
      node.is_left_out_ = !inputs.wanted && !node.asked_;
      node.uses_ = 0;
    }
    ++root.uses_;
    for (GraphNode* node : nodes_)
      if (runs(*node)) node->visit_inputs([](GraphNode& input, void*) { ++input.uses_; }, nullptr);
  }
  void take_in() {
    if (!asked_alone_) return;
    for (GraphNode* node : nodes_) {
      node->passes_on_ = true;
      node->is_left_out_ = false;
    }
  }
  /// Searches the inputs of a node for `node`.
  struct Search {
    const GraphNode* node;
    bool found = false;
  };
  static void compare_input(GraphNode& input, void* of) {
    auto& search = *static_cast<Search*>(of);
    search.found = search.found || &input == search.node;
  }
  static void compare_inputs_of(GraphNode& node, void* search) { node.visit_inputs(&compare_input, search); }
  /// Inputs of inputs are accepted, too: if the function copied a named expression, the forward pass noted its node,
  /// and the second computation uses the inputs of that expression.
  static void require_input(const GraphNode& node) {
    Search search{&node};
    running_->propagated_->visit_inputs(&compare_input, &search);
    if (!search.found) running_->propagated_->visit_inputs(&compare_inputs_of, &search);
    if (search.found) return;
    fail<GraphError>(
        {"checkpoint: computed again, the function used a parameter or traced tensor that it had not used before; it "
         "has to do the same each time"});
  }

  /// The outermost of this thread's nested walks.
  [[nodiscard]] static BackwardWalk& outermost() {
    BackwardWalk* walk = running_;
    while (walk->outer_) walk = walk->outer_;
    return *walk;
  }
  /// Whether a running walk of this thread has collected the node.
  [[nodiscard]] static bool is_running(const GraphNode& node) {
    for (const BackwardWalk* walk = running_; walk; walk = walk->outer_)
      if (node.visited_ == walk->mark_) return true;
    return false;
  }
  class Running {
   public:
    explicit Running(BackwardWalk& walk) {
      walk.outer_ = running_;
      running_ = &walk;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { running_ = running_->outer_; }
  };

  /// Counts one edge to the node as done.
  static void done_with(GraphNode& node, void* of) {
    auto& walk = *static_cast<BackwardWalk*>(of);
    if (node.number_ < walk.first_ || --node.awaits_ > 0) return;
    if (node.is_reached_ && node.is_hooked()) walk.complete_.push_back(&node);
  }
  void call_hooks() {
    for (GraphNode* node : complete_) node->call_hooks(mark_);
    complete_.clear();
  }

  std::uint64_t first_;
  bool asked_alone_;
  std::uint64_t mark_ = detail::next_node_number.fetch_add(1, Order::relaxed);
  GraphNode* root_ = nullptr;
  GraphNode* propagated_ = nullptr;  ///< the node that is being propagated, or was last
  bool is_awaited_ = false;          ///< whether a hook waits for a gradient
  std::vector<GraphNode*> nodes_;
  std::vector<GraphNode*> complete_;  ///< nodes whose hooks are to be called
  std::vector<Shared<detail::PassEnd>> ends_;
  BackwardWalk* outer_ = nullptr;  ///< the enclosing walk of this thread: it runs a checkpoint or a hook
  static inline thread_local BackwardWalk* running_ = nullptr;
};

/// Within a hook: calls f() once, at the end of the backward pass, when all gradients that it reached are complete.
/// Serves hooks that collect several gradients, of which a pass may leave some out. Functions are called in the order
/// of the requests. If the pass throws, none is called; if an inner pass throws, its requests are dropped. If f throws,
/// so does the pass, and clears its gradients. throws GraphError outside of a backward pass
///
///     auto hook = w.on_gradient([&](const auto& gradient) {
///       if (bucket.add(gradient)) after_backward([&] { bucket.finish(); });   // at the first gradient of a pass
///     });
template <class F>
  requires std::is_void_v<std::invoke_result_t<F&>>
void after_backward(F f) {
  BackwardWalk::at_end(Shared<detail::PassEnd>(new detail::PassEndOf<F>(std::move(f))));
}

}}  // namespace locus::LOCUS_ABI
