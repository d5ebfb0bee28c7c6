// Runs on: host; alone, busy.
// Random programs of operations and views, each applied to earlier results, compared with a naive reference in float64;
// plain and traced, with gradients compared with finite differences of the reference.
//
// LOCUS_FUZZ_COUNT sets the number of programs, LOCUS_FUZZ_SEED the seed of the first; each next program has the next
// seed. A failure prints the program and its seed: LOCUS_FUZZ_SEED=seed LOCUS_FUZZ_COUNT=1 runs it again.

#include <locus/locus.hpp>
#include <locus/ops/sort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <support/fuzz.hpp>
#include <support/sanitized.hpp>
#include <tuple>
#include <vector>

namespace {
using namespace locus;
using namespace locus_test;

using Index = std::array<std::int64_t, max_rank>;

/// A dense array; the operations on it follow their definitions.
struct Naive {
  Shape shape;
  std::vector<double> x;

  explicit Naive(const Shape& extents) : shape(extents), x(static_cast<std::size_t>(elements(extents))) {}

  [[nodiscard]] std::size_t place(const Index& at) const {
    std::size_t flat = 0;
    for (int d = 0; d < shape.rank(); ++d)
      flat = flat * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(at[static_cast<std::size_t>(d)]);
    return flat;
  }
  /// Calls f(index, element) for every element.
  template <class F>
  void for_each(const F& f) {
    Index at{};
    for (double& element : x) {
      f(std::as_const(at), element);
      for (int d = shape.rank() - 1; d >= 0 && ++at[static_cast<std::size_t>(d)] == shape[d]; --d)
        at[static_cast<std::size_t>(d)] = 0;
    }
  }
};

/// The result of shape `shape`: each element is the element of a at source(index).
template <class F>
Naive picked(const Naive& a, const Shape& shape, const F& source) {
  Naive y(shape);
  y.for_each([&](Index at, double& element) {
    source(at);
    element = a.x[a.place(at)];
  });
  return y;
}

/// a broadcast to a shape.
Naive repeated(const Naive& a, const Shape& shape) {
  return picked(a, shape, [&](Index& at) {
    const int added = shape.rank() - a.shape.rank();
    Index from{};
    for (int d = 0; d < a.shape.rank(); ++d)
      from[static_cast<std::size_t>(d)] = a.shape[d] == 1 ? 0 : at[static_cast<std::size_t>(d + added)];
    at = from;
  });
}

template <class F>
Naive mapped(const Naive& a, const F& f) {
  Naive y = a;
  for (double& element : y.x) element = f(element);
  return y;
}
template <class F>
Naive mapped(const Naive& a, const Naive& b, const F& f) {
  Naive y = repeated(a, broadcast(a.shape, b.shape));
  const Naive other = repeated(b, y.shape);
  for (std::size_t i = 0; i < y.x.size(); ++i) y.x[i] = f(y.x[i], other.x[i]);
  return y;
}

/// Replaces each line along an axis by f(line).
template <class F>
Naive along(const Naive& a, int axis, const F& f) {
  Shape rest = a.shape, result = a.shape;
  rest[axis] = 1;
  const auto on_axis = static_cast<std::size_t>(axis);
  {
    std::vector<double> probe(static_cast<std::size_t>(a.shape[axis]), 1.);
    result[axis] = static_cast<std::int64_t>(f(probe).size());
  }
  Naive y(result), lines(rest);
  lines.for_each([&](Index at, double&) {
    std::vector<double> line;
    for (at[on_axis] = 0; at[on_axis] < a.shape[axis]; ++at[on_axis]) line.push_back(a.x[a.place(at)]);
    const std::vector<double> made = f(line);
    for (at[on_axis] = 0; at[on_axis] < result[axis]; ++at[on_axis])
      y.x[y.place(at)] = made[static_cast<std::size_t>(at[on_axis])];
  });
  return y;
}

Naive reshaped(Naive a, const Shape& shape) {
  a.shape = shape;
  return a;
}

double sum_of(const std::vector<double>& line) {
  double sum = 0;
  for (const double v : line) sum += v;
  return sum;
}

using Values = std::vector<Naive>;
using Step = std::function<Naive(const Values&)>;

/// One random program, run while it is generated.
class Program {
 public:
  explicit Program(std::uint64_t seed) : seed_(seed), random_(seed, 0, 0) {
    cpu::set_max_threads(static_cast<int>(below(3)) + 1);
    const std::int64_t inputs = 2 + below(2);
    for (std::int64_t i = 0; i < inputs; ++i) add_input();
    const std::int64_t steps = 3 + below(8);
    for (std::int64_t i = 0; i < steps && wrong_.empty(); ++i) add_step();
    if (wrong_.empty()) check_gradients();
  }

  /// The error, with the program; empty if none.
  [[nodiscard]] std::string problem() const {
    if (wrong_.empty()) return "";
    return join("LOCUS_FUZZ_SEED=", seed_, " LOCUS_FUZZ_COUNT=1\n", text_, wrong_, "\n");
  }
  [[nodiscard]] int checked_gradients() const { return checked_gradients_; }

 private:
  [[nodiscard]] std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_.bounded(static_cast<std::uint32_t>(n)));
  }
  [[nodiscard]] bool rarely() { return below(12) == 0; }
  /// Never 0, where corners of several functions may coincide unseen by finite differences.
  [[nodiscard]] double number() {
    return static_cast<double>((static_cast<float>(below(4000) - 2000) + 0.5f) / 1000.f);
  }

  [[nodiscard]] Shape some_shape() {
    Shape shape;
    for (std::int64_t rank = below(5); rank > 0; --rank) shape.push_back(1 + below(5));
    if (!shape.empty() && rarely()) shape[static_cast<int>(below(shape.rank()))] = 1 + below(200);
    return shape;
  }

  void add_input() {
    // Inputs share extents, so that many broadcast.
    Shape shape = naive_.empty() || rarely() ? some_shape() : naive_[0].shape;
    if (!naive_.empty())
      for (auto& extent : shape)
        if (below(4) == 0) extent = 1;
    Naive values(shape);
    for (double& v : values.x) v = number();
    Tensor<float> tensor(shape);
    for (std::size_t i = 0; i < values.x.size(); ++i) tensor.data()[i] = static_cast<float>(values.x[i]);
    text_ += join("v", naive_.size(), " = input ", shape, "\n");
    plain_.push_back(tensor);
    traced_.push_back(variable(tensor.clone()));
    naive_.push_back(values);
    ++inputs_;
  }

  /// y = f(operand), as text.
  template <class F>
  void add(const std::string& text, int a, const F& f, const std::function<Naive(const Naive&)>& reference) {
    run(
        join(text, " of v", a), [&](auto& y, const auto& values) { y = f(values[static_cast<std::size_t>(a)]); },
        [a, reference](const Values& v) { return reference(v[static_cast<std::size_t>(a)]); });
  }
  template <class F>
  void add(const std::string& text, int a, int b, const F& f,
           const std::function<Naive(const Naive&, const Naive&)>& reference) {
    run(
        join(text, " of v", a, ", v", b),
        [&](auto& y, const auto& v) { y = f(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]); },
        [a, b, reference](const Values& v) {
          return reference(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]);
        });
  }

  template <class F>
  void run(const std::string& text, const F& f, Step reference) {
    const std::size_t number = naive_.size();
    Naive expected = reference(naive_);
    // Large numbers would leave no digits for the finite differences of gradients.
    double largest = largest_;
    for (const double v : expected.x) largest = std::max(largest, std::abs(v));
    if (!(largest <= 50)) return;
    largest_ = largest;
    text_ += join("v", number, " = ", text, " -> ", expected.shape, "\n");
    Tensor<float> plain;
    Traced<float> traced;
    try {
      f(plain, plain_);
      f(traced, traced_);
    } catch (const std::exception& error) {
      wrong_ = join("threw: ", error.what());
      return;
    }
    compare("plain", number, plain, expected);
    compare("traced", number, traced.value(), expected);
    steps_.push_back(std::move(reference));
    plain_.push_back(plain);
    traced_.push_back(traced);
    naive_.push_back(std::move(expected));
  }

  void compare(const char* kind, std::size_t number, const Tensor<float>& found, const Naive& expected) {
    if (!(found.shape() == expected.shape)) {
      wrong_ = join(kind, " v", number, " has shape ", found.shape(), "; expected ", expected.shape);
      return;
    }
    const Tensor<float> dense = found.contiguous();
    for (std::size_t i = 0; i < expected.x.size(); ++i) {
      const double value = static_cast<double>(dense.data()[i]);
      if (std::abs(value - expected.x[i]) <= 2e-5 * (1 + largest_)) continue;
      wrong_ = join(kind, " v", number, " at element ", i, " is ", value, "; expected ", expected.x[i]);
      return;
    }
  }

  [[nodiscard]] int some_value() {
    const auto count = static_cast<std::int64_t>(naive_.size());
    return static_cast<int>(below(2) == 0 ? count - 1 : below(count));  // often the last one: programs become deep
  }
  [[nodiscard]] const Shape& shape_of(int value) const { return naive_[static_cast<std::size_t>(value)].shape; }
  /// A value that broadcasts with `value`; -1 if none was found.
  [[nodiscard]] int partner_of(int value) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const int other = static_cast<int>(below(static_cast<std::int64_t>(naive_.size())));
      try {
        const Shape joint = broadcast(shape_of(value), shape_of(other));
        if (elements(joint) <= most_elements) return other;
      } catch (const ShapeError&) {}
    }
    return -1;
  }

  void add_step() {
    const int a = some_value();
    if (elements(shape_of(a)) == 0) return add_view(a);
    switch (below(9)) {
      case 0: return add_map(a);
      case 8: return add_update(a);
      case 1:
      case 2: return add_pair(a);
      case 3:
      case 4: return add_view(a);
      case 5: return add_fold(a);
      case 6: return add_line(a);
      default: return add_product_or_join(a);
    }
  }

  void add_map(int a) {
    switch (below(14)) {
      case 0:
        return add(
            "relu", a, [](const auto& v) { return relu(v); }, map_of([](double v) { return std::max(v, 0.); }));
      case 1:
        return add(
            "tanh", a, [](const auto& v) { return tanh(v); }, map_of([](double v) { return std::tanh(v); }));
      case 2:
        return add(
            "sigmoid", a, [](const auto& v) { return sigmoid(v); },
            map_of([](double v) { return 1 / (1 + std::exp(-v)); }));
      case 3:
        return add(
            "abs", a, [](const auto& v) { return abs(v); }, map_of([](double v) { return std::abs(v); }));
      case 4:
        return add(
            "exp(-v v)", a, [](const auto& v) { return exp(-v * v); },
            map_of([](double v) { return std::exp(-v * v); }));
      case 5:
        return add(
            "log(v v + 1) / 2", a, [](const auto& v) { return log(v * v + 1.f) / 2.f; },
            map_of([](double v) { return std::log(v * v + 1) / 2; }));
      case 6:
        return add(
            "clamp(v, -0.5, 1)", a, [](const auto& v) { return clamp(v, -0.5f, 1.f); },
            map_of([](double v) { return std::min(std::max(v, -0.5), 1.); }));
      case 7:
        return add(
            "where(v > 0, v, v / 4)", a, [](const auto& v) { return where(v > 0.f, v, v / 4.f); },
            map_of([](double v) { return v > 0 ? v : v / 4; }));
      case 8:
        return add(
            "sqrt(v v + 1) by way of double", a,
            [](const auto& v) {
              return sqrt(v.template as<double>() * v.template as<double>() + 1.).template as<float>();
            },
            map_of([](double v) { return std::sqrt(v * v + 1); }));
      case 9:
        return add(
            "mish", a, [](const auto& v) { return mish(v); },
            map_of([](double v) { return v * std::tanh(std::log1p(std::exp(v))); }));
      case 10:
        return add(
            "elu", a, [](const auto& v) { return elu(v, 0.5f); },
            map_of([](double v) { return v > 0 ? v : std::expm1(v) / 2; }));
      case 11:
        return add(
            "hardswish", a, [](const auto& v) { return hardswish(v); },
            map_of([](double v) { return v * std::min(std::max(v + 3, 0.), 6.) / 6; }));
      case 12:
        return add(
            "prelu", a, [](const auto& v) { return prelu(v, full({1}, 0.25f)); },
            map_of([](double v) { return v > 0 ? v : v / 4; }));
      default:
        return add(
            "gelu", a, [](const auto& v) { return gelu(v); },
            map_of([](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.))); }));
    }
  }
  template <class F>
  static std::function<Naive(const Naive&)> map_of(F f) {
    return [f](const Naive& v) { return mapped(v, f); };
  }

  void add_pair(int a) {
    const int b = partner_of(a);
    if (b < 0) return;
    const auto pair_of = [](auto f) { return [f](const Naive& u, const Naive& v) { return mapped(u, v, f); }; };
    switch (below(9)) {
      case 0:
        return add(
            "u / 2 + v", a, b, [](const auto& u, const auto& v) { return u / 2.f + v; },
            pair_of([](double u, double v) { return u / 2 + v; }));
      case 1:
        return add(
            "u - v / 2", a, b, [](const auto& u, const auto& v) { return u - v / 2.f; },
            pair_of([](double u, double v) { return u - v / 2; }));
      case 2:
        return add(
            "tanh(u v)", a, b, [](const auto& u, const auto& v) { return tanh(u * v); },
            pair_of([](double u, double v) { return std::tanh(u * v); }));
      case 3:
        return add(
            "u / (v v + 1)", a, b, [](const auto& u, const auto& v) { return u / (v * v + 1.f); },
            pair_of([](double u, double v) { return u / (v * v + 1); }));
      case 4:
        return add(
            "max(u, v)", a, b, [](const auto& u, const auto& v) { return max(u, v); },
            pair_of([](double u, double v) { return std::max(u, v); }));
      case 5:
        return add(
            "min(u, v)", a, b, [](const auto& u, const auto& v) { return min(u, v); },
            pair_of([](double u, double v) { return std::min(u, v); }));
      case 6:
        return add(
            "h = u / 4 + v / 4, h h + relu(h)", a, b,
            [](const auto& u, const auto& v) {
              const auto h = u / 4.f + v / 4.f;
              return h * h + relu(h);
            },
            pair_of([](double u, double v) {
              const double h = u / 4 + v / 4;
              return h * h + std::max(h, 0.);
            }));
      case 7:
        return add(
            "checkpoint of h = tanh(u v), h h + u / 2", a, b,
            [](const auto& u, const auto& v) {
              const auto f = [v](const auto& x) {
                const auto h = tanh(x * v);
                return h * h + x / 2.f;
              };
              return checkpoint(f, u);
            },
            pair_of([](double u, double v) { return std::tanh(u * v) * std::tanh(u * v) + u / 2; }));
      default:
        return add(
            "fuse(sigmoid(u) v + u)", a, b,
            [](const auto& u, const auto& v) {
              return fuse([](auto s, auto t) { return sigmoid(s) * t + s / 2.f; }, u, v);
            },
            pair_of([](double u, double v) { return v / (1 + std::exp(-u)) + u / 2; }));
    }
  }

  void add_view(int a) {
    const Shape shape = shape_of(a);
    const int rank = shape.rank();
    const std::int64_t kind = below(rank == 0 ? 2 : 9);
    if (kind == 0) {
      if (rank > 5) return;
      const int dim = static_cast<int>(below(rank + 1));
      Shape wanted = shape;
      wanted.insert(dim, 1);
      return add(
          join("unsqueeze ", dim), a, [=](const auto& v) { return unsqueeze(v, dim); },
          [=](const Naive& v) { return reshaped(v, wanted); });
    }
    if (kind == 1) {
      Shape wanted = shape;
      for (auto& extent : wanted)
        if (extent == 1) extent = 1 + below(3);
      if (rank < 5) wanted.insert(0, 1 + below(3));
      if (elements(wanted) > most_elements) return;
      return add(
          join("expand to ", wanted), a, [=](const auto& v) { return expand(v, wanted); },
          [=](const Naive& v) { return repeated(v, wanted); });
    }
    const int dim = static_cast<int>(below(rank)), other = static_cast<int>(below(rank));
    const auto at_dim = static_cast<std::size_t>(dim), at_other = static_cast<std::size_t>(other);
    const std::int64_t extent = shape[dim];
    Shape wanted = shape;
    switch (kind) {
      case 2: {
        const std::int64_t start = below(extent + 1), end = rarely() ? start : start + below(extent - start + 1),
                           step = 1 + below(3);
        if (start == end && !rarely()) return;
        wanted[dim] = (end - start + step - 1) / step;
        return add(
            join("slice ", dim, " from ", start, " to ", end, " by ", step), a,
            [=](const auto& v) { return slice(v, dim, start, end, step); },
            [=](const Naive& v) {
              return picked(v, wanted, [=](Index& at) { at[at_dim] = start + at[at_dim] * step; });
            });
      }
      case 3: {
        if (extent == 0) return;
        const std::int64_t index = below(extent);
        wanted.erase(dim);
        return add(
            join("select ", dim, " at ", index), a, [=](const auto& v) { return select(v, dim, index - extent); },
            [=](const Naive& v) {
              return picked(v, wanted, [=](Index& at) {
                for (std::size_t d = max_rank - 1; d > at_dim; --d) at[d] = at[d - 1];
                at[at_dim] = index;
              });
            });
      }
      case 4:
        std::swap(wanted[dim], wanted[other]);
        return add(
            join("transpose ", dim, " ", other), a, [=](const auto& v) { return transpose(v, dim, other); },
            [=](const Naive& v) { return picked(v, wanted, [=](Index& at) { std::swap(at[at_dim], at[at_other]); }); });
      case 5: {
        wanted = {elements(shape)};
        if (below(2) == 0 && wanted[0] % 2 == 0) wanted = {2, wanted[0] / 2};
        return add(
            join("reshape to ", wanted), a, [=](const auto& v) { return reshape(v, wanted); },
            [=](const Naive& v) { return reshaped(v, wanted); });
      }
      case 6: {
        Axes order;
        for (int d = 0; d < rank; ++d) order.push_back((d + dim) % rank);
        for (int d = 0; d < rank; ++d) wanted[d] = shape[static_cast<int>(order[d])];
        return add(
            join("permute ", order), a, [=](const auto& v) { return permute(v, order); },
            [=](const Naive& v) {
              return picked(v, wanted, [=](Index& at) {
                Index from{};
                for (int d = 0; d < rank; ++d)
                  from[static_cast<std::size_t>(order[d])] = at[static_cast<std::size_t>(d)];
                at = from;
              });
            });
      }
      case 8: {
        if (extent == 0 || rank > 4) return;
        const std::int64_t size = 1 + below(std::min(extent, std::int64_t{3})), step = 1 + below(2);
        wanted[dim] = (extent - size) / step + 1;
        wanted.push_back(size);
        if (elements(wanted) > most_elements) return;
        return add(
            join("unfold ", dim, " of ", size, " by ", step), a,
            [=](const auto& v) { return unfold(v, dim, size, step); },
            [=](const Naive& v) {
              return picked(v, wanted,
                            [=](Index& at) { at[at_dim] = at[at_dim] * step + at[static_cast<std::size_t>(rank)]; });
            });
      }
      default: {
        const int first = std::min(dim, other), last = std::max(dim, other);
        wanted = {};
        for (int d = 0; d < rank; ++d) {
          if (d > first && d <= last) wanted[wanted.rank() - 1] *= shape[d];
          else wanted.push_back(shape[d]);
        }
        return add(
            join("flatten ", first, " to ", last), a, [=](const auto& v) { return flatten(v, first, last); },
            [=](const Naive& v) { return reshaped(v, wanted); });
      }
    }
  }

  void add_fold(int a) {
    const Shape shape = shape_of(a);
    Axes axes;
    for (int d = 0; d < shape.rank(); ++d)
      if (below(2) == 0) axes.push_back(d);
    if (axes.empty())
      for (int d = 0; d < shape.rank(); ++d) axes.push_back(d);
    const bool keepdim = below(2) == 0;
    double count = 1;
    for (const auto axis : axes) count *= static_cast<double>(shape[static_cast<int>(axis)]);
    const auto folding = [=](auto f) {
      return [=](const Naive& v) {
        Shape kept, squeezed;
        for (int d = 0; d < v.shape.rank(); ++d) {
          const bool folds = std::find(axes.begin(), axes.end(), d) != axes.end();
          kept.push_back(folds ? 1 : v.shape[d]);
          if (!folds) squeezed.push_back(v.shape[d]);
        }
        Naive y(kept);
        std::vector<std::vector<double>> parts(y.x.size());
        Naive all = v;
        all.for_each([&](Index at, const double& element) {
          for (const auto axis : axes) at[static_cast<std::size_t>(axis)] = 0;
          parts[y.place(at)].push_back(element);
        });
        for (std::size_t i = 0; i < y.x.size(); ++i) y.x[i] = f(parts[i]);
        return reshaped(y, keepdim ? kept : squeezed);
      };
    };
    const std::string where = join(" over ", axes, keepdim ? ", kept" : "");
    const auto share = static_cast<float>(1 / count);
    switch (below(6)) {
      case 0:
        return add(
            "sum(v share)" + where, a, [=](const auto& v) { return sum(v * share, axes, keepdim); },
            folding([=](const auto& line) { return sum_of(line) / count; }));
      case 1:
        return add(
            "mean" + where, a, [=](const auto& v) { return mean(v, axes, keepdim); },
            folding([=](const auto& line) { return sum_of(line) / count; }));
      case 2:
        return add(
            "max" + where, a, [=](const auto& v) { return max(v, axes, keepdim); },
            folding([](const auto& line) { return *std::max_element(line.begin(), line.end()); }));
      case 3:
        return add(
            "min" + where, a, [=](const auto& v) { return min(v, axes, keepdim); },
            folding([](const auto& line) { return *std::min_element(line.begin(), line.end()); }));
      case 4:
        return add(
            "var, of the whole" + where, a,
            [=](const auto& v) { return var(v, axes, {.correction = 0, .keepdim = keepdim}); },
            folding([=](const auto& line) {
              double squares = 0;
              for (const double v : line) squares += (v - sum_of(line) / count) * (v - sum_of(line) / count);
              return squares / count;
            }));
      default:
        return add(
            "norm / count" + where, a,
            [=](const auto& v) { return (norm(v, 1, axes, keepdim) + norm(v, 3, axes, keepdim)) * share; },
            folding([=](const auto& line) {
              double magnitudes = 0, cubes = 0;
              for (const double v : line) magnitudes += std::abs(v), cubes += std::abs(v * v * v);
              return (magnitudes + std::cbrt(cubes)) / count;
            }));
    }
  }

  /// (b, c, h, w) -> (b, c, 3, 4), between four neighbours
  void add_resized(int a) {
    const auto near = [](std::int64_t o, std::int64_t extent, std::int64_t outputs) {
      const auto step = static_cast<double>(extent) / static_cast<double>(outputs);
      const double at = std::max(0., (static_cast<double>(o) + 0.5) * step - 0.5);
      const auto first = static_cast<std::int64_t>(at);
      return std::tuple(first, std::min(first + 1, extent - 1), at - static_cast<double>(first));
    };
    add(
        "interpolate to (3, 4)", a,
        [](const auto& v) {
          return interpolate(v, {.size = {3, 4}, .mode = InterpolateMode::bilinear});
        },
        [=](const Naive& v) {
          Naive y({v.shape[0], v.shape[1], 3, 4});
          y.for_each([&](Index at, double& element) {
            const auto [top, bottom, down] = near(at[2], v.shape[2], 3);
            const auto [left, right, along] = near(at[3], v.shape[3], 4);
            const auto pixel = [&](std::int64_t row, std::int64_t column) {
              at[2] = row, at[3] = column;
              return v.x[v.place(at)];
            };
            element = (1 - down) * ((1 - along) * pixel(top, left) + along * pixel(top, right)) +
                      down * ((1 - along) * pixel(bottom, left) + along * pixel(bottom, right));
          });
          return y;
        });
  }

  /// Attention with the rows as queries, keys and values, causal or not.
  void add_attention(int a) {
    const bool is_causal = below(2) == 0;
    const double scale = 1 / static_cast<double>(shape_of(a)[1]);
    add(
        is_causal ? "causal attention" : "attention", a,
        [=](const auto& v) { return scaled_dot_product_attention(v, v, v, {.is_causal = is_causal, .scale = scale}); },
        [=](const Naive& v) {
          const auto rows = static_cast<std::size_t>(v.shape[0]), width = static_cast<std::size_t>(v.shape[1]);
          Naive y = v;
          for (std::size_t i = 0; i < rows; ++i) {
            std::vector<double> weights(is_causal ? i + 1 : rows);
            for (std::size_t j = 0; j < weights.size(); ++j)
              for (std::size_t c = 0; c < width; ++c) weights[j] += scale * v.x[i * width + c] * v.x[j * width + c];
            const double top = *std::max_element(weights.begin(), weights.end());
            for (double& weight : weights) weight = std::exp(weight - top);
            const double total = sum_of(weights);
            for (std::size_t c = 0; c < width; ++c) {
              y.x[i * width + c] = 0;
              for (std::size_t j = 0; j < weights.size(); ++j)
                y.x[i * width + c] += weights[j] / total * v.x[j * width + c];
            }
          }
          return y;
        });
  }

  void add_line(int a) {
    const Shape shape = shape_of(a);
    if (shape.empty()) return;
    const int axis = static_cast<int>(below(shape.rank())), last = shape.rank() - 1;
    const auto on = [](int along_axis, auto f) {
      return [=](const Naive& v) {
        return along(v, along_axis, [&](std::vector<double> line) {
          f(line);
          return line;
        });
      };
    };
    const auto log_sum = [](const std::vector<double>& line) {
      const double top = *std::max_element(line.begin(), line.end());
      double sum = 0;
      for (const double v : line) sum += std::exp(v - top);
      return top + std::log(sum);
    };
    const auto normalize = [](std::vector<double>& line) {
      const auto n = static_cast<double>(line.size());
      const double mean = sum_of(line) / n;
      double squares = 0;
      for (const double v : line) squares += (v - mean) * (v - mean) / n;
      for (double& v : line) v = (v - mean) / std::sqrt(squares + 0.5);
    };
    const std::string where = join(" along ", axis);
    if (shape.rank() == 2 && shape[0] > 0 && shape[1] > 0 && below(20) == 0) return add_attention(a);
    switch (below(10)) {
      case 0:
        return add(
            "softmax" + where, a, [=](const auto& v) { return softmax(v, axis); }, on(axis, [=](auto& line) {
              const double total = log_sum(line);
              for (double& v : line) v = std::exp(v - total);
            }));
      case 1:
        return add(
            "log_softmax" + where, a, [=](const auto& v) { return log_softmax(v, axis); }, on(axis, [=](auto& line) {
              const double total = log_sum(line);
              for (double& v : line) v -= total;
            }));
      case 2:
        return add(
            "logsumexp, kept," + where, a, [=](const auto& v) { return logsumexp(v, axis, true); },
            on(axis, [=](auto& line) { line = {log_sum(line)}; }));
      case 3:
        return add(
            "cumsum / length" + where, a,
            [=](const auto& v) { return cumsum(v, axis) / static_cast<float>(shape[axis]); }, on(axis, [](auto& line) {
              double sum = 0;
              for (double& v : line) v = (sum += v) / static_cast<double>(line.size());
            }));
      case 4:
        if (shape.rank() == 2 && shape[0] > 1 && below(2) == 0) {
          return add(
              "batch_norm", a,
              [](const auto& v) { return batch_norm(v, RunningStatistics<float, Cpu>{}, {.eps = 0.5}); },
              on(0, normalize));
        }
        if (shape.rank() == 2 && below(2) == 0) {
          return add(
              "group_norm", a, [](const auto& v) { return group_norm(v, 1, 0.5); }, on(1, normalize));
        }
        if (shape.rank() == 4 && below(2) == 0 && shape[0] * shape[1] * 12 <= most_elements) return add_resized(a);
        return add(
            "layer_norm", a, [=](const auto& v) { return layer_norm(v, {shape[last]}, 0.5); }, on(last, normalize));
      case 5:
        return add(
            "rms_norm", a, [=](const auto& v) { return rms_norm(v, {shape[last]}, 0.5); }, on(last, [](auto& line) {
              double squares = 0;
              for (const double v : line) squares += v * v / static_cast<double>(line.size());
              for (double& v : line) v /= std::sqrt(squares + 0.5);
            }));
      case 6: {
        const std::int64_t count = 1 + below(4);
        std::vector<std::int64_t> names;
        for (std::int64_t i = 0; i < count; ++i) names.push_back(below(shape[axis]));
        Tensor<std::int64_t> indices({count});
        std::copy(names.begin(), names.end(), indices.data());
        return add(
            join("index_select of ", count, where), a, [=](const auto& v) { return index_select(v, axis, indices); },
            on(axis, [=](auto& line) {
              std::vector<double> chosen;
              for (const auto name : names) chosen.push_back(line[static_cast<std::size_t>(name)]);
              line = chosen;
            }));
      }
      case 7: {
        const std::int64_t n = shape[last], before = below(3) - 1, after = below(3) - 1;
        const auto mode = n > 1 ? PadMode(below(4)) : PadMode::replicate;
        if (n + before + after < 1 || n < 1 || n * 3 > most_elements) return;
        return add(
            join("pad by ", before, " and ", after, " in mode ", static_cast<int>(mode)), a,
            [=](const auto& v) {
              return pad(v, {before, after}, mode, 0.25f);
            },
            on(last, [=](auto& line) {
              std::vector<double> made;
              const std::int64_t first = std::max(-before, std::int64_t{0});  // first element that is not cropped
              const std::int64_t left = n - first - std::max(-after, std::int64_t{0});
              for (std::int64_t i = -before; i < n + after; ++i) {
                const std::int64_t wrapped[] = {i,
                                                i < 0   ? -i
                                                : i < n ? i
                                                        : 2 * (n - 1) - i,
                                                std::min(std::max(i, std::int64_t{0}), n - 1),
                                                left > 0 ? first + (i - first + left) % left : 0};
                const bool border = mode == PadMode::constant && (i < 0 || i >= n);
                made.push_back(border ? 0.25 : line[static_cast<std::size_t>(wrapped[static_cast<int>(mode)])]);
              }
              line = made;
            }));
      }
      case 8: {
        if (shape.rank() < 2 || shape.rank() > 3 || shape[last] < 1) return;
        const std::int64_t n = shape[last], size = 1 + below(std::min(n, std::int64_t{4})), step = 1 + below(3);
        return add(
            join("avg_pool1d of ", size, " by ", step), a, [=](const auto& v) { return avg_pool1d(v, size, step); },
            on(last, [=](auto& line) {
              std::vector<double> made;
              for (std::int64_t i = 0; i + size <= n; i += step)
                made.push_back(sum_of({line.begin() + i, line.begin() + i + size}) / static_cast<double>(size));
              line = made;
            }));
      }
      default: {
        std::vector<double> ordered = naive_[static_cast<std::size_t>(a)].x;
        std::sort(ordered.begin(), ordered.end());
        // Each tie is a kink, and the jumps of several may cancel in derivative_along's test.
        if (std::adjacent_find(ordered.begin(), ordered.end()) != ordered.end()) {
          return add(
              "flip" + where, a, [=](const auto& v) { return flip(v, axis); },
              on(axis, [](auto& line) { std::reverse(line.begin(), line.end()); }));
        }
        return add(
            "sort" + where, a, [=](const auto& v) { return sort(v, axis).values; },
            on(axis, [](auto& line) { std::sort(line.begin(), line.end()); }));
      }
    }
  }

  void add_product_or_join(int a) {
    const Shape shape = shape_of(a);
    const int rank = shape.rank();
    if (rank == 0) return add_map(a);
    const int b = static_cast<int>(below(static_cast<std::int64_t>(naive_.size())));
    if (rank >= 2 && below(2) == 0) {  // with its own transpose, which always fits
      Shape wanted = shape;
      wanted[-1] = shape[-2];
      if (elements(wanted) > most_elements) return;
      const double depth = static_cast<double>(shape[-1]);
      const auto share = static_cast<float>(1 / depth);
      return add(
          "matmul(v, v.transpose()) / depth", a, [=](const auto& v) { return matmul(v, v.transpose()) * share; },
          [=](const Naive& v) {
            Naive y(wanted);
            y.for_each([&](Index at, double& element) {
              Index left = at, right = at;
              const auto row = static_cast<std::size_t>(rank - 2), col = static_cast<std::size_t>(rank - 1);
              right[row] = at[col];
              for (std::int64_t k = 0; k < v.shape[-1]; ++k) {
                left[col] = right[col] = k;
                element += v.x[v.place(left)] * v.x[v.place(right)] / depth;
              }
            });
            return y;
          });
    }
    const int axis = static_cast<int>(below(rank));
    const auto on_axis = static_cast<std::size_t>(axis);
    Shape other = shape_of(b);
    bool fits = other.rank() == rank && elements(other) > 0;
    for (int d = 0; fits && d < rank; ++d) fits = d == axis || other[d] == shape[d];
    const int second = fits ? b : a;
    return add(
        join("concat along ", axis), a, second, [=](const auto& u, const auto& v) { return concat(axis, u, v); },
        [=](const Naive& u, const Naive& v) {
          Shape wanted = u.shape;
          wanted[axis] += v.shape[axis];
          Naive y(wanted);
          y.for_each([&](Index at, double& element) {
            const bool first = at[on_axis] < u.shape[axis];
            if (!first) at[on_axis] -= u.shape[axis];
            element = first ? u.x[u.place(at)] : v.x[v.place(at)];
          });
          return y;
        });
  }

  /// A copy that is updated in place, also by an overlapping view of itself. The result is a constant, as a traced
  /// tensor cannot be changed.
  void add_update(int a) {
    const Naive& from = naive_[static_cast<std::size_t>(a)];
    const int rank = from.shape.rank();
    if (rank == 0) return;
    const int dim = static_cast<int>(below(rank));
    const auto at_dim = static_cast<std::size_t>(dim);
    const std::int64_t extent = from.shape[dim], start = below(extent);
    const Tensor<float> y = plain_[static_cast<std::size_t>(a)].clone();
    const Tensor<float> part = y.slice(dim, start), before = y.slice(dim, 0, extent - start);
    const auto in_part = [=](const Index& at) { return at[at_dim] >= start; };
    Naive expected = from;
    std::string text;
    const auto change = [&](const char* name, auto f) {
      text = join(name, " from ", start, " of dimension ", dim, " of a copy");
      expected.for_each([&](const Index& at, double& element) {
        Index source = at;
        source[at_dim] -= start;
        if (in_part(at)) element = f(from.x[from.place(at)], from.x[from.place(source)]);
      });
    };
    switch (below(4)) {
      case 0:
        (void)part.copy_(before);
        change("copy_ of what is before,", [](double, double other) { return other; });
        break;
      case 1:
        part += before;
        change("+= of what is before,", [](double own, double other) { return own + other; });
        break;
      case 2:
        (void)part.fill_(0.25f);
        change("fill_", [](double, double) { return 0.25; });
        break;
      default:
        (void)part.copy_(tanh(before * part));
        change("copy_ of tanh(v * what is before),", [](double own, double other) { return std::tanh(own * other); });
    }
    run(
        join(text, " v", a),
        [&](auto& result, const auto&) {
          if constexpr (std::is_same_v<std::remove_reference_t<decltype(result)>, Tensor<float>>) result = y;
          else result = trace(y);
        },
        [expected](const Values&) { return expected; });
  }

  /// The sum of the means of all results, with the inputs moved along a direction.
  [[nodiscard]] double loss_at(const std::vector<Naive>& direction, double distance) const {
    Values values(naive_.begin(), naive_.begin() + inputs_);
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t k = 0; k < values[i].x.size(); ++k) values[i].x[k] += distance * direction[i].x[k];
    double loss = 0;
    for (const Step& step : steps_) {
      values.push_back(step(values));
      for (const double v : values.back().x) loss += v / static_cast<double>(values.back().x.size());
    }
    return loss;
  }

  /// The derivative of loss_at along a direction by differences; none at a kink of more than `allowed`.
  [[nodiscard]] std::optional<double> derivative_along(const std::vector<Naive>& direction, double allowed) const {
    constexpr double h = 1e-5;  // far above the rounding of float
    const double here = loss_at(direction, 0), up = (loss_at(direction, h) - here) / h,
                 down = (here - loss_at(direction, -h)) / h;
    if (!(std::abs(up - down) <= allowed)) return std::nullopt;
    return (up + down) / 2;
  }

  /// The gradients that backward() gives the inputs; zeros if it gives none.
  [[nodiscard]] std::vector<Naive> gradients() {
    std::vector<Naive> result;
    Traced<float> loss = sum(traced_[0] * 0.f);
    for (auto i = static_cast<std::size_t>(inputs_); i < traced_.size(); ++i)
      if (!naive_[i].x.empty()) loss = Traced<float>(loss + mean(traced_[i]));
    loss.backward();
    for (std::size_t i = 0; i < static_cast<std::size_t>(inputs_); ++i) {
      result.emplace_back(naive_[i].shape);
      if (!traced_[i].node()->has_gradient()) continue;
      const Tensor<float> gradient = traced_[i].grad().contiguous();
      std::copy_n(gradient.data(), result.back().x.size(), result.back().x.begin());
    }
    return result;
  }

  /// Checks the gradients along a direction, and of single elements.
  void check_gradients() {
    std::vector<Naive> direction, found;
    for (std::ptrdiff_t i = 0; i < inputs_; ++i) direction.push_back(naive_[static_cast<std::size_t>(i)]);
    for (Naive& of_input : direction)
      for (double& v : of_input.x) v = number();
    try {
      found = gradients();
    } catch (const std::exception& error) {
      wrong_ = join("backward threw: ", error.what());
      return;
    }
    double along_direction = 0, magnitude = 1;
    for (std::size_t i = 0; i < found.size(); ++i)
      for (std::size_t k = 0; k < found[i].x.size(); ++k) {
        along_direction += found[i].x[k] * direction[i].x[k];
        magnitude += std::abs(found[i].x[k] * direction[i].x[k]);
      }
    const double allowed = 1e-4 * magnitude;
    if (const auto derivative = derivative_along(direction, allowed)) {
      ++checked_gradients_;
      if (!(std::abs(along_direction - *derivative) <= allowed))
        wrong_ = join("the gradient along a direction is ", along_direction, "; differences give ", *derivative);
    }
    for (int i = 0; i < 3; ++i) check_element(found);
  }

  /// Compares one element of the gradients with finite differences.
  void check_element(const std::vector<Naive>& found) {
    const auto input = static_cast<std::size_t>(below(inputs_));
    const std::vector<double>& gradient = found[input].x;
    if (gradient.empty()) return;
    const auto element = static_cast<std::size_t>(below(static_cast<std::int64_t>(gradient.size())));
    std::vector<Naive> direction;
    for (const Naive& each : found) direction.emplace_back(each.shape);
    direction[input].x[element] = 1;
    double largest = 0;
    for (const double v : gradient) largest = std::max(largest, std::abs(v));
    const double allowed = 1e-4 * largest + 1e-6;
    const auto derivative = derivative_along(direction, allowed);
    if (!derivative || std::abs(gradient[element] - *derivative) <= allowed) return;
    wrong_ = join("the gradient of input ", input, " at element ", element, " is ", gradient[element],
                  "; differences give ", *derivative);
  }

  static constexpr std::int64_t most_elements = 6000;

  std::uint64_t seed_;
  Philox random_;
  std::string text_, wrong_;
  std::vector<Tensor<float>> plain_;
  std::vector<Traced<float>> traced_;
  Values naive_;  ///< inputs, then the results of steps
  std::vector<Step> steps_;
  std::ptrdiff_t inputs_ = 0;
  double largest_ = 0;  ///< of all values so far: small values may be differences of large ones
  int checked_gradients_ = 0;
};

}  // namespace

TEST_CASE("random programs compute what a naive reference does, and so do their gradients") {
  const int threads = cpu::max_threads();
  const std::uint64_t first = fuzz_seed(1);
  const std::int64_t count = fuzz_count(is_sanitized ? 2000 : 40'000);
  std::int64_t gradients = 0, failures = 0;
  for (std::int64_t i = 0; i < count && failures < 5; ++i) {
    const Program program(first + static_cast<std::uint64_t>(i));
    const std::string problem = program.problem();
    CHECK_MESSAGE(problem.empty(), problem);
    failures += !problem.empty();
    gradients += program.checked_gradients();
  }
  cpu::set_max_threads(threads);
  if (count >= 100) CHECK(gradients > count / 2);
}
