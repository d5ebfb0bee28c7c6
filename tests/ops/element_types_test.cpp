// Runs on: host; alone.
// Element types: the functions compile for exactly the types in the table of docs/numpy-pytorch.md, and compute right
// results with each.

#include <locus/expr/bits.hpp>
#include <locus/expr/functions.hpp>
#include <locus/ops/as_strided.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/ops/close.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/cov.hpp>
#include <locus/ops/cross.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/dropout.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/flip.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/ops/histogram.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/interp.hpp>
#include <locus/ops/interpolate.hpp>
#include <locus/ops/isin.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/linear_cross_entropy.hpp>
#include <locus/ops/masked_select.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/multinomial.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/pool.hpp>
#include <locus/ops/prelu.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/repeat.hpp>
#include <locus/ops/rotary.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/search.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/triangle.hpp>
#include <locus/ops/unfold.hpp>
#include <locus/ops/unique.hpp>
#include <locus/tensor/factory.hpp>

#include <support/reference_capabilities.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <set>

// Kernels of the reference device take a third of the time that Cpu's take to compile.
#ifndef LOCUS_TYPES_ON
#define LOCUS_TYPES_ON locus_test::ReferenceDevice
#endif

using namespace locus;

namespace {

/// Holds every value of every element type.
using Number = long double;
using Numbers = std::vector<Number>;
constexpr std::int64_t rows = 4, cols = 6;

template <class T, class D>
Numbers numbers_of(const Tensor<T, D>& given) {
  const Tensor<T> x = given.contiguous().template to<Cpu>();
  Numbers numbers;
  for (std::int64_t i = 0; i < x.elements(); ++i) numbers.push_back(static_cast<Number>(load_as_register(x.data()[i])));
  return numbers;
}
/// Numbers converted to T; integers wrap around.
template <class T>
Numbers wrapped(const Numbers& numbers) {
  Numbers result;
  for (const Number number : numbers) {
    if constexpr (std::is_same_v<T, bool>) result.push_back(number != 0);
    else if constexpr (std::is_integral_v<T>) {
      const Number size = std::ldexp(Number(1), 8 * static_cast<int>(sizeof(T)));
      Number rest = number - std::floor(number / size) * size;
      if (std::is_signed_v<T> && rest >= size / 2) rest -= size;
      result.push_back(rest);
    } else {
      result.push_back(number);
    }
  }
  return result;
}

Numbers each(const Numbers& x, Number (*f)(Number)) {
  Numbers result;
  for (const Number number : x) result.push_back(f(number));
  return result;
}
Numbers each(const Numbers& x, const Numbers& y, Number (*f)(Number, Number)) {
  Numbers result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(f(x[i], y[i]));
  return result;
}
/// f of every row, one after the other.
Numbers by_row(const Numbers& x, Numbers (*f)(const Numbers&)) {
  Numbers result;
  for (auto row = x.begin(); row != x.end(); row += cols)
    for (const Number number : f(Numbers(row, row + cols))) result.push_back(number);
  return result;
}
/// The same with a number for each row.
Numbers fold(const Numbers& x, Number (*f)(const Numbers&)) {
  Numbers result;
  for (auto row = x.begin(); row != x.end(); row += cols) result.push_back(f(Numbers(row, row + cols)));
  return result;
}
Numbers running(const Numbers& x, Number (*f)(Number, Number)) {
  Numbers result = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % cols != 0) result[i] = f(result[i - 1], x[i]);
  return result;
}
/// The elements of x at places in row-major order.
Numbers at(const Numbers& x, std::initializer_list<std::size_t> places) {
  Numbers result;
  for (const std::size_t place : places) result.push_back(x[place]);
  return result;
}
Numbers sorted(const Numbers& row) {
  Numbers result = row;
  std::stable_sort(result.begin(), result.end());
  return result;
}
Numbers order(const Numbers& row) {
  std::vector<std::size_t> places(row.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return row[a] < row[b]; });
  return Numbers(places.begin(), places.end());
}
Numbers descending(const Numbers& row) {
  Numbers result = row;
  std::stable_sort(result.begin(), result.end(), std::greater<>());
  return result;
}
Numbers distinct(const Numbers& x) {
  const std::set<Number> set(x.begin(), x.end());
  return Numbers(set.begin(), set.end());
}
Number most_frequent(const Numbers& row) {
  std::map<Number, int> counts;
  for (const Number number : row) ++counts[number];
  Number best = row[0];
  for (const auto& [number, count] : counts)
    if (count > counts[best] || (count == counts[best] && number < best)) best = number;
  return best;
}
Number total(const Numbers& row) {
  Number sum = 0;
  for (const Number number : row) sum += number;
  return sum;
}
Number product(const Numbers& row) {
  Number result = 1;
  for (const Number number : row) result *= number;
  return result;
}
Number mean_of(const Numbers& row) { return total(row) / static_cast<Number>(row.size()); }
Number variance_of(const Numbers& row) {
  const Number mean = mean_of(row);
  Number sum = 0;
  for (const Number number : row) sum += (number - mean) * (number - mean);
  return sum / static_cast<Number>(row.size() - 1);
}
Number length(const Numbers& row) {
  Number sum = 0;
  for (const Number number : row) sum += number * number;
  return std::sqrt(sum);
}
Number log_sum(const Numbers& row) {
  Number sum = 0;
  for (const Number number : row) sum += std::exp(number);
  return std::log(sum);
}
Numbers soft(const Numbers& row) {
  const Number sum = std::exp(log_sum(row));
  Numbers result;
  for (const Number number : row) result.push_back(std::exp(number) / sum);
  return result;
}
/// x y^T of two matrices.
Numbers products(const Numbers& x, const Numbers& y) {
  Numbers result;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j) {
      Number sum = 0;
      for (std::size_t k = 0; k < cols; ++k) sum += x[i * cols + k] * y[j * cols + k];
      result.push_back(sum);
    }
  return result;
}
/// Of each row of x, how many elements of the row of y, sorted, are below: numpy.searchsorted.
Numbers places(const Numbers& y, const Numbers& x) {
  Numbers result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto row = sorted(Numbers(y.begin() + static_cast<std::ptrdiff_t>(i / cols * cols),
                                    y.begin() + static_cast<std::ptrdiff_t>(i / cols * cols + cols)));
    result.push_back(static_cast<Number>(std::lower_bound(row.begin(), row.end(), x[i]) - row.begin()));
  }
  return result;
}
Numbers places_in_first(const Numbers& y, const Numbers& x) {
  Numbers repeated;
  for (std::size_t i = 0; i < y.size(); ++i) repeated.push_back(y[i % cols]);
  return places(repeated, x);
}
/// Rows of three windows of two, one apart, added up.
Numbers windows_added(const Numbers& x) {
  return by_row(x, [](const Numbers& row) { return Numbers{row[0], row[1] + row[2], row[3] + row[4], row[5]}; });
}
Numbers among(const Numbers& x, const Numbers& values) {
  Numbers result;
  for (const Number number : x) result.push_back(std::count(values.begin(), values.end(), number) > 0);
  return result;
}
Numbers nonzero_columns(const Numbers& x) {
  Numbers result;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != 0) result.push_back(Number(i % cols));
  return result;
}
Number place_of(const Numbers& row, Number number) {
  return static_cast<Number>(std::find(row.begin(), row.end(), number) - row.begin());
}
/// How often 0, 1, 2 and 3 occur, or of bool 0 and 1.
Numbers counts_of(const Numbers& x) {
  Numbers result(4);
  for (const Number number : x) ++result[static_cast<std::size_t>(number)];
  return result;
}
Numbers clamped(const Numbers& x, const Numbers& a, const Numbers& b) {
  Numbers result;
  for (std::size_t i = 0; i < x.size(); ++i)
    result.push_back(std::min(std::max(x[i], std::min(a[i], b[i])), std::max(a[i], b[i])));
  return result;
}
/// x at every third place, y elsewhere.
Numbers chosen(const Numbers& x, const Numbers& y) {
  Numbers result = y;
  for (std::size_t i = 0; i < x.size(); i += 3) result[i] = x[i];
  return result;
}
/// The first four columns of y put into, or added to, columns 2, 0, 2 and 1.
Numbers put(const Numbers& x, const Numbers& y, bool adds) {
  const std::size_t to[] = {2, 0, 2, 1};
  Numbers result = x;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t j = 0; j < 4; ++j) {
      Number& target = result[row * cols + to[j]];
      target = adds ? target + y[row * cols + j] : y[row * cols + j];
    }
  return result;
}
/// Elements of the first row of y put on the diagonal, where 2, 0, 2 and 1 say.
Numbers put_on_diagonal(const Numbers& x, const Numbers& y) {
  Numbers result = x;
  const std::size_t to[] = {2, 0, 2, 1};
  for (std::size_t j = 0; j < 4; ++j) result[to[j] * (cols + 1)] = y[j];
  return result;
}
Numbers distances(const Numbers& x, const Numbers& y) {
  Numbers result;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j) {
      Numbers difference;
      for (std::size_t k = 0; k < cols; ++k) difference.push_back(x[i * cols + k] - y[j * cols + k]);
      result.push_back(length(difference));
    }
  return result;
}
Numbers third_of_cross(const Numbers& x, const Numbers& y) {
  Numbers result;
  for (std::size_t i = 0; i < x.size(); i += cols) result.push_back(x[i] * y[i + 1] - x[i + 1] * y[i]);
  return result;
}
Number quotient(Number x, Number y) { return x / y; }
Number divided(Number x, Number y) { return std::floor(x / y); }
Number first(Number x, Number) { return x; }
Number plus_product(Number x, Number y) { return x + x * y; }
Number negated(Number x) { return x == 0; }
Number inverted(Number x) { return -1 - x; }
Numbers bits_of(const Numbers& x, const Numbers& y) {
  Numbers result;
  for (std::size_t i = 0; i < x.size(); ++i)
    result.push_back(static_cast<Number>(static_cast<std::int64_t>(x[i]) & static_cast<std::int64_t>(y[i])));
  return result;
}

const char* const all_types[] = {"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16",
                                 "int8",    "uint64",  "uint32",  "uint16",   "uint8", "bool"};

/// The types found for each function, and the errors in its results.
class Table {
 public:
  void take(const char* function, std::string_view type, const Numbers& found, const Numbers& expected,
            double allowed) {
    types_[function].insert(std::string(type));
    std::string problem;
    if (found.size() != expected.size())
      problem = join(found.size(), " elements where ", expected.size(), " were expected");
    for (std::size_t i = 0; i < found.size() && problem.empty(); ++i) {
      const Number error = std::abs(found[i] - expected[i]), size = std::max(Number(1), std::abs(expected[i]));
      if (found[i] == expected[i] || error <= static_cast<Number>(allowed) * size) continue;
      problem = join("element ", i, " is ", static_cast<double>(found[i]), " where ", static_cast<double>(expected[i]),
                     " was expected");
    }
    CHECK_MESSAGE(problem.empty(), join(function, " of ", type, ": ", problem));
  }
  void note(const char* function, std::string_view type, bool takes) {
    if (takes) types_[function].insert(std::string(type));
    else refuse(function);
  }
  void refuse(const char* function) { (void)types_[function]; }

  /// In the words of the page.
  [[nodiscard]] std::string types_of(const std::string& function) const {
    const auto& types = types_.at(function);
    const auto holds = [&](std::size_t first, std::size_t last) {
      std::size_t count = 0;
      for (std::size_t i = first; i < last; ++i) count += types.count(all_types[i]);
      return count == last - first ? 1 : count == 0 ? 0 : -1;
    };
    const int floats = holds(0, 4), integers = holds(4, 12), boolean = holds(12, 13);
    std::string text;
    if (floats < 0 || integers < 0)
      for (const auto& type : types) text += (text.empty() ? "`" : ", `") + type + "`";
    if (!text.empty()) return text;
    const auto add = [&](int is_there, const char* word) {
      if (is_there) text += (text.empty() ? "" : ", ") + std::string(word);
    };
    add(floats, "floating-point");
    add(integers, "integers");
    add(boolean, "`bool`");
    return text == "floating-point, integers, `bool`" ? "all" : text;
  }
  [[nodiscard]] bool has(const std::string& function) const { return types_.count(function) > 0; }
  [[nodiscard]] std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (const auto& [name, types] : types_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, std::set<std::string>> types_;
};

/// The element types of each function, as the last section of the page has them.
std::map<std::string, std::string> rows_of_page() {
  const char* const tests = std::getenv("LOCUS_TEST_DIR");
  std::ifstream page(std::string(tests ? tests : "tests") + "/../docs/numpy-pytorch.md");
  std::map<std::string, std::string> types;
  bool is_there = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_there = line == "## Element types";
    const std::size_t end = line.rfind(" | ");
    if (!is_there || !line.starts_with("| `") || end == std::string::npos) continue;
    const std::string last = line.substr(end + 3, line.size() - end - 5);
    for (std::size_t at = line.find('`'); at < end; at = line.find('`', at + 1)) {
      const std::size_t close = line.find('`', at + 1);
      std::string name = line.substr(at + 1, close - at - 1);
      std::erase(name, '\\');  // as before each | of a cell
      types[name] = last;
      at = close;
    }
  }
  return types;
}

template <class T>
Tensor<T> filled(std::initializer_list<double> pattern, std::int64_t step) {
  const Tensor<T> x({rows, cols});
  const std::vector<double> values(pattern);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    x.data()[i] = convert<T>(values[static_cast<std::size_t>(i * step) % values.size()]);
  return x;
}
/// Many equal numbers, and the ends of the range.
template <class T>
Tensor<T> with_ends() {
  const Tensor<T> x = std::is_unsigned_v<T> ? filled<T>({5, 100, 0, 1, 7, 100, 77}, 3)
                                            : filled<T>({5, -7, 0, -1, 100, -100, 100, 5, 77}, 4);
  if constexpr (IntegerDType<T>) {
    using Limits = std::numeric_limits<T>;
    const T ends[] = {Limits::max(), Limits::min(), static_cast<T>(Limits::max() - 1),
                      static_cast<T>(Limits::min() + 1), static_cast<T>(Limits::max() / 2 + 1)};
    for (std::int64_t i = 0; i < 5; ++i) x.data()[i * 5] = ends[i];
  }
  return x;
}

template <class T, class D>
void check_type(Table& table) {
  constexpr std::string_view type = dtype_name<T>();
  constexpr double allowed = std::is_same_v<T, double>  ? 1e-13
                             : std::is_same_v<T, float> ? 1e-5
                             : std::is_same_v<T, half>  ? 4e-3
                                                        : 3e-2;
  const auto on_device = [](const auto& given) { return given.template to<D>(); };
  const auto x =
      on_device(std::is_unsigned_v<T> ? filled<T>({3, 0, 2, 5, 1}, 2) : filled<T>({3, -2, 0, 1, -3, 2, 2}, 3));
  const auto y = on_device(std::is_unsigned_v<T> ? filled<T>({1, 3, 2, 1, 4}, 1) : filled<T>({1, -3, 2, -1, 4}, 3));
  const auto w = on_device(with_ends<T>());
  const auto u = on_device(filled<T>({1, 0, 3, 1, 2}, 2));  // of bool, 2 and 3 are true
  const Numbers nx = numbers_of(x), ny = numbers_of(y), nw = numbers_of(w), nu = numbers_of(u);
  const auto list = on_device(from<std::int64_t>({2, 0, 2, 1}));
  const auto index = on_device(from<std::int64_t>({0, 3, 3, 1, 2, 0, 1, 1}).reshape({4, 2}));
  const auto mask = on_device(filled<bool>({1, 0, 0}, 1));
  const auto take = [&](const char* function, const auto& result, const Numbers& expected) {
    table.take(function, type, numbers_of(result.eval().value()), expected, allowed);
  };
  using One = std::conditional_t<std::is_same_v<T, bool>, bool, int>;
#define ROW(name, result, ...)                                         \
  if constexpr (requires { result; }) take(name, result, __VA_ARGS__); \
  else table.refuse(name)

  // In order.
  ROW("sort", sort(w).values, by_row(nw, sorted));
  ROW("sort", sort(w, 1, true).values, by_row(nw, descending));
  ROW("argsort", argsort(w), by_row(nw, order));
  ROW("topk", topk(w, cols).values, by_row(nw, descending));
  ROW("topk", topk(w, cols, -1, false).indices, by_row(nw, order));
  ROW("kthvalue", kthvalue(w, 2).values, fold(nw, [](const Numbers& row) { return sorted(row)[1]; }));
  ROW("median", median(w).values, fold(nw, [](const Numbers& row) { return sorted(row)[(cols - 1) / 2]; }));
  ROW("mode", mode(w).values, fold(nw, most_frequent));
  ROW("quantile", quantile(x, 0.5, 1),
      fold(nx, [](const Numbers& row) { return (sorted(row)[2] + sorted(row)[3]) / 2; }));
  ROW("unique", unique(w).values, distinct(nw));
  ROW("isin", isin(w, x), among(nw, nx));
  ROW("searchsorted", searchsorted(sort(y).values, w), places(ny, nw));
  ROW("bucketize", bucketize(w, sort(y.select(0, 0)).values), places_in_first(ny, nw));
  ROW("nonzero", nonzero(x).select(1, 1), nonzero_columns(nx));
  // Reductions and running results.
  ROW("sum", sum(x, 1), fold(nx, total));
  ROW("prod", prod(y, 1), fold(ny, product));
  ROW("mean", mean(x, 1), fold(nx, mean_of));
  ROW("var", var(x, 1), fold(nx, variance_of));
  ROW("stddev", stddev(x, 1), fold(nx, [](const Numbers& row) { return std::sqrt(variance_of(row)); }));
  ROW("norm", norm(x, 2, 1), fold(nx, length));
  ROW("logsumexp", logsumexp(x, 1), fold(nx, log_sum));
  ROW("all", all(x, 1), fold(nx, [](const Numbers& row) { return Number(product(row) != 0); }));
  ROW("any", any(x, 1), fold(nx, [](const Numbers& row) { return Number(length(row) != 0); }));
  ROW("count_nonzero", count_nonzero(x, 1),
      fold(nx, [](const Numbers& row) { return Number(row.size()) - Number(std::count(row.begin(), row.end(), 0)); }));
  ROW("max", max(w, 1), fold(nw, [](const Numbers& row) { return descending(row)[0]; }));
  ROW("min", min(w, 1), fold(nw, [](const Numbers& row) { return sorted(row)[0]; }));
  ROW("argmax", argmax(w, 1), fold(nw, [](const Numbers& row) { return place_of(row, descending(row)[0]); }));
  ROW("argmin", argmin(w, 1), fold(nw, [](const Numbers& row) { return place_of(row, sorted(row)[0]); }));
  ROW("max_with_indices", max_with_indices(w, 1).values,
      fold(nw, [](const Numbers& row) { return descending(row)[0]; }));
  ROW("cumsum", cumsum(x, 1), running(nx, [](Number a, Number b) { return a + b; }));
  ROW("cumprod", cumprod(y, 1), running(ny, [](Number a, Number b) { return a * b; }));
  ROW("cummax", cummax(w, 1).values, running(nw, [](Number a, Number b) { return std::max(a, b); }));
  ROW("cummin", cummin(w, 1).values, running(nw, [](Number a, Number b) { return std::min(a, b); }));
  ROW("softmax", softmax(x, 1), by_row(nx, soft));
  ROW("histogram", histogram(u, 4, 0, 4), counts_of(nu));
  ROW("bincount", bincount(u.reshape({-1}), 4), counts_of(nu));
  // Elements by themselves.
  ROW("x + y", w + w, wrapped<T>(each(nw, nw, [](Number a, Number b) { return a + b; })));
  ROW("x - y", x - y, wrapped<T>(each(nx, ny, [](Number a, Number b) { return a - b; })));
  ROW("x * y", x * y, each(nx, ny, [](Number a, Number b) { return a * b; }));
  ROW("x / y", x / y, each(nx, ny, FloatingDType<T> ? quotient : divided));
  ROW("x % y", x % y, each(nx, ny, [](Number a, Number b) { return a - std::floor(a / b) * b; }));
  if constexpr (!FloatingDType<T>) {
    ROW("x / y", w / (y - y), Numbers(nw.size()));
    ROW("x % y", w % (y - y), Numbers(nw.size()));
  }
  ROW("-x", -x, wrapped<T>(each(nx, [](Number a) { return -a; })));
  ROW("abs", abs(x), each(nx, [](Number a) { return std::abs(a); }));
  ROW("sign", sign(x), each(nx, [](Number a) { return Number(a > 0) - Number(a < 0); }));
  ROW("square", square(x), each(nx, [](Number a) { return a * a; }));
  ROW("relu", relu(x), each(nx, [](Number a) { return std::max(a, Number(0)); }));
  ROW("minimum", minimum(w, x), each(nw, nx, [](Number a, Number b) { return std::min(a, b); }));
  ROW("maximum", maximum(w, x), each(nw, nx, [](Number a, Number b) { return std::max(a, b); }));
  ROW("clamp", clamp(w, minimum(x, y), maximum(x, y)), clamped(nw, nx, ny));
  ROW("where", where(mask, w, x), chosen(nw, nx));
  ROW("masked_fill", masked_fill(w, mask, One{1}), chosen(Numbers(nw.size(), 1), nw));
  ROW("x == y", x == y, each(nx, ny, [](Number a, Number b) { return Number(a == b); }));
  ROW("isclose", isclose(w, x), each(nw, nx, [](Number a, Number b) { return Number(a == b); }));
  ROW("x < y", w < x,
      each(
          nw, nx, [](Number a, Number b) { return Number(a < b); }));
  ROW("x != y", x != y, each(nx, ny, [](Number a, Number b) { return Number(a != b); }));
  ROW("x <= y", w <= x, each(nw, nx, [](Number a, Number b) { return Number(a <= b); }));
  ROW("x || y", x || (w - w), each(nx, [](Number a) { return Number(a != 0); }));
  ROW("x && y", x && w, each(nx, nw, [](Number a, Number b) { return Number(a != 0 && b != 0); }));
  ROW("!x", !x, each(nx, [](Number a) { return Number(a == 0); }));
  ROW("x & y", u & y, bits_of(nu, ny));
  ROW("x | y", (u | y) & u, nu);
  ROW("x ^ y", (u ^ y) ^ y, nu);
  ROW("~x", ~u, wrapped<T>(each(nu, std::is_same_v<T, bool> ? negated : inverted)));
  ROW("x << y", u << 1, wrapped<T>(each(nu, [](Number a) { return 2 * a; })));
  ROW("x >> y", u >> 1, each(nu, [](Number a) { return std::floor(a / 2); }));
  ROW("addcmul", addcmul(x, x, y), each(nx, ny, std::is_same_v<T, bool> ? first : plus_product));
  ROW("exp", exp(x), each(nx, [](Number a) { return std::exp(a); }));
  ROW("sqrt", sqrt(u), each(nu, [](Number a) { return std::sqrt(a); }));
  ROW("floor", floor(x), nx);
  ROW("pow", pow(u, x), each(nu, nx, [](Number a, Number b) { return a == 0 && b < 0 ? INFINITY : std::pow(a, b); }));
  ROW("fmod", fmod(x, y), each(nx, ny, [](Number a, Number b) { return std::fmod(a, b); }));
  ROW("isfinite", isfinite(x), Numbers(nx.size(), 1));
  // Elements moved.
  ROW("index_select", index_select(w, 1, list), by_row(nw, [](const Numbers& row) { return at(row, {2, 0, 2, 1}); }));
  ROW("gather", gather(w, 1, index), at(nw, {0, 3, 9, 7, 14, 12, 19, 19}));
  ROW("take", locus::take(w, list), at(nw, {2, 0, 2, 1}));
  ROW("index_add", index_add(x, 1, list, y.slice(1, 0, 4)), wrapped<T>(put(nx, ny, true)));
  ROW("index_copy", index_copy(w, 1, list, y.slice(1, 0, 4)), put(nw, ny, false));
  ROW("scatter_add", scatter_add(x, 1, list.expand({4, 4}), y.slice(1, 0, 4)), wrapped<T>(put(nx, ny, true)));
  ROW("scatter", scatter(w, 1, list.expand({4, 4}), y.slice(1, 0, 4)), put(nw, ny, false));
  ROW("masked_select", masked_select(w, mask), at(nw, {0, 3, 6, 9, 12, 15, 18, 21}));
  ROW("one_hot", one_hot(u, 4).select(-1, 1), each(nu, [](Number a) { return Number(a == 1); }));
  ROW("take_along_axis", take_along_axis(w, index, 1), at(nw, {0, 3, 9, 7, 14, 12, 19, 19}));
  ROW("index_put", index_put(w, std::vector{list, list}, y.select(0, 0).slice(0, 0, 4)), put_on_diagonal(nw, ny));
  ROW("embedding", embedding(w, list).select(1, 0), at(nw, {12, 0, 12, 6}));
  ROW("stack", stack(1, w, w).select(1, 1), nw);
  ROW("concat", concat(1, w, x.slice(1, 0, 0)), nw);
  ROW("pad", pad(w, {0, -4}), by_row(nw, [](const Numbers& row) { return at(row, {0, 1}); }));
  ROW("flip", flip(w, 1), by_row(nw, [](const Numbers& row) { return Numbers(row.rbegin(), row.rend()); }));
  ROW("roll", roll(w, 2, 1), by_row(nw, [](const Numbers& row) { return at(row, {4, 5, 0, 1, 2, 3}); }));
  ROW("tile", tile(w.slice(1, 0, 1), 2), at(nw, {0, 0, 6, 6, 12, 12, 18, 18}));
  ROW("repeat_interleave", repeat_interleave(w.select(1, 0), 2), at(nw, {0, 0, 6, 6, 12, 12, 18, 18}));
  ROW("tril", tril(w.slice(0, 0, 2).slice(1, 0, 2)), Numbers({nw[0], 0, nw[6], nw[7]}));
  ROW("triu", triu(w.slice(0, 0, 2).slice(1, 0, 2)), Numbers({nw[0], nw[1], 0, nw[7]}));
  ROW("diag", diag(w), at(nw, {0, 7, 14, 21}));
  ROW("rot90", rot90(w.slice(0, 0, 2).slice(1, 0, 2)), at(nw, {1, 7, 0, 6}));
  ROW("fold_windows", fold_windows(x.reshape({4, 3, 2}), 1, 4, 1), wrapped<T>(windows_added(nx)));
  ROW("unfold", unfold(w, 1, 2, 4), by_row(nw, [](const Numbers& row) { return at(row, {0, 1, 4, 5}); }));
  ROW("as_strided", as_strided(w, {2, 2}, {1, 7}, 1), at(nw, {1, 8, 2, 9}));
  // Products.
  ROW("matmul", matmul(x, y.transpose()), products(nx, ny));
  ROW("einsum", einsum("ik,jk->ij", x, y), products(nx, ny));
  ROW("linear", linear(x, y), products(nx, ny));
  ROW("cdist", cdist(x, y), distances(nx, ny));
  ROW("cross", cross(x.slice(1, 0, 3), y.slice(1, 0, 3)).select(1, 2), wrapped<T>(third_of_cross(nx, ny)));
#undef ROW

  // Functions of floating-point numbers alone: they compile for float, and not for other types. The tests of each, and
  // sixteen_bits_test.cpp, compute with double, half and bfloat16.
  const auto image = x.reshape({1, 1, rows, cols});
  (void)image;
#define FLOATS(name, result)                                   \
  if constexpr (std::is_same_v<T, float> || !FloatingDType<T>) \
    table.note(                                                \
        name, type, requires { result; });                     \
  else table.note(name, type, true)
  FLOATS("log", log(x));
  FLOATS("sin", sin(x));
  FLOATS("tanh", tanh(x));
  FLOATS("sigmoid", sigmoid(x));
  FLOATS("gelu", gelu(x));
  FLOATS("atan2", atan2(x, y));
  FLOATS("hypot", hypot(x, y));
  FLOATS("lerp", lerp(x, y, y));
  FLOATS("addcdiv", addcdiv(x, x, y));
  FLOATS("nan_to_num", nan_to_num(x));
  FLOATS("isnan", isnan(x));
  FLOATS("log_softmax", log_softmax(x, 1));
  FLOATS("logcumsumexp", logcumsumexp(x, 1));
  FLOATS("cov", cov(x));
  FLOATS("interp", interp(x, y, y));
  FLOATS("layer_norm", layer_norm(x, Shape{cols}));
  FLOATS("rms_norm", rms_norm(x, Shape{cols}));
  FLOATS("group_norm", group_norm(image, 1));
  FLOATS("prelu", prelu(x, y));
  FLOATS("conv2d", conv2d(image, image));
  FLOATS("max_pool2d", max_pool2d(image, 2));
  FLOATS("avg_pool2d", avg_pool2d(image, 2));
  FLOATS("interpolate", interpolate(image, {.scale_factor = 2}));
  FLOATS("cross_entropy", cross_entropy(x, list));
  FLOATS("linear_cross_entropy", linear_cross_entropy(x, x, list));
  FLOATS("dropout", dropout(x, 0.5));
  FLOATS("scaled_dot_product_attention", scaled_dot_product_attention(x, x, x));
  FLOATS("rotary", rotary(x, x.slice(1, 0, 1), x.slice(1, 0, 1)));
  FLOATS("multinomial", multinomial(x, 1));
#undef FLOATS
}

}  // namespace

TEST_CASE("every function takes the element types that the page says, and computes with each of them") {
  Table table;
  check_type<float, LOCUS_TYPES_ON>(table);
  check_type<double, LOCUS_TYPES_ON>(table);
  check_type<half, LOCUS_TYPES_ON>(table);
  check_type<bfloat16, LOCUS_TYPES_ON>(table);
  check_type<std::int64_t, LOCUS_TYPES_ON>(table);
  check_type<std::int32_t, LOCUS_TYPES_ON>(table);
  check_type<std::int16_t, LOCUS_TYPES_ON>(table);
  check_type<std::int8_t, LOCUS_TYPES_ON>(table);
  check_type<std::uint64_t, LOCUS_TYPES_ON>(table);
  check_type<std::uint32_t, LOCUS_TYPES_ON>(table);
  check_type<std::uint16_t, LOCUS_TYPES_ON>(table);
  check_type<std::uint8_t, LOCUS_TYPES_ON>(table);
  check_type<bool, LOCUS_TYPES_ON>(table);
  const auto on_page = rows_of_page();
  for (const auto& name : table.functions()) {
    const auto row = on_page.find(name);
    const std::string said = row == on_page.end() ? "nothing" : row->second;
    CHECK_MESSAGE(said == table.types_of(name), "the page says of ", name, ": ", said, "; it takes ",
                  table.types_of(name));
  }
  for (const auto& row : on_page) CHECK_MESSAGE(table.has(row.first), "no row here tries ", row.first);
}
