#pragma once
// ONNX's operators on elements as such: distinct ones, their bits, n-grams, draws; and determinants.

#include <locus/interop/onnx/lookups.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/tensor/from.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

template <class F>
void distinct_values(const Call<F>& call) {
  const UniqueOptions options{
      .return_inverse = true, .return_counts = true, .return_first = true, .sorted = call.flag("sorted", true)};
  const auto give = [&](const auto& found) {
    call.give_like(found.values);
    call.give(1, Value<F>(DataType::int64, found.first));
    call.give(2, Value<F>(DataType::int64, found.inverse.flatten()));
    call.give(3, Value<F>(DataType::int64, found.counts));
  };
  const auto find = [&](const auto& x) {
    if (!call.has("axis")) give(unique(x, options));
    else give(unique(x, call.axis_of(call.integer("axis", 0), x.rank()), options));
  };
  if (call.input(0).numbers()) return find(call.plain(0));
  call.visit(0, [&]<class X>([[maybe_unused]] const X& x) {
    if constexpr (!std::is_same_v<X, F>) find(x);
  });
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
[[nodiscard]] T number_of(std::uint64_t bits) {
  return __builtin_bit_cast(T, static_cast<BitsOf<T>>(bits));
}
/// f(a T) for the type of a value.
template <class Do>
void with_type(const Attributes& call, DataType type, const Do& f) {
  switch (type) {
    case DataType::float32: return f(float{});
    case DataType::float64: return f(double{});
    case DataType::float16: return f(half{});
    case DataType::bfloat16: return f(bfloat16{});
    case DataType::uint8: return f(std::uint8_t{});
    case DataType::int8: return f(std::int8_t{});
    case DataType::uint16: return f(std::uint16_t{});
    case DataType::int16: return f(std::int16_t{});
    case DataType::int32: return f(std::int32_t{});
    case DataType::uint32: return f(std::uint32_t{});
    case DataType::int64: return f(std::int64_t{});
    case DataType::uint64: return f(std::uint64_t{});
    case DataType::boolean: return f(std::uint8_t{});
    default: call.fail_here({"bits of ", to_string(type), ", of which Locus has no tensors"});
  }
}
/// On the host. Numbers are rounded to T, so that bits of a wider type are refused.
template <class F>
void reinterpret_bits(const Call<F>& call) {
  using T = value_of<F>;
  const auto to = static_cast<DataType>(call.integer("to", 0));
  const DataType type = call.input(0).type();
  std::size_t bytes = 0, wanted = 0;
  with_type(call, type, [&](auto like) { bytes = sizeof like; });
  with_type(call, to, [&](auto like) { wanted = sizeof like; });
  if (bytes != wanted)
    call.fail_here({"bits of ", to_string(type), " as ", to_string(to), "; expected types of one size"});
  for (const DataType each : {type, to})
    if (is_floating(each) && each != data_type<T>() &&
        !(std::is_same_v<T, double> || (std::is_same_v<T, float> && bytes == 2)))
      call.fail_here({"bits of ", to_string(each), " in a network of ", dtype_name<T>()});
  std::vector<std::uint64_t> bits;
  const auto read = [&](const auto& dense) {
    with_type(call, type, [&]<class U>(U) {
      for (std::int64_t i = 0; i < dense.elements(); ++i)
        bits.push_back(__builtin_bit_cast(BitsOf<U>, convert<U>(dense.data()[i])));
    });
  };
  const Shape shape = call.shape(0);
  if (call.input(0).numbers()) read(call.plain(0).template to<Cpu>().contiguous());
  else if (call.input(0).integers()) read(call.integers(0).host().contiguous());
  else read(call.bools(0).host().contiguous());
  if (is_floating(to)) {
    const Tensor<T, Cpu> numbers(shape);
    with_type(call, to, [&]<class U>(U) {
      for (std::size_t i = 0; i < bits.size(); ++i) numbers.data()[i] = convert<T>(number_of<U>(bits[i]));
    });
    return call.give_as(to, numbers.template to<device_of<F>>(call.device()));
  }
  const Tensor<std::int64_t, Cpu> integers(shape);
  with_type(call, to, [&]<class U>(U) {
    for (std::size_t i = 0; i < bits.size(); ++i) integers.data()[i] = convert<std::int64_t>(number_of<U>(bits[i]));
  });
  if (to == DataType::boolean) call.give_as(to, (integers != 0).eval());
  else call.give_as(to, integers);
}

/// By elimination, a step for each row: without LAPACK, which the determinants of linalg need.
template <class F>
void determinants(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  const F& given = call.numbers(0);
  if (given.rank() < 2 || given.size(-1) != given.size(-2))
    call.fail_here({"shape ", given.shape(), "; expected square matrices"});
  std::int64_t n = given.size(-1);
  Shape batch = given.shape();
  batch.erase(batch.rank() - 1), batch.erase(batch.rank() - 1);
  F a = reshape(given, {elements(batch), n, n});
  F result = call.handle(full<value_of<F>>({elements(batch)}, R(1), given.device()));
  for (; n > 0; --n) {
    const auto largest = argmax(abs(plain_of(a).select(2, 0)), 1);  // the row of the pivot, of each matrix
    const auto rows = arange<std::int64_t>(0, n, 1, given.device()), own = largest.unsqueeze(1);
    const auto order = where(rows == 0, own, where(rows == own, 0, rows)).eval();
    a = gather(a, 1, order.unsqueeze(2).expand({elements(batch), n, n}).contiguous());
    const F pivot = select(select(a, 1, 0), 1, 0);
    result = result * pivot * where(largest == 0, 1., -1.).eval().template as<value_of<F>>();
    const F divisor = where(plain_of(pivot) == 0, R(1), pivot);
    const F factors = slice(select(a, 2, 0), 1, 1) / unsqueeze(divisor, 1);
    a = slice(slice(a, 1, 1), 2, 1) - unsqueeze(factors, 2) * unsqueeze(slice(select(a, 1, 0), 1, 1), 1);
  }
  call.give_like(reshape(result, batch));
}

/// Where n-grams of 1, 2, ... elements begin in the pool, and which of them count.
struct GramPool {
  Integers pool, starts, columns;
  std::int64_t least, most, skips, width = 0;

  explicit GramPool(const Attributes& call)
      : pool(call.list("pool_int64s")),
        starts(call.list("ngram_counts")),
        columns(call.list("ngram_indexes")),
        least(call.integer("min_gram_length", 1)),
        most(call.integer("max_gram_length", 1)),
        skips(call.integer("max_skip_count", 0)) {
    if (call.has("pool_strings")) call.fail_here({"pool_strings, of which Locus has no tensors; expected pool_int64s"});
    std::int64_t grams = 0, before = 0;
    starts.push_back(static_cast<std::int64_t>(pool.size()));
    for (std::size_t size = 1; size < starts.size(); before = starts[size - 1], ++size) {
      const std::int64_t items = starts[size] - starts[size - 1], length = static_cast<std::int64_t>(size);
      if (starts[size - 1] < before || items < 0 || items % length != 0)
        call.fail_here({"ngram_counts: ", items, " elements of n-grams of ", length});
      grams += items / length;
    }
    if (grams > static_cast<std::int64_t>(columns.size()) || least < 1 || skips < 0)
      call.fail_here({grams, " n-grams with ", columns.size(), " ngram_indexes, of at least ", least,
                      " elements, skipping ", skips});
    for (const std::int64_t column : columns) {
      if (column < 0 || column >= INT32_MAX) call.fail_here({"ngram_indexes: ", column});
      width = column >= width ? column + 1 : width;
    }
  }
  /// How often each n-gram is in a row, with up to `skips` elements between its own, added to the columns of counts.
  void count(const std::int64_t* row, std::int64_t length, double* counts) const {
    std::size_t gram = 0;
    for (std::int64_t size = 1; size < static_cast<std::int64_t>(starts.size()); ++size)
      for (std::int64_t at = starts[static_cast<std::size_t>(size - 1)]; at < starts[static_cast<std::size_t>(size)];
           at += size, ++gram)
        if (size >= least && size <= most) counts[columns[gram]] += occurrences(row, length, pool.data() + at, size);
  }

 private:
  [[nodiscard]] double occurrences(const std::int64_t* row, std::int64_t length, const std::int64_t* gram,
                                   std::int64_t size) const {
    double found = 0;
    for (std::int64_t step = 1; step - 1 <= (size == 1 ? 0 : skips) && (size - 1) * step < length; ++step)
      for (std::int64_t first = 0; first + (size - 1) * step < length; ++first) {
        bool agrees = true;
        for (std::int64_t k = 0; k < size && agrees; ++k) agrees = row[first + k * step] == gram[k];
        found += agrees ? 1 : 0;
      }
    return found;
  }
};
template <class F>
void count_grams(const Call<F>& call) {
  const Shape& shape = call.shape(0);
  if (shape.rank() > 2) call.fail_here({"an input of shape ", shape, "; expected sequences, (length) or (n, length)"});
  const GramPool pool(call);
  const auto mode = call.text("mode", "");
  const bool counts_once = mode == "IDF", is_weighted = counts_once || mode == "TFIDF";
  if (!is_weighted) call.require_text("mode", "TF");
  const auto* const weights = call.template attribute<std::vector<float>>("weights");
  if (is_weighted && weights && static_cast<std::int64_t>(weights->size()) < pool.width)
    call.fail_here({weights->size(), " weights for ", pool.width, " results"});
  const std::int64_t length = shape.rank() == 0 ? 1 : shape[-1], rows = shape.rank() == 2 ? shape[0] : 1;
  const Integers elements = call.host_list(0);
  std::vector<double> counts(static_cast<std::size_t>(rows * pool.width));
  for (std::int64_t row = 0; row < rows; ++row)
    pool.count(elements.data() + row * length, length, counts.data() + row * pool.width);
  for (std::size_t i = 0; i < counts.size() && is_weighted; ++i) {
    if (counts_once) counts[i] = counts[i] > 0 ? 1 : 0;
    if (weights) counts[i] *= static_cast<double>((*weights)[i % static_cast<std::size_t>(pool.width)]);
  }
  Shape result = Shape{rows, pool.width};
  if (shape.rank() < 2) result = Shape{pool.width};
  call.give_as(DataType::float32, Call<F>::handle(from(counts, result, call.device()).template as<value_of<F>>()));
}

/// draw(generator...) of the device's generator, or, with an attribute `seed`, the same numbers in each run.
template <class F, class Draw>
[[nodiscard]] auto drawn_by_seed(const Call<F>& call, const Draw& draw) {
  const auto* const seed = call.template attribute<float>("seed");
  if (!seed) return draw();
  Generator<device_of<F>> generator{__builtin_bit_cast(std::uint32_t, *seed)};
  return draw(generator);
}
/// The shape of input 0, or of the attribute.
template <class F>
[[nodiscard]] Shape drawn_shape(const Call<F>& call) {
  if (call.input_count() > 0) return call.shape(0);
  for (const std::int64_t extent : call.list("shape"))
    if (extent < 0) call.fail_here({"an extent of ", extent});
  return Shape(call.list("shape"));
}
template <class F>
void give_numbers(const Call<F>& call, const auto& numbers) {
  const DataType otherwise = call.input_count() > 0 ? call.input(0).type() : DataType::float32;
  const auto type = static_cast<DataType>(call.integer("dtype", static_cast<std::int64_t>(otherwise)));
  if (is_floating(type)) return call.give_as(type, numbers.eval());
  if (!has_element_type(type) || type == DataType::boolean)
    call.fail_here({"dtype ", to_string(type), "; expected numbers"});
  call.give_wrapped(type, numbers.eval().template as<std::int64_t>());
}
template <class F>
void draw_uniform(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  const auto low = static_cast<R>(call.number("low", 0)), high = static_cast<R>(call.number("high", 1));
  const Shape shape = drawn_shape(call);
  const auto drawn =
      drawn_by_seed(call, [&](auto&... generator) { return rand<value_of<F>>(shape, generator..., call.device()); });
  give_numbers(call, drawn * (high - low) + low);
}
template <class F>
void draw_normal(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  const Shape shape = drawn_shape(call);
  const auto drawn =
      drawn_by_seed(call, [&](auto&... generator) { return randn<value_of<F>>(shape, generator..., call.device()); });
  give_numbers(call, drawn * static_cast<R>(call.number("scale", 1)) + static_cast<R>(call.number("mean", 0)));
}
/// 1 with the probability that an element of the input states, else 0.
template <class F>
void draw_bernoulli(const Call<F>& call) {
  const auto& probabilities = call.plain(0);
  const auto drawn = drawn_by_seed(
      call, [&](auto&... generator) { return rand<value_of<F>>(probabilities.shape(), generator..., call.device()); });
  const Tensor<bool, device_of<F>> is_one = drawn < probabilities;
  if (static_cast<DataType>(call.integer("dtype", 0)) == DataType::boolean)
    return call.give_as(DataType::boolean, is_one);
  give_numbers(call, is_one.template as<value_of<F>>());
}

template <class F>
inline constexpr Operation<F> values[] = {
    {"Bernoulli", &draw_bernoulli<F>},       {"BitCast", &reinterpret_bits<F>},     {"Det", &determinants<F>},
    {"RandomNormal", &draw_normal<F>},       {"RandomNormalLike", &draw_normal<F>}, {"RandomUniform", &draw_uniform<F>},
    {"RandomUniformLike", &draw_uniform<F>}, {"TfIdfVectorizer", &count_grams<F>},  {"Unique", &distinct_values<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
