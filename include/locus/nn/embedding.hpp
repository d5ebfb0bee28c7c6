#pragma once
// Vectors for numbered entries: words, characters, categories.

#include <locus/nn/init.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/index.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// The row of a table for every index, as torch.nn.Embedding. Its input holds int64: a network that begins with it is
/// an nn::Sequential<T, D, std::int64_t>.
/// shape: (...) -> (..., features). Parameters: weight (entries, features), initially standard normal. The row of
/// padding_idx is initially 0 and gets no gradient.
/// cost:  one launch
/// throws IndexError for an index that is no row, if the host can read it (elsewhere its vector is NaN)
///
///     nn::Embedding<float, D> words{10000, 64, {.padding_idx = 0}};
///     auto vectors = words(trace(indices));   // learns where the indices are traced
template <class T, class D>
class Embedding final : public Layer<Embedding<T, D>, T, D> {
 public:
  using input_type = std::int64_t;

  Parameter<T, D> weight;

  /// throws ArgumentError unless both sizes are positive and padding_idx is a row
  Embedding(std::int64_t entries, std::int64_t features, const EmbeddingOptions& options = {}, D device = {})
      : options_(options) {
    if (entries < 1 || features < 1)
      fail<ArgumentError>({"Embedding: ", entries, " entries of ", features, " features; expected at least 1 of each"});
    const std::int64_t padding = locus::detail::padding_row("Embedding", entries, options);
    const Tensor<T, D> table = init::normal_(Tensor<T, D>({entries, features}, device));
    if (padding >= 0) table.select(0, padding).fill_(T(0));
    weight = Parameter<T, D>(table);
  }
#include <locus/refuse/nn/embedding_class.inc>

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& indices) const {
    return embedding(weight, indices, options_);
  }

  void members(const auto& visit) const { visit("weight", weight); }
  [[nodiscard]] const EmbeddingOptions& options() const { return options_; }
  [[nodiscard]] detail::WeightUse weight_use() const { return {.looked_up = true}; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(weight.size(0), ", ", weight.size(1),
                options_.padding_idx ? join(", padding_idx=", *options_.padding_idx) : "");
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return Embedding<U, E>(options_); }

 private:
  template <class, class>
  friend class Embedding;
  explicit Embedding(const EmbeddingOptions& options) : options_(options) {}
  EmbeddingOptions options_;
};
#define LOCUS_REFUSED_LAYER Embedding
#include <locus/refuse/nn/no_types.inc>

}}}  // namespace locus::LOCUS_ABI::nn
