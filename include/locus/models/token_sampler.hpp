#pragma once
// Draws tokens from the logits of a language model, by the formulas of the package transformers.

#include <locus/core/math.hpp>
#include <locus/core/rng.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/core/std/span.hpp>
#include <locus/models/generate_options.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {

/// Numbers in descending order, equal ones in the order of their indices: a heap, of which only a few are popped.
class DescendingScores {
 public:
  explicit DescendingScores(Span<const double> scores) : scores_(scores), heap_(scores.size()) {
    for (std::size_t i = 0; i < heap_.size(); ++i) heap_[i] = i;
    for (std::size_t i = heap_.size() / 2; i-- > 0;) sift(i);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t top() const { return heap_.front(); }
  std::size_t pop() {
    const std::size_t first = heap_.front();
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift(0);
    return first;
  }

 private:
  [[nodiscard]] bool precedes(std::size_t a, std::size_t b) const {
    return scores_[a] > scores_[b] || (scores_[a] == scores_[b] && a < b);
  }
  void sift(std::size_t i) {
    const std::size_t moved = heap_[i];
    for (;;) {
      std::size_t child = 2 * i + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && precedes(heap_[child + 1], heap_[child])) ++child;
      if (!precedes(heap_[child], moved)) break;
      heap_[i] = heap_[child];
      i = child;
    }
    heap_[i] = moved;
  }

  Span<const double> scores_;
  std::vector<std::size_t> heap_;
};

}  // namespace detail

/// Draws tokens, by the options of GenerateOptions up to .seed. Logits are float or double, one for each token of the
/// vocabulary.
///
///     models::TokenSampler sampler({.temperature = 0.8, .top_p = 0.95, .seed = 7});
///     const auto token = sampler.draw(logits, tokens, tokens.size());
class TokenSampler {
 public:
  /// throws ArgumentError for options out of their ranges
  explicit TokenSampler(const GenerateOptions& options = {}) : options_(detail::checked(options)) {}

  /// The distribution of the next token: 0 for tokens that are filtered out. The repetition penalty acts on the
  /// previous tokens.
  /// cost:  one pass over the logits; with top_k or top_p also log2(vocabulary) steps for each token that is kept
  /// throws NumericError for a logit that is NaN or +infinity, or if all are -infinity; IndexError for a previous
  ///        token out of the vocabulary
  template <class R>
  [[nodiscard]] std::vector<double> probabilities(Span<const R> logits, Span<const std::int64_t> previous = {}) {
    const double sum = weigh(logits, previous);
    std::vector<double> result = weights_;
    for (double& each : result) each /= sum;
    return result;
  }
  /// One token, by uniform number `number` of stream `stream` of the seed. Exceptions as probabilities().
  template <class R>
  [[nodiscard]] std::int64_t draw(Span<const R> logits, Span<const std::int64_t> previous, std::uint64_t number,
                                  std::uint64_t stream = 0) {
    const double up_to = uniform_double(options_.seed, number, stream) * weigh(logits, previous);
    double sum = 0;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      sum += weights_[i], last = static_cast<std::int64_t>(i);
      if (sum > up_to) break;
    }
    return last;
  }

 private:
  /// Sets weights_, which are proportional to the probabilities, and returns their sum.
  template <class R>
  [[nodiscard]] double weigh(Span<const R> logits, Span<const std::int64_t> previous) {
    scores_.assign(logits.begin(), logits.end());
    penalize(previous);
    const std::size_t likeliest = largest();
    weights_.assign(scores_.size(), 0);
    if (options_.temperature == 0) return weights_[likeliest] = 1;
    const double most = scores_[likeliest];
    for (double& score : scores_) score = (score - most) / options_.temperature;
    return filter();
  }
  void penalize(Span<const std::int64_t> previous) {
    if (options_.repetition_penalty == 1) return;
    weights_ = scores_;  // a token counts once, however often it occurs
    for (const std::int64_t token : previous) {
      if (token < 0 || token >= std::ssize(scores_))
        fail<IndexError>({"TokenSampler: a previous token ", token, " for ", scores_.size(), " logits"});
      const auto i = static_cast<std::size_t>(token);
      const double p = options_.repetition_penalty;
      scores_[i] = weights_[i] < 0 ? weights_[i] * p : weights_[i] / p;
    }
  }
  /// The first of the largest scores.
  [[nodiscard]] std::size_t largest() const {
    std::size_t best = 0;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const double score = scores_[i];
      if (score != score || (score > 0 && !locus::detail::is_finite(score)))
        fail<NumericError>({"TokenSampler: the logit of token ", i, " is ", score,
                            "; the model's weights or inputs are not finite, or overflow in 16 bits"});
      if (score > scores_[best]) best = i;
    }
    if (scores_.empty() || !locus::detail::is_finite(scores_[best]))
      fail<NumericError>({"TokenSampler: none of ", scores_.size(), " logits is finite"});
    return best;
  }
  [[nodiscard]] double filter() {
    const bool cuts = options_.top_k > 0 && options_.top_k < std::ssize(scores_);
    if (!cuts && options_.top_p == 1) {
      for (std::size_t i = 0; i < scores_.size(); ++i) keep(i, weight_of(i));
      return total();
    }
    detail::DescendingScores order({scores_.data(), scores_.size()});
    std::vector<std::size_t> kept;
    double sum = 0;
    if (cuts) {
      double least = 0;  // all of the k-th score
      while (!order.empty() && (std::ssize(kept) < options_.top_k || scores_[order.top()] == least)) {
        kept.push_back(order.pop());
        least = scores_[kept.back()];
        sum += weight_of(kept.back());
      }
    } else {
      for (std::size_t i = 0; i < scores_.size(); ++i) sum += weight_of(i);
    }
    double before = 0;
    for (std::size_t n = 0; n == 0 || (before < options_.top_p * sum && (cuts ? n < kept.size() : !order.empty()));
         ++n) {
      const std::size_t i = cuts ? kept[n] : order.pop();
      const double weight = weight_of(i);
      keep(i, weight);
      before += weight;
    }
    return total();
  }
  [[nodiscard]] double weight_of(std::size_t i) const { return math::exp(scores_[i]); }
  void keep(std::size_t i, double weight) {
    if (weight >= options_.min_p) weights_[i] = weight;
  }
  [[nodiscard]] double total() const {
    double sum = 0;
    for (const double weight : weights_) sum += weight;
    return sum;
  }

  GenerateOptions options_;
  std::vector<double> scores_, weights_;
};

}}}  // namespace locus::LOCUS_ABI::models
