#pragma once
// Sums, means and maxima of vectors for bags of numbered entries. Not part of locus/locus.hpp.

#include <locus/nn/init.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/embedding_bag.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// See locus::embedding_bag: bag(indices), bag(indices, offsets), and with weights bag(indices, weights),
/// bag(indices, offsets, weights). Its input holds int64, as nn::Embedding's.
/// Parameters: weight (entries, features), initially standard normal. The row of padding_idx is initially 0.
///
///     nn::EmbeddingBag<float, D> words{10000, 64, {.mode = BagMode::sum}};
///     auto features = words(trace(indices), offsets);   // learns where the indices are traced
template <class T, class D>
class EmbeddingBag final : public Layer<EmbeddingBag<T, D>, T, D> {
 public:
  using input_type = std::int64_t;

  Parameter<T, D> weight;

  /// throws ArgumentError unless both sizes are positive and padding_idx is a row
  EmbeddingBag(std::int64_t entries, std::int64_t features, const EmbeddingBagOptions& options = {}, D device = {})
      : options_(options) {
    if (entries < 1 || features < 1)
      fail<ArgumentError>(
          {"EmbeddingBag: ", entries, " entries of ", features, " features; expected at least 1 of each"});
    const std::int64_t padding = locus::detail::padding_row("EmbeddingBag", entries, {options.padding_idx});
    const Tensor<T, D> table = init::normal_(Tensor<T, D>({entries, features}, device));
    if (padding >= 0) table.select(0, padding).fill_(T(0));
    weight = Parameter<T, D>(table);
  }

  using Layer<EmbeddingBag, T, D>::operator();
  /// bag(indices, weights)
  template <locus::detail::IndexOperand X, locus::detail::BagWeights W>
    requires locus::detail::WeightedBagOperands<Parameter<T, D>, X, W>
  [[nodiscard]] auto operator()(const X& indices, const W& weights) const {
    return forward(indices, weights);
  }
  /// bag(indices, offsets, weights)
  template <locus::detail::IndexOperand X, locus::detail::IndexOperand O, locus::detail::BagWeights W>
    requires locus::detail::WeightedBagOperands<Parameter<T, D>, X, W>
  [[nodiscard]] auto operator()(const X& indices, const O& offsets, const W& weights) const {
    return forward(indices, offsets, weights);
  }

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& indices) const {
    return embedding_bag(weight, indices, options_);
  }
  /// Offsets of int64, or weights of T, of bags of one size.
  template <TensorLike X, TensorLike O>
  [[nodiscard]] auto forward(const X& indices, const O& offsets) const {
    return embedding_bag(weight, indices, offsets, options_);
  }
  template <TensorLike X, TensorLike O, TensorLike W>
  [[nodiscard]] auto forward(const X& indices, const O& offsets, const W& weights) const {
    return embedding_bag(weight, indices, offsets, weights, options_);
  }

  void members(const auto& visit) const { visit("weight", weight); }
  [[nodiscard]] const EmbeddingBagOptions& options() const { return options_; }
  [[nodiscard]] detail::WeightUse weight_use() const { return {.looked_up = true}; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    const char* const modes[] = {"sum", "mean", "max"};
    return join(weight.size(0), ", ", weight.size(1), ", mode=", modes[static_cast<int>(options_.mode)],
                options_.padding_idx ? join(", padding_idx=", *options_.padding_idx) : "");
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return EmbeddingBag<U, E>(options_); }

 private:
  template <class, class>
  friend class EmbeddingBag;
  explicit EmbeddingBag(const EmbeddingBagOptions& options) : options_(options) {}
  EmbeddingBagOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::nn
