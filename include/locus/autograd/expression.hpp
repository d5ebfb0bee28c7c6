#pragma once
// The backward pass of a fused expression is itself fused: one launch writes the gradients of all operands.

#include <locus/autograd/traced.hpp>
#if LOCUS_DOUBLE_BACKWARD
#include <locus/autograd/expression_again.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The functor of an expression's backward pass. Inputs: the operands' values, the gradient of the result, and for each
/// wanted gradient its previous value, to which it is added (null: zero). Outputs: the wanted gradients (null:
/// discarded). `wanted` masks the operands that can want a gradient; whether they do is decided at run time.
template <class Tree, unsigned wanted, class T, class In, class Wanted>
struct Backward;
template <class Tree, unsigned wanted, class T, class... In, class... W>
struct Backward<Tree, wanted, T, Pack<In...>, Pack<W...>> {
  static constexpr int count = static_cast<int>(sizeof...(W));
  Tree tree;
  int merged_into[count];  ///< position of the operand's first occurrence, which takes both gradients; -1 if it is the
                           ///< first

  LOCUS_FN void operator()(compute_t<In>... in, compute_t<T> g, compute_t<W>... previous, compute_t<W>&... out) const {
    const Pack<compute_t<In>...> inputs(in...);
    const Evaluator<Tree, Pack<compute_t<In>...>, wanted> values(tree, inputs);
    Pack<compute_t<In>...> gradients{};
    values.back(tree, g, gradients);
    finish(gradients, std::make_integer_sequence<int, count>{}, previous..., out...);
  }

 private:
  template <int... n>
  LOCUS_FN void finish(Pack<compute_t<In>...>& gradients, std::integer_sequence<int, n...>, compute_t<W>... previous,
                       compute_t<W>&... out) const {
    (merge<n>(gradients, std::make_integer_sequence<int, n>{}), ...);
    ((out = previous + get<set_bit_v<wanted, n>>(gradients)), ...);
  }
  template <int later, int... earlier>
  LOCUS_FN void merge(Pack<compute_t<In>...>& gradients, std::integer_sequence<int, earlier...>) const {
    (merge_one<later, earlier>(gradients), ...);
  }
  template <int later, int earlier>
  LOCUS_FN void merge_one(Pack<compute_t<In>...>& gradients) const {
    auto& target = get<set_bit_v<wanted, earlier>>(gradients);
    const auto& source = get<set_bit_v<wanted, later>>(gradients);
    if constexpr (std::is_same_v<decltype(target), std::remove_cvref_t<decltype(source)>&>) {
      target += kept_if(merged_into[later] == earlier, source);
    }
  }
};

/// Type of a leaf's value: a tensor, or a generator that reads as one (element numbers).
template <class H>
using leaf_value_t = bare_t<decltype(std::declval<const H&>().value())>;

/// How the gradient of one operand leaves the launch.
template <class U, class D>
struct GradientRoute {
  Tensor<U, D> out;  ///< written by the launch; empty if the operand wants no gradient
  bool accumulate = false;
  bool reduced = false;  ///< out is a temporary of the full shape, to be summed over broadcast dimensions
};

/// Base of expression nodes with operands of the same types, compiled once for all formulas. V: element types. Saved:
/// types of saved operands. Bit i of `wanted`: operand i may want a gradient. Bit i of `unchanged`: its gradient equals
/// the result's.
template <class T, class D, unsigned wanted, unsigned unchanged, class V, class... Saved>
class GradientsOfOperands;
template <class T, class D, unsigned wanted, unsigned unchanged, class... V, class... Saved>
class GradientsOfOperands<T, D, wanted, unchanged, Pack<V...>, Saved...> : public RecordedNode<T, D, sizeof...(V)> {
 public:
  void propagate() override {
    if (!this->has_gradient()) return;
    if constexpr (wanted != 0) back(Positions{});
    this->clear_gradient();
  }
  void free() override {
    this->free_inputs();
    saved_.free();
  }
  void require_ready() const override {
    this->require_not_freed();
    saved_.require_unchanged("an elementwise expression");
  }

 protected:
  static constexpr int inputs_count = static_cast<int>(sizeof...(V));
  using Positions = std::make_integer_sequence<int, inputs_count>;
  template <int n>
  using input_value = std::tuple_element_t<n, Tuple<V...>>;
  using Routes = Tuple<GradientRoute<V, D>...>;

  GradientsOfOperands(const Tensor<T, D>& output, GraphNode* const (&inputs)[sizeof...(V)], Tuple<Saved...> saved)
      : RecordedNode<T, D, sizeof...(V)>(output, inputs), saved_(std::move(saved)) {}

  /// The position of an earlier operand with the same node, whose gradient this one adds to; -1 if there is none.
  [[nodiscard]] int first_occurrence(int later) const {
    for (int earlier = 0; earlier < later; ++earlier) {
      const bool counts = (wanted >> earlier & 1u) != 0 && this->sink(later);
      if (counts && this->sink(earlier) == this->sink(later)) return earlier;
    }
    return -1;
  }

  virtual void launch(const Tensor<T, D>& g, const Routes& routes, const int (&merged_into)[sizeof...(V)]) = 0;

  SavedValues<Saved...> saved_;  ///< operands whose values the backward pass reads; the others are empty

 private:
  template <int... i>
  void back(std::integer_sequence<int, i...>) {
    const Tensor<T, D>& g = this->gradient();
    if (all_pass_unchanged()) return (give_unchanged<i>(g), ...);
    int merged_into[inputs_count];
    for (int input = 0; input < inputs_count; ++input) merged_into[input] = first_occurrence(input);
    const auto occurs_again = [&](int input) { return ((merged_into[i] == input) || ...); };
    const Routes routes{route<i>(g, merged_into[i], occurs_again(i))...};
    launch(g, routes, merged_into);
    (finish<i>(get<i>(routes)), ...);
  }

  /// Whether only additions lead to the operands. Their gradients then equal the result's: shared, or summed over
  /// broadcast dimensions, without a launch of map.
  [[nodiscard]] bool all_pass_unchanged() const {
    for (int i = 0; i < inputs_count; ++i)
      if (((wanted & ~unchanged) >> i & 1u) != 0 && this->sink(i)) return false;
    return true;
  }
  template <int i>
  void give_unchanged(const Tensor<T, D>& g) {
    if constexpr ((wanted & unchanged) >> i & 1u) {
      if (auto gradient = gradient_of<input_value<i>, D>(this->sink(i))) sum_to(g, gradient);
    }
  }

  template <int i>
  [[nodiscard]] auto route(const Tensor<T, D>& g, int merged_into, [[maybe_unused]] bool occurs_again) {
    using U = input_value<i>;
    GradientRoute<U, D> route;
    if constexpr ((wanted >> i & 1u) != 0) {
      auto gradient = gradient_of<U, D>(this->sink(i));
      if (!gradient || merged_into >= 0) return route;
      if (gradient.shape() == g.shape()) {
        const auto target = gradient.open_in_format();
        return GradientRoute<U, D>{target.out, target.accumulate, false};
      }
      if constexpr (std::is_same_v<T, U> && (unchanged >> i & 1u) != 0) {
        if (!occurs_again) {
          sum_to(g, gradient);
          return route;
        }
      }
      return GradientRoute<U, D>{Tensor<U, D>(g.shape(), g.layout().format(), g.device()), false, true};
    }
    return route;
  }

  template <int i, class U>
  void finish(const GradientRoute<U, D>& route) {
    if constexpr ((wanted >> i & 1u) != 0) {
      if (!route.reduced) return;
      auto gradient = gradient_of<U, D>(this->sink(i));
      sum_to(route.out, gradient);
    }
  }
};

/// Bit masks of operands: `wanted`, whose gradient can be asked for; `unchanged`, whose gradient equals the result's.
template <class Tree, class... H>
struct WantedOperands {
  using Traits = TreeTraits<Tree>;
  static constexpr int count = static_cast<int>(sizeof...(H));
  static constexpr unsigned wanted = [] {
    unsigned mask = 0;
    int position = 0;
    ((mask |= H::role != Role::plain && DifferentiableDType<value_of<H>> ? 1u << position : 0u, ++position), ...);
    unsigned reached = 0;
    for (int i = 0; i < count; ++i)
      if ((mask >> i & 1u) != 0 && Traits::reaches(1u << i)) reached |= 1u << i;
    return reached;
  }();
  static constexpr unsigned unchanged = [] {
    unsigned mask = 0;
    for (int i = 0; i < count; ++i)
      if ((wanted >> i & 1u) != 0 && Traits::passes_unchanged(i)) mask |= 1u << i;
    return mask;
  }();
};
template <class T, class D, class Tree, class... H>
using GradientsOf = GradientsOfOperands<T, D, WantedOperands<Tree, H...>::wanted, WantedOperands<Tree, H...>::unchanged,
                                        Pack<value_of<H>...>, leaf_value_t<H>...>;

/// The node of one materialized expression.
template <class T, class D, class Tree, class... H>
class ExpressionNode final : public GradientsOf<T, D, Tree, H...> {
  using Base = GradientsOf<T, D, Tree, H...>;
  static constexpr int inputs_count = static_cast<int>(sizeof...(H));

 public:
  static constexpr unsigned wanted = WantedOperands<Tree, H...>::wanted;
  static constexpr unsigned needed = TreeTraits<Tree>::needed(wanted);

  ExpressionNode(const Part<Tree, H...>& part, const Tensor<T, D>& output, GraphNode* const (&inputs)[sizeof...(H)])
      : Base(output, inputs, keep(part, typename Base::Positions{})), tree_(part.tree) {}

 private:
  /// Saves the operands whose values the backward pass reads; the others stay empty.
  template <int... i>
  static Tuple<leaf_value_t<H>...> keep(const Part<Tree, H...>& part, std::integer_sequence<int, i...>) {
    return {((needed >> i & 1u) != 0 ? get<i>(part.leaves).handle.value() : leaf_value_t<H>())...};
  }

  static constexpr int wanted_count = __builtin_popcount(wanted);
  template <int n>
  using wanted_value = typename Base::template input_value<set_bit_v<wanted, n>>;

  void launch(const Tensor<T, D>& g, const typename Base::Routes& routes,
              const int (&merged_into)[sizeof...(H)]) override {
    if constexpr (wanted != 0) run(g, routes, merged_into, std::make_integer_sequence<int, wanted_count>{});
  }
  template <int... n>
  void run(const Tensor<T, D>& g, const typename Base::Routes& routes, const int (&merged_into)[sizeof...(H)],
           std::integer_sequence<int, n...>) {
    using Kernel = Backward<Tree, wanted, T, Pack<value_of<H>...>, Pack<wanted_value<n>...>>;
    if (!(get<set_bit_v<wanted, n>>(routes).out.buffer() || ...)) return;
    Kernel kernel{tree_, {}};
    ((kernel.merged_into[n] = wanted_position(merged_into[set_bit_v<wanted, n>])), ...);
    unpack(this->saved_.used(), [&](const auto&... x) {
      const auto walk = make_plan<inputs_count + 1 + 2 * wanted_count>(
          g.shape(), {operand_of(x)..., operand_of(g), operand_of(get<set_bit_v<wanted, n>>(routes).out)...,
                      operand_of(get<set_bit_v<wanted, n>>(routes).out)...});
      const auto plan = reads_index<bare_t<decltype(x)>...> ? walk : in_memory_order(walk);
      Backend<D>::map(g.device(), plan, kernel,
                      Pack<decltype(read_only(x.data()))..., const T*, const wanted_value<n>*...>(
                          read_only(x.data())..., g.data(),
                          (get<set_bit_v<wanted, n>>(routes).accumulate ? get<set_bit_v<wanted, n>>(routes).out.data()
                                                                        : nullptr)...),
                      Pack<wanted_value<n>*...>(get<set_bit_v<wanted, n>>(routes).out.data()...));
    });
  }
#if LOCUS_DOUBLE_BACKWARD
 public:
  [[nodiscard]] std::string refuses_recording() const override {
    return is_complex_tree
               ? "an expression of complex numbers, whose gradients are not recorded; compute with real and "
                 "imaginary parts"
               : "";
  }
  [[nodiscard]] bool gradients_vary() const override { return varies; }
  void propagate_again(GradientsNode& gradients) override {
    if constexpr (wanted != 0 && !is_complex_tree) again(gradients, std::make_integer_sequence<int, wanted_count>{});
  }

 private:
  static constexpr bool varies = needed != 0;
  static constexpr bool is_complex_tree = is_complex<T> || (is_complex<value_of<H>> || ...);

  template <int... n>
  void again(GradientsNode& gradients, std::integer_sequence<int, n...> all) {
    const Tuple adjoints(gradients.template adjoint<wanted_value<n>, D>(this->first_alike(set_bit_v<wanted, n>))...);
    if (!(get<n>(adjoints) || ...)) return;
    auto dg = gradients.template of_gradient<T, D>();
    int merged_into[inputs_count];
    for (int input = 0; input < inputs_count; ++input) merged_into[input] = this->first_occurrence(input);
    const auto target = [&](int input) { return varies && merged_into[input] < 0 ? this->sink(input) : nullptr; };
    Tuple dx(gradient_of<wanted_value<n>, D>(target(set_bit_v<wanted, n>))...);
    if (!dg && !(get<n>(dx) || ...)) return;
    const Tensor<T, D>& g = gradients.template gradient<T, D>();
    const auto fresh = [&]<class U>(const Gradient<U, D>& to) {
      return to ? Tensor<U, D>(g.shape(), g.layout().format(), g.device()) : Tensor<U, D>();
    };
    const Tensor<T, D> of_g = fresh(dg);
    const Tuple of_x(fresh(get<n>(dx))...);
    launch_again(g, Tuple((get<n>(adjoints) ? *get<n>(adjoints) : Tensor<wanted_value<n>, D>())...), of_g, of_x,
                 merged_into, all);
    if (dg) dg.give(of_g);
    (give_summed(get<n>(dx), get<n>(of_x)), ...);
  }
  template <class Adjoints, class Results, int... n>
  void launch_again(const Tensor<T, D>& g, const Adjoints& u, const Tensor<T, D>& of_g, const Results& of_x,
                    const int (&merged_into)[sizeof...(H)], std::integer_sequence<int, n...>) {
    using Varying = std::conditional_t<varies, Pack<wanted_value<n>...>, Pack<>>;
    const auto tree = tree_of_duals(tree_);
    using Kernel = BackwardAgain<std::remove_cv_t<decltype(tree)>, wanted, T, Pack<value_of<H>...>,
                                 Pack<wanted_value<n>...>, Varying>;
    const Kernel kernel{tree, {wanted_position(merged_into[set_bit_v<wanted, n>])...}};
    unpack(this->saved_.used(), [&](const auto&... x) {
      constexpr int operands = inputs_count + 2 + (varies ? 2 : 1) * wanted_count;
      const auto walk = [&] {
        if constexpr (varies)
          return make_plan<operands>(g.shape(), {operand_of(x)..., operand_of(g), operand_of(get<n>(u))...,
                                                 operand_of(of_g), operand_of(get<n>(of_x))...});
        else
          return make_plan<operands>(g.shape(),
                                     {operand_of(x)..., operand_of(g), operand_of(get<n>(u))..., operand_of(of_g)});
      }();
      const auto plan = reads_index<bare_t<decltype(x)>...> ? walk : in_memory_order(walk);
      const Pack<decltype(read_only(x.data()))..., const T*, const wanted_value<n>*...> inputs(
          read_only(x.data())..., g.data(), get<n>(u).data()...);
      if constexpr (varies)
        Backend<D>::map(g.device(), plan, kernel, inputs,
                        Pack<T*, wanted_value<n>*...>(of_g.data(), get<n>(of_x).data()...));
      else Backend<D>::map(g.device(), plan, kernel, inputs, Pack<T*>(of_g.data()));
    });
  }
  template <class U>
  static void give_summed(Gradient<U, D>& gradient, const Tensor<U, D>& full) {
    if (!gradient) return;
    if (gradient.shape() == full.shape()) gradient.give(full);
    else sum_to(full, gradient);
  }
#endif

  /// Converts a position among all inputs to the position among the wanted inputs; -1 stays.
  [[nodiscard]] static int wanted_position(int input) {
    return input < 0 ? -1 : __builtin_popcount(wanted & ((1u << input) - 1u));
  }

  Tree tree_;
};

/// Computes an expression of traced operands: its value, and one node if an operand collects gradients.
template <class T, class D>
struct Materialize<Role::traced, T, D> {
  using type = Traced<T, D>;
  /// The unrecorded function within which an expression was made; 0 if operations were recorded.
  struct Origin {
    std::uint64_t function = unrecorded_function();
  };

  /// Computes the value that a named expression remembers. If an unrecorded function uses a named expression from
  /// outside, that expression is recorded: the outer code uses it, too, and the second computation of the function
  /// takes the remembered value unless it has its own copy.
  template <class Tree, class... H>
  static type remembered(const Part<Tree, H...>& part, Origin origin) {
    if (origin.function == unrecorded_function()) return run(part);
    const Within recording(unrecorded, static_cast<OutsideOperands*>(nullptr));
    return run(part);
  }
  template <class Tree, class... H>
  static type run(const Part<Tree, H...>& part) {
    Tensor<T, D> value = Materialize<Role::plain, T, D>::run(part);
    return unpack(part.leaves, [&](const auto&... leaf) {
      const bool frozen = (frozen_operand(leaf.handle) || ...);
      constexpr bool has_gradients = DifferentiableDType<T> && is_present<D>;
      [[maybe_unused]] const bool records = is_recorded(has_gradients, leaf.handle...);
      if constexpr (has_gradients) {
        GraphNode* const inputs[] = {gradient_node(leaf.handle)...};
        if (records && wants_gradient(inputs)) {
          Shared<TensorNode<T, D>> node(new ExpressionNode<T, D, Tree, H...>(part, value, inputs));
          return type(std::move(value), std::move(node), frozen);
        }
      }
      return type(std::move(value), {}, frozen);
    });
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
