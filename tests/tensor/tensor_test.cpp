// Runs on: host, cuda (tensors).
#include <locus/core/rng.hpp>
#include <locus/tensor/copy.hpp>
#include <locus/tensor/factory.hpp>

#include <algorithm>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// 0, 1, 2, ... in a shape: every element is its own number.
template <class D>
Tensor<std::int32_t, D> numbered(const Shape& shape) {
  return arange<std::int32_t, D>(elements(shape)).reshape(shape);
}

/// The elements of Python's range(n)[start:end:step].
std::vector<double> python_slice(std::int64_t n, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  const auto clamped = [=](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + n : at, low, high); };
  std::vector<double> result;
  for (auto i = clamped(start); step < 0 ? i > clamped(end) : i < clamped(end); i += step)
    result.push_back(static_cast<double>(i));
  return result;
}

/// Mirrors random views of a tensor on a list of its elements in row-major order.
struct Walk {
  Shape shape;
  std::vector<double> values;

  /// New element i is old element f(position of i).
  template <class F>
  void gather(const Shape& target, const F& f) {
    std::vector<double> result;
    for (std::int64_t i = 0; i < elements(target); ++i) {
      Dims at = target;
      std::int64_t rest = i;
      for (int d = target.rank() - 1; d >= 0; --d) {
        at[d] = rest % target[d];
        rest /= target[d];
      }
      const Dims from = f(at);
      std::int64_t index = 0;
      for (int d = 0; d < shape.rank(); ++d) index = index * shape[d] + from[d];
      result.push_back(values[static_cast<std::size_t>(index)]);
    }
    shape = target;
    values = result;
  }
};

template <class X>
X random_step(const X& x, Walk& walk, Philox& random) {
  const auto below = [&](std::int64_t n) { return random.bounded(n); };
  const int rank = x.rank();
  const int d = rank ? static_cast<int>(below(rank)) : 0;
  const Shape old = walk.shape;
  switch (rank ? below(7) : 6) {
    case 0: {
      if (old[d] == 0) return x;
      const auto start = below(old[d]), step = 1 + below(2);
      Shape target = old;
      target[d] = (old[d] - start + step - 1) / step;
      walk.gather(target, [&](Dims at) {
        at[d] = start + at[d] * step;
        return at;
      });
      return x.slice(d, start, to_end, step);
    }
    case 1: {
      if (rank < 3 || old[d] == 0) return x;
      const auto index = below(old[d]);
      Shape target = old;
      target.erase(d);
      walk.gather(target, [&](Dims at) {
        at.insert(d, index);
        return at;
      });
      return x.select(d, index);
    }
    case 2: {
      const int e = static_cast<int>(below(rank));
      Shape target = old;
      std::swap(target[d], target[e]);
      walk.gather(target, [&](Dims at) {
        std::swap(at[d], at[e]);
        return at;
      });
      return x.transpose(d, e);
    }
    case 3: {
      if (rank >= 5) return x;
      walk.shape.insert(d, 1);
      return x.unsqueeze(d);
    }
    case 4: {
      if (old[d] != 1) return x.squeeze(d);
      Shape target = old;
      target[d] = 1 + below(3);
      walk.gather(target, [&](Dims at) {
        at[d] = 0;
        return at;
      });
      return x.expand(target);
    }
    case 5: {
      Axes order;
      for (int i = 0; i < rank; ++i) order.insert(static_cast<int>(below(i + 1)), i);
      Shape target = old;
      for (int i = 0; i < rank; ++i) target[i] = old[static_cast<int>(order[i])];
      walk.gather(target, [&](const Dims& at) {
        Dims from = at;
        for (int i = 0; i < at.rank(); ++i) from[static_cast<int>(order[i])] = at[i];
        return from;
      });
      return x.permute(order);
    }
    default: {
      const Shape target = below(2)          ? Shape{elements(old)}
                           : old.rank() >= 2 ? Shape{old[0], elements(old) / std::max<std::int64_t>(1, old[0])}
                                             : Shape{1, elements(old)};
      if (elements(target) != elements(old)) return x;
      walk.shape = target;
      return x.reshape(target);
    }
  }
}

}  // namespace

LOCUS_DEVICE_TEST("a tensor knows its shape, strides and device", D) {
  const Tensor<float, D> x({2, 3, 4});
  CHECK(x.shape() == Shape{2, 3, 4});
  CHECK(x.strides() == Strides{12, 4, 1});
  CHECK(x.rank() == 3);
  CHECK(x.size(-1) == 4);
  CHECK(x.elements() == 24);
  CHECK(x.is_contiguous());
  CHECK_FALSE(x.empty());
  CHECK(x.device() == D{});
  CHECK_THROWS_AS((void)x.size(3), IndexError);
  const Tensor<float, D> nothing;
  CHECK(nothing.shape() == Shape{0});
  CHECK(nothing.empty());
  CHECK(nothing.is_contiguous());
  CHECK((Tensor<float, D>(Shape{}).elements() == 1));
  CHECK_THROWS_AS((Tensor<float, D>({2, -1})), ShapeError);
}

LOCUS_DEVICE_TEST("copying a tensor copies the handle", D) {
  const auto x = numbered<D>({4});
  auto same = x;
  same.fill_(7);
  CHECK_CLOSE(x, {7, 7, 7, 7});
  same = numbered<D>({2});
  CHECK_CLOSE(x, {7, 7, 7, 7});
  const auto moved = std::move(same);
  CHECK_CLOSE(moved, {0, 1});
}

LOCUS_DEVICE_TEST("a view keeps the memory of what it shows", D) {
  Tensor<std::int32_t, D> view;
  const auto held = counting_bytes.load();
  {
    const auto x = numbered<D>({3, 3});
    view = x.select(0, 1);
  }
  CHECK_CLOSE(view, {3, 4, 5});
  view = {};
  CHECK(counting_bytes == held);
}

TEST_CASE("elements are read and written by index") {
  const auto x = numbered<Cpu>({2, 3});
  CHECK(x(1, 2) == 5);
  CHECK(x(-1, -3) == 3);
  x(0, 0) = 9;
  CHECK(x.transpose()(0, 0) == 9);
  CHECK(x.select(0, 1)(1) == 4);
  CHECK_THROWS_AS((void)x(2, 0), IndexError);
  CHECK_THROWS_AS((void)x(0, -4), IndexError);
  CHECK_THROWS_AS((void)x(0), IndexError);
  CHECK_THROWS_AS((void)x(0, 0, 0), IndexError);
  CHECK(full<int>({}, 3)() == 3);
}

LOCUS_DEVICE_TEST("item is the only element", D) {
  CHECK((full<double, D>({}, 2.5).item() == 2.5));
  CHECK((full<float, D>({1, 1}, 3).item() == 3));
  CHECK(numbered<D>({2, 3}).select(0, 1).select(0, 2).item() == 5);
  CHECK(numbered<D>({4}).slice(0, 2, 3).item() == 2);
  CHECK_THROWS_AS((void)numbered<D>({2}).item(), ShapeError);
  CHECK_THROWS_AS((void)(Tensor<float, D>().item()), ShapeError);
}

TEST_CASE("slice means what Python's does") {
  int wrong = 0;
  for (std::int64_t n : {0, 1, 5})
    for (std::int64_t start = -7; start <= 7; ++start)
      for (std::int64_t end = -7; end <= 7; ++end)
        for (std::int64_t step = -3; step <= 3; ++step)
          wrong += step != 0 &&
                   reference(numbered<Cpu>({n}).slice(0, start, end, step)).values != python_slice(n, start, end, step);
  CHECK(wrong == 0);
  const auto x = numbered<Cpu>({5});
  CHECK_CLOSE(x.slice(0, 1), {1, 2, 3, 4});
  CHECK_CLOSE(x.slice(-1, INT64_MIN, INT64_MAX, INT64_MAX), {0});
  CHECK_THROWS_AS((void)x.slice(0, 0, 5, 0), ArgumentError);
  CHECK_CLOSE(x.slice(0, -1, to_end, INT64_MIN), {4});
  CHECK_THROWS_AS((void)x.slice(1, 0), IndexError);
}

LOCUS_DEVICE_TEST("random chains of views show the right elements", D) {
  Philox random(3);
  for (int round = 0; round < 250; ++round) {
    Walk walk{{2 + random.bounded(4), 1 + random.bounded(3), 1 + random.bounded(4)}, {}};
    auto x = numbered<D>(walk.shape);
    walk.values = reference(x).values;
    for (int step = 0; step < 8 && elements(walk.shape) < 500; ++step) {
      x = random_step(x, walk, random);
      const auto problem = difference(x, Reference(walk.shape, walk.values));
      REQUIRE_MESSAGE(problem.empty(), problem);
    }
  }
}

LOCUS_DEVICE_TEST("views share memory and launch nothing", D) {
  const auto x = numbered<D>({2, 3, 4});
  LaunchLog log;
  RequestLog requests;
  for (const auto& view :
       {x.slice(1, 0), x.select(0, 0), x.transpose(), x.permute({2, 0, 1}), x.reshape({4, 6}), x.reshape({2, -1}),
        x.flatten(), x.flatten(1), x.squeeze(), x.unsqueeze(1), x.expand({5, 2, 3, 4}), x.expand({-1, 3, -1})})
    CHECK(view.data() == x.data());
  CHECK(x.slice(2, 0, 2).reshape({6, 2}).data() == x.data());
  CHECK(x.transpose(0, 1).reshape({3, 2, 2, 2}).data() == x.data());
  CHECK(x.select(1, 0).unsqueeze(1).expand({2, 3, 4}).transpose(0, 1).data() == x.data());
  CHECK(log.launches() == 0);
  CHECK(requests.allocations() == 0);
  CHECK(x.transpose(0, 1).reshape({24}).data() != x.data());
  CHECK(log.launches() == 1);
}

LOCUS_DEVICE_TEST("shapes of views", D) {
  const auto x = numbered<D>({2, 1, 3});
  CHECK(x.squeeze().shape() == Shape{2, 3});
  CHECK(x.squeeze(1).shape() == Shape{2, 3});
  CHECK(x.squeeze(0).shape() == Shape{2, 1, 3});
  CHECK(x.unsqueeze(0).shape() == Shape{1, 2, 1, 3});
  CHECK(x.unsqueeze(-1).shape() == Shape{2, 1, 3, 1});
  CHECK(x.unsqueeze(3).shape() == Shape{2, 1, 3, 1});
  CHECK(x.flatten(0, 1).shape() == Shape{2, 3});
  CHECK(x.flatten(-2).shape() == Shape{2, 3});
  CHECK(x.expand({-1, 4, 3}).shape() == Shape{2, 4, 3});
  CHECK(x.reshape({-1}).shape() == Shape{6});
  CHECK(x.reshape({inferred, 2}).shape() == Shape{3, 2});
  const auto scalar = numbered<D>({});
  CHECK(scalar.flatten().shape() == Shape{1});
  CHECK(scalar.unsqueeze(0).shape() == Shape{1});
  CHECK(scalar.expand({2, 2}).shape() == Shape{2, 2});
  CHECK(scalar.squeeze().shape() == Shape{});
  const auto none = numbered<D>({0, 3});
  CHECK(none.transpose().shape() == Shape{3, 0});
  CHECK(none.reshape({3, 0, 7}).shape() == Shape{3, 0, 7});
  CHECK(none.reshape({-1, 3}).shape() == Shape{0, 3});
  CHECK(none.slice(0, 0).is_contiguous());
  CHECK(none.unsqueeze(0).expand({2, 0, 3}).shape() == Shape{2, 0, 3});
  const std::int64_t big = std::int64_t{1} << 40;
  const auto huge = none.reshape({0, big, big, big});
  CHECK(huge.unsqueeze(0).shape() == Shape{1, 0, big, big, big});
  CHECK(huge.transpose(0, 1).unsqueeze(0).shape() == Shape{1, big, 0, big, big});
  CHECK(huge.flatten(0, 2).shape() == Shape{0, big});
}

LOCUS_DEVICE_TEST("impossible views are refused", D) {
  const auto x = numbered<D>({2, 3});
  CHECK_THROWS_AS((void)x.select(0, 2), IndexError);
  CHECK_THROWS_AS((void)x.select(2, 0), IndexError);
  CHECK_THROWS_AS((void)x.transpose(0, 2), IndexError);
  CHECK_THROWS_AS((void)numbered<D>({3}).transpose(), IndexError);
  CHECK_THROWS_AS((void)x.permute({0}), ShapeError);
  CHECK_THROWS_AS((void)x.permute({0, 0}), ShapeError);
  CHECK_THROWS_AS((void)x.permute({0, 2}), IndexError);
  CHECK_THROWS_WITH_AS((void)x.reshape({4}),
                       doctest::Contains("reshape: shape (2, 3), which has 6 elements, does not fit shape (4,)"),
                       ShapeError);
  CHECK_THROWS_AS((void)x.reshape({-1, -1}), ShapeError);
  CHECK_THROWS_AS((void)x.reshape({-1, 4}), ShapeError);
  CHECK_THROWS_AS((void)x.reshape({-2, 3}), ShapeError);
  CHECK_THROWS_AS((void)numbered<D>({0}).reshape({-1, 0}), ShapeError);
  CHECK_THROWS_AS((void)x.reshape({std::int64_t{1} << 32, std::int64_t{1} << 32, 6}), ShapeError);
  CHECK_THROWS_AS((void)x.reshape({-1, std::int64_t{1} << 32, std::int64_t{1} << 32}), ShapeError);
  CHECK_THROWS_AS((void)x.flatten(1, 0), ArgumentError);
  CHECK_THROWS_AS((void)x.flatten(0, 2), IndexError);
  CHECK_THROWS_AS((void)numbered<D>({}).flatten(1), IndexError);
  CHECK_THROWS_AS((void)numbered<D>({0}).reshape({std::int64_t{1} << 40, std::int64_t{1} << 40, 0}).flatten(0, 1),
                  ShapeError);
  CHECK_THROWS_AS((void)x.squeeze(2), IndexError);
  CHECK_THROWS_AS((void)x.unsqueeze(3), IndexError);
  CHECK_THROWS_AS((void)x.expand({3}), ShapeError);
  CHECK_THROWS_AS((void)x.expand({2, 4}), ShapeError);
  CHECK_THROWS_AS((void)x.expand({-1, 2, 3}), ShapeError);
  CHECK_THROWS_AS((void)x.expand({1, 3}), ShapeError);
}

template <class X>
concept Indexed = requires(X x) { x(0, 0); };

TEST_CASE("what would be a hidden copy, or lost, does not compile") {
  using Here = Tensor<float>;
  using There = Tensor<float, Counting>;
  CHECK_FALSE(std::is_constructible_v<Here, There>);
  CHECK_FALSE(std::is_convertible_v<There, Here>);
  CHECK_FALSE(std::is_assignable_v<Here&, There>);
  CHECK_FALSE(std::is_assignable_v<Here, Here>);
  CHECK_FALSE(std::is_convertible_v<Tensor<double>, Here>);
  CHECK(std::is_assignable_v<Here&, Here>);
  CHECK(std::is_nothrow_move_constructible_v<Here>);
  CHECK(Indexed<Here>);
  CHECK_FALSE(Indexed<There>);
}

LOCUS_DEVICE_TEST("a tensor that was moved away has no elements", D) {
  auto x = ones<float, D>({3, 4});
  const auto y = std::move(x);
  CHECK(x.shape() == Shape{0});
  CHECK(x.data() == nullptr);
  CHECK(y.shape() == Shape{3, 4});
  auto z = ones<float, D>({2});
  z = std::move(const_cast<Tensor<float, D>&>(y));
  CHECK(z.shape() == Shape{3, 4});
  CHECK(y.empty());
}

TEST_CASE("elements of one dimension are iterated, others are taken by rows") {
  const auto x = arange(12).reshape({3, 4});
  float sum = 0;
  for (const float element : x.select(1, 2)) sum += element;
  CHECK(sum == 2 + 6 + 10);
  for (float& element : x.select(0, 0)) element = 0;
  CHECK(x(0, 3) == 0);
  for ([[maybe_unused]] const float element : zeros({0})) CHECK(false);
  CHECK_THROWS_WITH_AS((void)x.begin(), doctest::Contains("select"), ShapeError);
}

TEST_CASE("integers given for bool are whether they are not 0") {
  const auto flags = from<bool>({{1, 0}, {-2, true}});
  CHECK((flags(0, 0) && !flags(0, 1) && flags(1, 0) && flags(1, 1)));
  CHECK(full<bool>({1}, 256).item());
}

TEST_CASE("integers that do not fit are refused rather than wrapped") {
  CHECK_THROWS_WITH_AS((void)full<std::uint8_t>({1}, 300),
                       doctest::Contains("full: 300 is no value of uint8; expected 0 to 255"), ArgumentError);
  CHECK_THROWS_AS((void)from<std::uint8_t>({1, -1}), ArgumentError);
  CHECK_THROWS_AS((void)from<std::int32_t>({5000000000}), ArgumentError);
  CHECK(full<std::uint8_t>({1}, 255)(0) == 255);
}

namespace {
template <class X>
concept CopiesFrom = requires(Tensor<float> to, X from) { to.copy_(from); };
}  // namespace

TEST_CASE("copy_ asks for a tensor") {
  static_assert(CopiesFrom<Tensor<float>>);
  static_assert(!CopiesFrom<float>);
}

TEST_CASE("iterating over an expanded tensor gives every element, each time the same one") {
  const auto x = full({1}, 3.f);
  for (const std::int64_t count : {0, 1, 5}) {
    std::int64_t seen = 0;
    for (const float value : x.expand({count})) seen += value == 3.f;
    CHECK(seen == count);
  }
  std::int64_t seen = 0;
  for (const float value : full({1, 4}, 3.f).expand({3, 4}).select(1, 0)) seen += value == 3.f;
  CHECK(seen == 3);
}
