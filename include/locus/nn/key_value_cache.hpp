#pragma once
// The keys and values of the tokens that a decoder has seen, so that a step of generation computes new tokens alone.
// nn/cached_attention.hpp attends to them.

#include <locus/device/capabilities.hpp>
#include <locus/device/replay.hpp>
#include <locus/nn/forward.hpp>
#include <locus/ops/reduction.hpp>
#include <locus/tensor/copy.hpp>
#include <locus/tensor/from.hpp>

#include <optional>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct CacheOptions {
  std::int64_t layers = 0;      ///< attentions of the model
  std::int64_t batch = 1;       ///< sequences
  std::int64_t heads = 0;       ///< of keys and values
  std::int64_t head_width = 0;  ///< elements of a key
  std::int64_t capacity = 0;    ///< most tokens of a sequence
  std::int64_t window = 0;      ///< a query attends to so many tokens, itself the last of them; 0: to all
};

/// The sizes of a cache that a model makes for itself.
struct CacheSize {
  std::int64_t batch = 1;                     ///< sequences
  std::optional<std::int64_t> capacity = {};  ///< most tokens of a sequence; absent: the positions of the model
};

namespace detail {

/// Whether steps on D read the tokens that are there alone. Elsewhere shapes stay the same from step to step: a
/// captured step reads the whole capacity, and a mask excludes the tokens to come.
template <class D>
inline constexpr bool reads_filled_part = HostAccessible<D>;

/// The position of the next token number j of a sequence: (start, index in (batch, count)) -> position. Padding behind
/// the last position shares it.
struct NextPosition {
  std::int64_t count, capacity;
  LOCUS_FN void operator()(std::int64_t start, std::int64_t at, std::int64_t& out) const {
    out = locus::detail::smaller(start + at % count, capacity - 1);
  }
};
/// Whether next token number j attends to a key: (start, index in (batch, count, keys)) -> mark. The keys begin at
/// position `first`.
struct SeenKey {
  std::int64_t count, keys, first, window;
  LOCUS_FN void operator()(std::int64_t start, std::int64_t at, bool& out) const {
    const std::int64_t key = first + at % keys, query = start + at / keys % count;
    out = key <= query && (window == 0 || key > query - window);
  }
};

/// out = f(start of the sequence, linear index), for out (batch, ...).
template <class T, class D, class F>
[[nodiscard]] Tensor<T, D> of_starts(const Tensor<std::int64_t, D>& starts, const Shape& shape, const F& f) {
  const Tensor<T, D> out(shape, starts.device());
  if (out.empty()) return out;
  const Strides strides = row_major(shape);
  Strides along = strides;
  for (int d = 0; d < shape.rank(); ++d) along[d] = d == 0 ? starts.strides()[0] : 0;
  Backend<D>::map(out.device(), make_plan<3>(shape, std::array<Strides, 3>{along, strides, strides}), f,
                  Pack<const std::int64_t*, LinearIndex>(starts.data(), LinearIndex{}), Pack<T*>(out.data()));
  return out;
}

/// throws ArgumentError
LOCUS_OUT_OF_LINE inline const CacheOptions& checked(const CacheOptions& options) {
  const auto require = [](const char* option, std::int64_t given, std::int64_t least) {
    if (given < least) fail<ArgumentError>({"KeyValueCache: ", option, " = ", given, "; expected at least ", least});
  };
  require(".layers", options.layers, 1), require(".batch", options.batch, 1), require(".heads", options.heads, 1);
  require(".head_width", options.head_width, 1), require(".capacity", options.capacity, 1);
  require(".window", options.window, 0);
  return options;
}

/// The lengths of the sequences of a cache, on the host.
struct CacheLengths {
  std::vector<std::int64_t> lengths;
  std::int64_t capacity;

  /// throws ShapeError unless sequences have room for so many more tokens
  LOCUS_OUT_OF_LINE void require_room(const std::vector<std::int64_t>& counts) const {
    for (std::size_t i = 0; i < lengths.size(); ++i)
      if (counts[i] > capacity - lengths[i])
        fail<ShapeError>({"KeyValueCache: ", counts[i], " more tokens for sequence ", i, " of length ", lengths[i],
                          ", whose capacity is ", capacity,
                          "; make a cache of a larger .capacity, or shorten the sequence with truncate() or reset()"});
  }
  void add(const std::vector<std::int64_t>& counts) {
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] += counts[i];
  }
};
}  // namespace detail

template <class T, class D>
class CacheStep;

/// Keys and values of a batch of sequences, for each attention of a model. A handle: copies share the memory, and
/// methods are const.
///
///     auto cache = model.cache({.batch = 1, .capacity = 1024});
///     auto logits = model(prompt, cache);       // (1, length, vocab_size); the cache holds the prompt
///     logits = model(next, cache);              // next: (1, 1); attends to the prompt, which is not computed again
///     cache.truncate(0, 10);                    // forgets all but the first ten tokens
///
/// memory: bytes(): 2 layers batch heads capacity head_width elements, all of it from the beginning
template <class T, class D = Cpu>
class KeyValueCache {
 public:
  using value_type = T;
  using device_type = D;

  /// throws ArgumentError for sizes below 1, and for a window below 0
  explicit KeyValueCache(const CacheOptions& options, D device = {})
      : state_(new State(detail::checked(options), device)) {}

  [[nodiscard]] const CacheOptions& options() const { return state_->options; }
  [[nodiscard]] std::int64_t batch() const { return options().batch; }
  [[nodiscard]] std::int64_t capacity() const { return options().capacity; }
  [[nodiscard]] D device() const { return state_->memory.device(); }
  /// Bytes of the keys and values.
  [[nodiscard]] std::int64_t bytes() const { return state_->memory.elements() * std::int64_t{sizeof(T)}; }

  /// Tokens of a sequence. throws IndexError
  [[nodiscard]] std::int64_t length(std::int64_t sequence = 0) const { return lengths()[number(sequence)]; }
  [[nodiscard]] const std::vector<std::int64_t>& lengths() const { return state_->host.lengths; }
  /// The same on the device, (batch,): for captured steps.
  [[nodiscard]] const Tensor<std::int64_t, D>& device_lengths() const { return state_->lengths; }

  /// All sequences are empty again.
  void reset() const {
    for (std::int64_t& length : state_->host.lengths) length = 0;
    state_->lengths.fill_(0);
    // A product with a mask reads what no query attends to: 0 times NaN is NaN.
    if constexpr (!detail::reads_filled_part<D>) state_->memory.fill_(T(0.f));
  }
  /// Forgets the tokens of a sequence from position `length` on.
  /// throws IndexError; ArgumentError unless 0 <= length <= length(sequence)
  void truncate(std::int64_t sequence, std::int64_t length) const {
    std::int64_t& present = state_->host.lengths[number(sequence)];
    if (length < 0 || length > present)
      fail<ArgumentError>({"KeyValueCache: truncate(", sequence, ", ", length, ") of a sequence of length ", present,
                           "; expected a length from 0 to ", present});
    present = length;
    state_->copy_lengths();
  }

  /// A step that adds tokens (batch, count) to the sequences: all of them, or the first counts[i] of sequence i, the
  /// others being padding. For authors of models; nn/cached_attention.hpp has an example.
  /// throws ShapeError for another batch, and where the capacity is exceeded; ArgumentError unless counts is empty or
  ///        has a number from 0 to `count` for each sequence
  [[nodiscard]] CacheStep<T, D> step(const Shape& tokens, const std::vector<std::int64_t>& counts = {}) const {
    return {*this, tokens, counts};
  }
  /// throws ShapeError unless the cache was made for a model of these sizes, and up to so many positions
  void require_model(const char* model, std::int64_t layers, std::int64_t heads, std::int64_t head_width,
                     std::int64_t positions) const {
    const CacheOptions& o = options();
    if (o.layers != layers || o.heads != heads || o.head_width != head_width || o.capacity > positions)
      fail<ShapeError>({model, ": a cache of .layers = ", o.layers, ", .heads = ", o.heads,
                        ", .head_width = ", o.head_width, ", .capacity = ", o.capacity, "; expected ", layers, ", ",
                        heads, ", ", head_width, " and a capacity up to ", positions, ", as of model.cache()"});
  }

  /// (2, batch, heads, capacity, head_width): keys, then values of an attention; memory of the cache. throws IndexError
  [[nodiscard]] Tensor<T, D> layer(std::int64_t i) const { return state_->memory.select(0, i); }

 private:
  friend class CacheStep<T, D>;
  struct State : Counted {
    static constexpr const char* handle_name = "KeyValueCache";
    CacheOptions options;
    Tensor<T, D> memory;  ///< (layers, 2, batch, heads, capacity, head_width)
    detail::CacheLengths host;
    Tensor<std::int64_t, D> lengths;  ///< a copy of host.lengths

    State(const CacheOptions& o, D device)
        : options(o),
          memory({o.layers, 2, o.batch, o.heads, o.capacity, o.head_width}, device),
          host{std::vector<std::int64_t>(static_cast<std::size_t>(o.batch)), o.capacity},
          lengths({o.batch}, device) {
      lengths.fill_(0);
      if constexpr (!detail::reads_filled_part<D>) memory.fill_(T(0.f));
    }
    void copy_lengths() const { lengths.copy_(from(host.lengths, {options.batch}, lengths.device())); }
  };
  [[nodiscard]] std::size_t number(std::int64_t sequence) const {
    if (sequence < 0 || sequence >= batch())
      fail<IndexError>({"KeyValueCache: sequence ", sequence, " of ", batch(), "; expected 0 to ", batch() - 1});
    return static_cast<std::size_t>(sequence);
  }

  Shared<State> state_;
};

/// A call of a model that adds tokens to a cache: their positions, and the mask of their queries. The lengths of the
/// sequences change in commit(), so that a call that throws changes none.
template <class T, class D>
class CacheStep {
 public:
  using value_type = T;
  using device_type = D;

  [[nodiscard]] const KeyValueCache<T, D>& cache() const { return cache_; }
  /// Tokens of each sequence, with padding.
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Tokens of each sequence, without padding.
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  /// The positions of the tokens, (batch, count) of int64. One launch.
  [[nodiscard]] Tensor<std::int64_t, D> positions() const {
    return detail::of_starts<std::int64_t>(cache_.device_lengths(), {cache_.batch(), count_},
                                           detail::NextPosition{count_, cache_.capacity()});
  }
  /// Whether all sequences are empty, and each query attends to all tokens before it: causal attention among the new
  /// tokens. A captured step does not know.
  [[nodiscard]] bool is_causal() const { return is_causal_; }
  /// Which of all `capacity` keys a query attends to, (batch, count, capacity), on devices whose steps have one shape;
  /// empty elsewhere, and where is_causal().
  [[nodiscard]] const Tensor<bool, D>& mask() const { return mask_; }

  /// The sequences hold the tokens. During a capture, each replay adds them, too: it throws ShapeError where the
  /// capacity is exceeded. cost: one launch
  void commit() const {
    auto* const state = cache_.state_.get();
    bool alike = true;
    for (const std::int64_t n : counts_) alike = alike && n == counts_[0];
    if (locus::detail::is_capturing()) {
      using State = std::remove_reference_t<decltype(*state)>;
      const Shared<State> kept(state);
      locus::detail::at_abandon([kept, before = state->host.lengths] { kept->host.lengths = before; });
      locus::detail::at_replay([kept, counts = counts_] { kept->host.add(counts); });
    }
    state->host.add(counts_);
    if (alike) state->lengths += counts_[0];
    else state->copy_lengths();
  }

 private:
  friend class KeyValueCache<T, D>;
  CacheStep(const KeyValueCache<T, D>& cache, const Shape& tokens, const std::vector<std::int64_t>& counts)
      : cache_(cache) {
    const CacheOptions& options = cache.options();
    if (tokens.rank() != 2 || tokens[0] != options.batch || tokens[1] < 1)
      fail<ShapeError>({"KeyValueCache: tokens of shape ", tokens, " for ", options.batch, " sequences; expected (",
                        options.batch, ", count) with a count of at least 1"});
    count_ = tokens[1];
    counts_ = counts.empty() ? std::vector<std::int64_t>(static_cast<std::size_t>(options.batch), count_) : counts;
    require_counts();
    const auto& host = cache.state_->host;
    host.require_room(counts_);
    if (locus::detail::is_capturing())
      locus::detail::check_at_replay([state = cache.state_, added = counts_] { state->host.require_room(added); });
    is_causal_ = !locus::detail::is_capturing() && (options.window == 0 || options.window >= count_) &&
                 count_ <= options.capacity;
    for (const std::int64_t length : host.lengths) is_causal_ = is_causal_ && length == 0;
    if constexpr (!detail::reads_filled_part<D>) {
      if (!is_causal_)
        mask_ = detail::of_starts<bool>(cache.device_lengths(), {options.batch, count_, options.capacity},
                                        detail::SeenKey{count_, options.capacity, 0, options.window});
    }
  }
  void require_counts() const {
    bool fits = std::ssize(counts_) == cache_.batch();
    for (const std::int64_t n : counts_) fits = fits && n >= 0 && n <= count_;
    if (fits) return;
    std::string given;
    for (const std::int64_t n : counts_) given += join(given.empty() ? "" : ", ", n);
    fail<ArgumentError>({"KeyValueCache: counts {", given, "} for ", cache_.batch(), " sequences of ", count_,
                         " tokens; expected for each a number from 0 to ", count_});
  }

  KeyValueCache<T, D> cache_;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> counts_;
  bool is_causal_ = false;
  Tensor<bool, D> mask_;
};

namespace detail {
#include <locus/refuse/nn/key_value_cache_mistakes.inc>
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::nn
