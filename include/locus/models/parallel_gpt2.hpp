#pragma once
// GPT-2 whose layers and vocabulary are divided among ranks along an axis.

#include <locus/distributed/spread/layers.hpp>
#include <locus/distributed/spread/vocabulary.hpp>
#include <locus/models/gpt2.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {
/// This rank's rows of each third of (3 n, ...): its heads' queries, keys and values.
template <class T, class D, class A>
[[nodiscard]] Tensor<T, D> part_of_thirds(const dist::Ranks<A, D>& ranks, const Tensor<T, D>& whole) {
  Shape shape = whole.shape();
  shape[0] /= 3;
  shape.insert(0, 3);
  const Tensor<T, D> part = dist::detail::TakePart{1}(ranks.communicator(), whole.reshape(shape)).contiguous();
  Shape flat = whole.shape();
  flat[0] = part.size(0) * part.size(1);
  return part.reshape(flat);
}
/// The generator among these whose numbers differ along A, if `varies`, or are alike along it.
template <class A, bool varies, class N, class... R>
[[nodiscard]] auto& numbers_of(N& first, R&... rest) {
  if constexpr ((dist::detail::along_of<A, N> == Spread::varying) == varies) return first;
  else return numbers_of<A, varies>(rest...);
}
template <class A, bool varies, class... N>
inline constexpr bool has_numbers =
    ((dist::detail::IsOver<N> && (dist::detail::along_of<A, N> == Spread::varying) == varies) || ...);
/// Whether generators are all that dropout of layers along A needs, or none.
template <class A, class... N>
concept NumbersForLayers =
    sizeof...(N) == 0 || (has_numbers<dist::detail::axis_of_layer<A>, true, N...> &&
                          (dist::detail::has_sequence<A> || has_numbers<dist::detail::axis_of_layer<A>, false, N...>));

/// Dropout of activations between layers that are divided along A, in training; without numbers, none.
template <class A, class X, class... N>
[[nodiscard]] auto dropped_along(const X& x, double p, N&... numbers) {
  using Axis = dist::detail::axis_of_layer<A>;
  if constexpr (dist::detail::has_role<X>(Role::traced) && sizeof...(N) > 0)
    if (p != 0) return dropout(x, p, numbers_of<Axis, dist::detail::has_sequence<A>>(numbers...)).eval();
  return x.eval();
}
}  // namespace detail

/// One block of ParallelGPT2: the heads of the attention and the inner width of the perceptron are divided along A.
template <class T, class D, class A, class... S>
struct ParallelGPT2Block {
  using Axis = dist::detail::axis_of_layer<A>;
  using divided_along = Varying<Axis>;
  template <class X>
  using Same = dist::detail::undivided_t<X, A, S...>;
  Same<Parameter<T, D>> ln_1_weight, ln_1_bias, ln_2_weight, ln_2_bias;
  dist::ColumnLinear<T, D, A, S...> c_attn, c_fc;
  dist::RowLinear<T, D, A, S...> attn_c_proj, mlp_c_proj;
  std::int64_t own_heads;
  GPT2Options options;

  ParallelGPT2Block(const GPT2Block<T, D>& whole, const GPT2Options& its_options, const dist::Ranks<Axis, D>& ranks)
      : ln_1_weight(same(whole.ln_1.weight)),
        ln_1_bias(same(whole.ln_1.bias)),
        ln_2_weight(same(whole.ln_2.weight)),
        ln_2_bias(same(whole.ln_2.bias)),
        c_attn(Parameter<T, D>(detail::part_of_thirds(ranks, turned(whole.attn.c_attn)).clone()),
               Parameter<T, D>(detail::part_of_thirds(ranks, whole.attn.c_attn.bias.value()).clone())),
        c_fc(turned(whole.mlp.c_fc), whole.mlp.c_fc.bias.value(), ranks),
        attn_c_proj(turned(whole.attn.c_proj), whole.attn.c_proj.bias.value(), ranks),
        mlp_c_proj(turned(whole.mlp.c_proj), whole.mlp.c_proj.bias.value(), ranks),
        own_heads(its_options.n_head / ranks.size()),
        options(its_options) {}

  template <class X, class... N>
  [[nodiscard]] auto forward(const dist::Ranks<Axis, D>& ranks, const X& x, N&... numbers) const {
    const Shape width{x.size(-1)};
    const double eps = options.layer_norm_epsilon, p = options.resid_pdrop;
    const auto in = layer_norm(x, width, ln_1_weight, ln_1_bias, eps);
    const auto heads = attention(c_attn.forward(ranks, in), numbers...);
    const auto y = (x + detail::dropped_along<A>(attn_c_proj.forward(ranks, heads), p, numbers...)).eval();
    const auto inner = c_fc.forward(ranks, layer_norm(y, width, ln_2_weight, ln_2_bias, eps), functor::GeluTanh{});
    return (y + detail::dropped_along<A>(mlp_c_proj.forward(ranks, inner), p, numbers...)).eval();
  }
  void members(const auto& visit) const {
    using Part = dist::Divided<Axis>;
    visit("ln_1.weight", ln_1_weight), visit("ln_1.bias", ln_1_bias);
    visit("attn.c_attn.weight", c_attn.weight, Part{.dim = 0, .blocks = 3, .is_transposed = true});
    visit("attn.c_attn.bias", c_attn.bias, Part{.dim = 0, .blocks = 3});
    visit("attn.c_proj.weight", attn_c_proj.weight, Part{.dim = 1, .is_transposed = true});
    visit("attn.c_proj.bias", attn_c_proj.bias);
    visit("ln_2.weight", ln_2_weight), visit("ln_2.bias", ln_2_bias);
    visit("mlp.c_fc.weight", c_fc.weight, Part{.dim = 0, .is_transposed = true});
    visit("mlp.c_fc.bias", c_fc.bias, Part{.dim = 0});
    visit("mlp.c_proj.weight", mlp_c_proj.weight, Part{.dim = 1, .is_transposed = true});
    visit("mlp.c_proj.bias", mlp_c_proj.bias);
  }
  [[nodiscard]] static Same<Parameter<T, D>> same(const Parameter<T, D>& whole) {
    return dist::detail::labelled<typename dist::detail::LayerAxis<A, S...>::undivided>(
        Parameter<T, D>(whole.value().clone()));
  }

 private:
  /// Of this rank's heads, whose numbers of dropout are its own.
  template <class X, class... N>
  [[nodiscard]] auto attention(const X& x, N&... numbers) const {
    const AttentionOptions<T, D> chosen{.is_causal = true, .dropout = options.attn_pdrop};
    if constexpr (sizeof...(N) > 0)
      return packed_attention(x, own_heads, chosen, detail::numbers_of<Axis, true>(numbers...));
    else return packed_attention(x, own_heads, chosen);
  }
  /// (in, out) -> (out, in)
  [[nodiscard]] static Tensor<T, D> turned(const GPT2Linear<T, D>& layer) {
    return layer.weight.value().transpose().contiguous();
  }
};

LOCUS_REFUSALS_BEGIN
/// A GPT-2 whose attention heads, perceptrons and vocabulary are divided among the ranks along A (Shoeybi and others,
/// "Megatron-LM", 2019). Norms, positions and biases behind sums are the same on all ranks. S...: how parameters are
/// spread along other axes, as Replicated<Data>. Between the parts of a block, two sums over ranks move activations,
/// forward and backward.
///
/// dist::Sequence<Model> in place of A divides the sequence between these parts, too: ranks keep a part of the
/// activations, and normalize it alone. Parameters that no rank divides are Replicated then. The length of a text is a
/// multiple of the number of ranks.
///
/// In training with dropout, calls take generators of a mesh: `alike` draws the same numbers on all ranks along A, for
/// activations that are the same on them, `own` other ones, for heads and parts of a sequence. A Sequence needs `own`
/// alone.
///
///     using Net = models::ParallelGPT2<float, Cpu, Model, Replicated<Data>>;
///     const Net net(models::gpt2<float>(options), options, model);
///     auto alike = mesh.generator<Varying<Data>, Invariant<Model>>(1);
///     auto own = mesh.generator<Varying<Data>, Varying<Model>>(2);
///     auto loss = net.loss(model, trace(tokens), next, alike, own);   // Varying<Data>, Invariant along Model
template <class T, class D, class A, class... S>
class ParallelGPT2 {
 public:
  using Axis = dist::detail::axis_of_layer<A>;
  using divided_along = Varying<Axis>;
  template <class X>
  using Same = dist::detail::undivided_t<X, A, S...>;
  dist::VocabularyEmbedding<T, D, A, S...> wte;
  Same<Parameter<T, D>> wpe;
  std::vector<ParallelGPT2Block<T, D, A, S...>> h;
  Same<Parameter<T, D>> ln_f_weight, ln_f_bias;

  /// whole: the same on all ranks, of which each keeps copies of its parts. throws ArgumentError for heads that the
  /// ranks do not divide, and a vocabulary with fewer tokens than ranks; ShapeError where an inner width does not
  /// divide
  ParallelGPT2(const GPT2<T, D>& whole, const GPT2Options& options, const dist::Ranks<Axis, D>& ranks)
      : wte(checked(whole, options, ranks).transformer.wte.weight, ranks),
        wpe(Block::same(whole.transformer.wpe.weight)),
        ln_f_weight(Block::same(whole.transformer.ln_f.weight)),
        ln_f_bias(Block::same(whole.transformer.ln_f.bias)),
        options_(options) {
    h.reserve(whole.transformer.h.size());
    for (const auto& block : whole.transformer.h) h.emplace_back(block, options, ranks);
  }

  /// Logits of this rank's part of the vocabulary, Varying along A.
  /// shape: (batch, length) of int64, Invariant along A -> (batch, length, tokens of the part)
  /// throws ShapeError for another rank, more than n_positions, or a Sequence that the ranks do not divide;
  /// ArgumentError for dropout in training without generators
  template <class X, class... N>
    requires detail::NumbersForLayers<A, N...>
  [[nodiscard]] auto forward(const dist::Ranks<Axis, D>& ranks, const X& tokens, N&... numbers) const {
    if (tokens.rank() != 2 || tokens.size(1) > wpe.size(0))
      fail<ShapeError>({"ParallelGPT2: tokens of shape ", tokens.shape(),
                        "; expected (batch, length) of a length up to ", wpe.size(0)});
    require_numbers<X, N...>();
    auto x = detail::dropped_along<A>(wte.forward(ranks, tokens) + positions(ranks, tokens), options_.embd_pdrop,
                                      numbers...);
    for (const auto& block : h) x = block.forward(ranks, x, numbers...);
    return wte.logits(ranks, layer_norm(x, Shape{x.size(-1)}, ln_f_weight, ln_f_bias, options_.layer_norm_epsilon));
  }
  /// The mean cross-entropy of the next tokens.
  /// shape: tokens and next (batch, length) of int64, Invariant along A -> scalar, float for 16-bit types
  template <class X, class Y, class... N>
    requires detail::NumbersForLayers<A, N...>
  [[nodiscard]] auto loss(const dist::Ranks<Axis, D>& ranks, const X& tokens, const Y& next, N&... numbers) const {
    return dist::vocabulary_cross_entropy(ranks, wte.part, forward(ranks, tokens, numbers...), next);
  }
#include <locus/refuse/models/parallel_gpt2_class.inc>

  void members(const auto& visit) const {
    visit("wte", wte), visit("wpe.weight", wpe);
    for (std::size_t i = 0; i < h.size(); ++i) visit("h." + std::to_string(i), h[i]);
    visit("ln_f.weight", ln_f_weight), visit("ln_f.bias", ln_f_bias);
  }

 private:
  using Block = ParallelGPT2Block<T, D, A, S...>;
  [[nodiscard]] static const GPT2<T, D>& checked(const GPT2<T, D>& whole, const GPT2Options& options,
                                                 const dist::Ranks<Axis, D>& ranks) {
    if (options.n_head % ranks.size() != 0)
      fail<ArgumentError>({"ParallelGPT2: .n_head = ", options.n_head, " among ", ranks.size(),
                           " ranks; expected heads that the ranks divide"});
    return whole;
  }
  template <class X, class... N>
  void require_numbers() const {
    if constexpr (dist::detail::has_role<X>(Role::traced) && sizeof...(N) == 0)
      for (const double p : {options_.embd_pdrop, options_.attn_pdrop, options_.resid_pdrop})
        if (p != 0)
          fail<ArgumentError>(
              {"ParallelGPT2: dropout of ", p,
               " without numbers; pass generators of the mesh, as in net.loss(ranks, tokens, next, alike, own), or set "
               ".embd_pdrop, .attn_pdrop and .resid_pdrop to 0"});
  }
  /// The vectors of the positions of this rank's part of the sequence, or of all.
  template <class X>
  [[nodiscard]] auto positions(const dist::Ranks<Axis, D>& ranks, const X& tokens) const {
    const auto all = slice(dist::detail::recorded_as(tokens, wpe), 0, 0, tokens.size(1));
    if constexpr (dist::detail::has_sequence<A>) return ranks.part(all, 0);
    else return all;
  }
  GPT2Options options_;
};
LOCUS_REFUSALS_END

}}}  // namespace locus::LOCUS_ABI::models
