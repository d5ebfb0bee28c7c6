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
}  // namespace detail

/// One block of ParallelGPT2: the heads of the attention and the inner width of the perceptron are divided along A.
template <class T, class D, class A, class... S>
struct ParallelGPT2Block {
  using divided_along = Varying<A>;
  template <class X>
  using Same = Over<X, S...>;
  Same<Parameter<T, D>> ln_1_weight, ln_1_bias, ln_2_weight, ln_2_bias;
  dist::ColumnLinear<T, D, A, S...> c_attn, c_fc;
  dist::RowLinear<T, D, A, S...> attn_c_proj, mlp_c_proj;
  std::int64_t own_heads;
  double eps;

  ParallelGPT2Block(const GPT2Block<T, D>& whole, std::int64_t heads, double epsilon, const dist::Ranks<A, D>& ranks)
      : ln_1_weight(same(whole.ln_1.weight)),
        ln_1_bias(same(whole.ln_1.bias)),
        ln_2_weight(same(whole.ln_2.weight)),
        ln_2_bias(same(whole.ln_2.bias)),
        c_attn(Parameter<T, D>(detail::part_of_thirds(ranks, turned(whole.attn.c_attn)).clone()),
               Parameter<T, D>(detail::part_of_thirds(ranks, whole.attn.c_attn.bias.value()).clone())),
        c_fc(turned(whole.mlp.c_fc), whole.mlp.c_fc.bias.value(), ranks),
        attn_c_proj(turned(whole.attn.c_proj), whole.attn.c_proj.bias.value(), ranks),
        mlp_c_proj(turned(whole.mlp.c_proj), whole.mlp.c_proj.bias.value(), ranks),
        own_heads(heads / ranks.size()),
        eps(epsilon) {}

  template <class X>
  [[nodiscard]] auto forward(const dist::Ranks<A, D>& ranks, const X& x) const {
    const Shape width{x.size(-1)};
    const auto in = layer_norm(x, width, ln_1_weight, ln_1_bias, eps);
    const auto heads =
        packed_attention(c_attn.forward(ranks, in), own_heads, AttentionOptions<T, D>{.is_causal = true});
    const auto y = (x + attn_c_proj.forward(ranks, heads)).eval();
    const auto inner = c_fc.forward(ranks, layer_norm(y, width, ln_2_weight, ln_2_bias, eps), functor::GeluTanh{});
    return (y + mlp_c_proj.forward(ranks, inner)).eval();
  }
  void members(const auto& visit) const {
    using Part = dist::Divided<A>;
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
    return dist::detail::labelled<dist::detail::States<S...>>(Parameter<T, D>(whole.value().clone()));
  }

 private:
  /// (in, out) -> (out, in)
  [[nodiscard]] static Tensor<T, D> turned(const GPT2Linear<T, D>& layer) {
    return layer.weight.value().transpose().contiguous();
  }
};

/// A GPT-2 whose attention heads, perceptrons and vocabulary are divided among the ranks along A (Shoeybi and others,
/// "Megatron-LM", 2019). Norms, positions and biases behind sums are the same on all ranks. S...: how parameters are
/// spread along other axes, as Replicated<Data>. Without dropout. Between the parts of a block, two sums over ranks
/// move activations, forward and backward.
///
///     const models::ParallelGPT2<float, Cpu, Model, Replicated<Data>> net(models::gpt2<float>(options), options,
///     model); auto loss = net.loss(model, trace(tokens), next);       // Varying<Data>, Invariant along Model
template <class T, class D, class A, class... S>
class ParallelGPT2 {
 public:
  using divided_along = Varying<A>;
  dist::VocabularyEmbedding<T, D, A, S...> wte;
  Over<Parameter<T, D>, S...> wpe;
  std::vector<ParallelGPT2Block<T, D, A, S...>> h;
  Over<Parameter<T, D>, S...> ln_f_weight, ln_f_bias;

  /// whole: the same on all ranks, of which each keeps copies of its parts. throws ArgumentError for heads that the
  /// ranks do not divide, a vocabulary with fewer tokens than ranks, and options with dropout; ShapeError where an
  /// inner width does not divide
  ParallelGPT2(const GPT2<T, D>& whole, const GPT2Options& options, const dist::Ranks<A, D>& ranks)
      : wte(checked(whole, options, ranks).transformer.wte.weight, ranks),
        wpe(Block::same(whole.transformer.wpe.weight)),
        ln_f_weight(Block::same(whole.transformer.ln_f.weight)),
        ln_f_bias(Block::same(whole.transformer.ln_f.bias)),
        eps_(options.layer_norm_epsilon) {
    h.reserve(whole.transformer.h.size());
    for (const auto& block : whole.transformer.h) h.emplace_back(block, options.n_head, eps_, ranks);
  }

  /// Logits of this rank's part of the vocabulary, Varying along A.
  /// shape: (batch, length) of int64, Invariant along A -> (batch, length, tokens of the part)
  /// throws ShapeError for another rank, or more than n_positions
  template <class X>
  [[nodiscard]] auto forward(const dist::Ranks<A, D>& ranks, const X& tokens) const {
    if (tokens.rank() != 2 || tokens.size(1) > wpe.size(0))
      fail<ShapeError>({"ParallelGPT2: tokens of shape ", tokens.shape(),
                        "; expected (batch, length) of a length up to ", wpe.size(0)});
    const auto positions = slice(dist::detail::recorded_as(tokens, wpe), 0, 0, tokens.size(1));
    auto x = (wte.forward(ranks, tokens) + positions).eval();
    for (const auto& block : h) x = block.forward(ranks, x);
    return wte.logits(ranks, layer_norm(x, Shape{x.size(-1)}, ln_f_weight, ln_f_bias, eps_));
  }
  /// The mean cross-entropy of the next tokens.
  /// shape: tokens and next (batch, length) of int64, Invariant along A -> scalar, float for 16-bit types
  template <class X, class Y>
  [[nodiscard]] auto loss(const dist::Ranks<A, D>& ranks, const X& tokens, const Y& next) const {
    return dist::vocabulary_cross_entropy(ranks, wte.part, forward(ranks, tokens), next);
  }
  void members(const auto& visit) const {
    visit("wte", wte), visit("wpe.weight", wpe);
    for (std::size_t i = 0; i < h.size(); ++i) visit("h." + std::to_string(i), h[i]);
    visit("ln_f.weight", ln_f_weight), visit("ln_f.bias", ln_f_bias);
  }

 private:
  using Block = ParallelGPT2Block<T, D, A, S...>;
  [[nodiscard]] static const GPT2<T, D>& checked(const GPT2<T, D>& whole, const GPT2Options& options,
                                                 const dist::Ranks<A, D>& ranks) {
    if (options.n_head % ranks.size() != 0)
      fail<ArgumentError>({"ParallelGPT2: .n_head = ", options.n_head, " among ", ranks.size(),
                           " ranks; expected heads that the ranks divide"});
    for (const double p : {options.embd_pdrop, options.attn_pdrop, options.resid_pdrop})
      if (p != 0)
        fail<ArgumentError>(
            {"ParallelGPT2: dropout of ", p, "; expected .embd_pdrop, .attn_pdrop and .resid_pdrop of 0"});
    return whole;
  }
  double eps_;
};

}}}  // namespace locus::LOCUS_ABI::models
