#pragma once
// Recording: operations and expressions on traced tensors in the place Recording become nodes of the thread's recorder.
// An operation has a form, write(recorder, operation, values...), or a member to_onnx(recorder, values...).

#include <locus/autograd/expression.hpp>
#include <locus/interop/onnx/recorder.hpp>
#include <locus/nn/model_copy.hpp>

#include <array>
#include <typeinfo>

namespace locus { inline namespace LOCUS_ABI {

namespace onnx::exporting {

template <class F, class... V>
concept WritesItself = requires(const F& f, Recorder& graph, const V&... x) {
  { f.to_onnx(graph, x...) } -> std::same_as<Value>;
};
template <class F, class... V>
concept HasForm = requires(const F& f, Recorder& graph, const V&... x) {
  { write(graph, f, x...) } -> std::same_as<Value>;
};

[[noreturn]] LOCUS_COLD LOCUS_OUT_OF_LINE inline void fail_unknown(std::string_view name, const std::type_info& type) {
  fail<ArgumentError>({"onnx: ", name, " has no form in ONNX; it is ", nn::detail::name_of(type),
                       "; give that class a member onnx::Value to_onnx(onnx::Recorder& graph, ...) const, or leave it ",
                       "out of forward"});
}

/// The value of a functor or operation of these values. throws ArgumentError for one without a form, or whose to_onnx
/// returns no value
template <class F, class... V>
[[nodiscard]] Value written(Recorder& graph, std::string_view name, const F& f, const V&... x) {
  if constexpr (WritesItself<F, V...>) {
    const Value result = f.to_onnx(graph, x...);
    if (!result) fail<ArgumentError>({"onnx: to_onnx of ", name, " returned no value; return that of its last node"});
    return result;
  } else if constexpr (HasForm<F, V...>) {
    return write(graph, f, x...);
  } else {
    fail_unknown(name, typeid(F));
  }
}

/// Trees of expressions.
template <int i, class Leaves>
[[nodiscard]] Value written_tree(Recorder&, const Symbol<i>&, const Leaves& leaves) {
  return leaves[i];
}
template <class T, class Leaves>
[[nodiscard]] Value written_tree(Recorder& graph, const Constant<T>& node, const Leaves&) {
  return graph.number(convert<T>(node.value));
}
template <class F, class... C, class Leaves>
[[nodiscard]] Value written_tree(Recorder& graph, const Apply<F, C...>& node, const Leaves& leaves) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    const Value children[] = {written_tree(graph, get<i>(node.children), leaves)...};
    return written(graph, locus::detail::function_text(locus::detail::type_text<F>()).view(), node.f, children[i]...);
  }(std::make_integer_sequence<int, sizeof...(C)>{});
}

/// The value of a leaf: random numbers have none.
template <class H>
[[nodiscard]] Value leaf_value(Recorder& graph, const H& handle) {
  if constexpr (requires { graph.operand(handle.value()); }) return graph.operand(handle.value());
  else fail<ArgumentError>({"onnx: the model draws random numbers in inference; a graph has none"});
}

/// Pauses the recording: the computation of a recorded operation is not followed.
class Pause {
 public:
  Pause() = default;
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause() { is_recording = before_; }

 private:
  bool before_ = std::exchange(is_recording, false);
};

}  // namespace onnx::exporting

namespace detail {

template <>
struct Record<Role::traced, onnx::Recording> {
  template <class Op, class... X>
  static auto run(const Op& op, const X&... x) {
    auto result = [&] {
      const onnx::exporting::Pause pause;
      return op.forward(x.value()...);
    }();
    using T = value_of<decltype(result.output)>;
    using E = device_of<decltype(result.output)>;
    if (onnx::Recorder* const graph = onnx::exporting::recorder) {
      if constexpr (std::is_same_v<E, onnx::Recording>)
        graph->result(result.output, onnx::exporting::written(*graph, Op::name, op, graph->operand(x.value())...));
      else onnx::exporting::fail_unknown(Op::name, typeid(Op));
    }
    return Traced<T, E>(std::move(result.output), {}, true);
  }
};

template <class T>
struct Materialize<Role::traced, T, onnx::Recording> {
  using type = Traced<T, onnx::Recording>;
  struct Origin {};
  template <class Tree, class... H> static type remembered(const Part<Tree, H...>& part, Origin) { return run(part); }
  template <class Tree, class... H>
  static type run(const Part<Tree, H...>& part) {
    Tensor<T, onnx::Recording> value = Materialize<Role::plain, T, onnx::Recording>::run(part);
    if (onnx::Recorder* const graph = onnx::exporting::recorder) {
      const auto leaves = unpack(part.leaves, [&](const auto&... leaf) {
        return std::array<onnx::Value, sizeof...(leaf)>{onnx::exporting::leaf_value(*graph, leaf.handle)...};
      });
      graph->result(value, onnx::exporting::written_tree(*graph, part.tree, leaves));
    }
    return type(std::move(value), {}, true);
  }
};

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
