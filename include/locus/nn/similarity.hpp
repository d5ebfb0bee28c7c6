#pragma once
// Layers of ops/similarity.hpp and ops/local_response_norm.hpp. To move a network that holds such a layer, name it like
// a layer of your own. Not part of locus/locus.hpp.

#include <locus/nn/activation.hpp>
#include <locus/ops/local_response_norm.hpp>
#include <locus/ops/similarity.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// See locus::cosine_similarity: nn::CosineSimilarity{}(x, y).
struct CosineSimilarity final : Stateless<CosineSimilarity> {
  int dim;
  double eps;
  /// throws ArgumentError for an eps that is negative or not finite
  explicit CosineSimilarity(int along = 1, double least = 1e-8) : dim(along), eps(least) {
    locus::detail::require_not_negative("CosineSimilarity", "eps", eps);
  }
  [[nodiscard]] auto forward(const auto& x, const auto& y) const { return cosine_similarity(x, y, dim, eps); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("dim=", dim, ", eps=", eps); }
};
/// See locus::pairwise_distance: nn::PairwiseDistance{}(x, y).
struct PairwiseDistance final : Stateless<PairwiseDistance> {
  double p, eps;
  bool keepdim;
  explicit PairwiseDistance(double order = 2, double added = 1e-6, bool keeps_dim = false)
      : p(order), eps(added), keepdim(keeps_dim) {}
  [[nodiscard]] auto forward(const auto& x, const auto& y) const { return pairwise_distance(x, y, p, eps, keepdim); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join("p=", p, ", eps=", eps, ", keepdim=", keepdim ? "true" : "false");
  }
};
/// See locus::local_response_norm: nn::LocalResponseNorm{5}.
struct LocalResponseNorm final : Stateless<LocalResponseNorm> {
  std::int64_t size;
  LocalResponseNormOptions options;
  /// throws ArgumentError for a size below 1
  explicit LocalResponseNorm(std::int64_t channels, const LocalResponseNormOptions& further = {})
      : size(channels), options(further) {
    if (size < 1) fail<ArgumentError>({"LocalResponseNorm: a size of ", size, "; expected 1 or more"});
  }
  [[nodiscard]] auto forward(const auto& x) const { return local_response_norm(x, size, options); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(size, ", alpha=", options.alpha, ", beta=", options.beta, ", k=", options.k);
  }
};

}}}  // namespace locus::LOCUS_ABI::nn
