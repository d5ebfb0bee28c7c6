// Runs on: host, cuda (verbs); loops.
#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

template <class From, class D, class... To>
void check_conversions() {
  CAPTURE(dtype_name<From>());
  const auto x = tensor<From, D>({2, 2}, {0, 1, 2.75, 100});
  const auto given = host(x.transpose());
  const auto converted = [&]<class T>() {
    std::vector<double> values;
    for (int i = 0; i < 4; ++i) values.push_back(convert<double>(convert<T>(given.data()[i])));
    return Reference({2, 2}, values);
  };
  (CHECK_CLOSE(x.transpose().template as<To>(), converted.template operator()<To>(), 0.0), ...);
}

template <class From, class D>
void check_conversions_from() {
  check_conversions<From, D, float, double, std::int32_t, std::int64_t, std::uint8_t, bool, half, bfloat16>();
}

}  // namespace

LOCUS_DEVICE_TEST("every element type converts to every other, from any layout", D) {
  check_conversions_from<float, D>();
  if constexpr (all_dtypes<D>) {
    check_conversions_from<double, D>();
    check_conversions_from<std::int32_t, D>();
    check_conversions_from<std::int64_t, D>();
    check_conversions_from<std::uint8_t, D>();
    check_conversions_from<bool, D>();
    check_conversions_from<half, D>();
    check_conversions_from<bfloat16, D>();
  }
}

LOCUS_DEVICE_TEST("a clone is dense and independent", D) {
  const auto x = sample<float, D>({3, 4});
  const auto copy = x.transpose().clone();
  CHECK(copy.is_contiguous());
  CHECK_CLOSE(copy, reference(x.transpose()));
  const auto before = reference(x);
  copy.fill_(0);
  CHECK_CLOSE(x, before);
  CHECK(sample<float, D>({0, 2}).clone().shape() == Shape{0, 2});
  CHECK((Tensor<float, D>().clone().shape() == Shape{0}));
}

LOCUS_DEVICE_TEST("contiguous, as and to do nothing where nothing is to be done", D) {
  const auto x = sample<float, D>({3, 4});
  LaunchLog log;
  RequestLog requests;
  CHECK(x.contiguous().data() == x.data());
  CHECK(x.template as<float>().data() == x.data());
  CHECK(x.to(D{}).data() == x.data());
  CHECK(x.slice(0, 1).contiguous().data() == x.slice(0, 1).data());
  CHECK(log.launches() == 0);
  CHECK(requests.allocations() == 0);
  CHECK(x.transpose().contiguous().is_contiguous());
  CHECK(log.launches() == 1);
}

template <class T, class D>
void check_copies_across(const Shape& shape = {2, 37, 33}) {
  CAPTURE(dtype_name<T>());
  const auto x = (abs(sample<float, D>(shape)) * 20.f).eval().template as<T>();
  for (const auto& view :
       {x.transpose(), x.permute({1, 2, 0}), x.permute({2, 1, 0}), x.slice(2, 1).transpose(),
        x.slice(1, 0, to_end, 2).transpose(), x.select(0, 1).transpose().expand({2, shape[2], shape[1]})}) {
    CAPTURE(view.shape());
    const Reference expected = reference(view.template to<Cpu>());
    LaunchLog log;
    const auto copy = view.clone();
    CHECK(log.launches() == 1);
    CHECK(copy.is_contiguous());
    CHECK_CLOSE(copy, expected, 0.0);
    const auto target = zeros<T, D>({view.size(2), view.size(1), view.size(0)}).permute({2, 1, 0});
    target.copy_(view);
    CHECK_CLOSE(target, expected, 0.0);
  }
}

LOCUS_DEVICE_TEST("copies between layouts that lie across each other, one launch each", D) {
  check_copies_across<float, D>();
  check_copies_across<double, D>();
  check_copies_across<half, D>();
  check_copies_across<std::uint8_t, D>();
  check_copies_across<half, D>({2, 74, 66});  // whose words of four bytes hold several elements
  check_copies_across<std::uint8_t, D>({2, 68, 140});
}

LOCUS_DEVICE_TEST("to another device and back keeps every element of every layout", D) {
  const auto x = sample<double, Cpu>({4, 6});
  for (const auto& view :
       {x, x.transpose(), x.slice(1, 1, to_end, 2), x.select(0, 2).expand({3, 6}), x.slice(0, 0, 0)}) {
    const auto there = view.template to<D>();
    CHECK(there.shape() == view.shape());
    CHECK(there.is_contiguous() == (view.is_contiguous() || !std::is_same_v<D, Cpu>));
    CHECK_CLOSE(there, reference(view), 0.0);
  }
  CHECK_CLOSE(x.template to<D>().transpose().template to<Cpu>(), reference(x.transpose()), 0.0);
}

TEST_CASE("ordinals of one device kind are different places") {
  const auto x = sample<float, Counting>({2});
  RequestLog log;
  const auto there = x.to(Counting{1});
  CHECK(there.device() == Counting{1});
  CHECK(there.data() != x.data());
  CHECK(log.copies() == 1);
  CHECK_CLOSE(there, reference(x));
  CHECK_THROWS_AS(x.copy_(there), DeviceError);
}

LOCUS_DEVICE_TEST("copy_ writes through views, broadcasts and converts", D) {
  const auto x = zeros<float, D>({2, 3});
  x.select(1, 1).copy_(from<float, D>({1, 2}));
  CHECK_CLOSE(x, {{2, 3}, {0, 1, 0, 0, 2, 0}});
  x.copy_(from<std::int32_t, D>({7, 8, 9}));
  CHECK_CLOSE(x, {{2, 3}, {7, 8, 9, 7, 8, 9}});
  auto pending = x + 1;
  x.slice(0, 0, 1).copy_(pending.eval().slice(0, 1));
  CHECK_CLOSE(x, {{2, 3}, {8, 9, 10, 7, 8, 9}});
  x.copy_(x * 2);
  CHECK_CLOSE(x, {{2, 3}, {16, 18, 20, 14, 16, 18}});
  CHECK_THROWS_AS(x.copy_(zeros<float, D>({2})), ShapeError);
  CHECK_THROWS_AS(x.select(0, 0).copy_(x), ShapeError);
  const auto version = x.version();
  x.copy_(zeros<float, D>({}));
  CHECK(x.version() == version + 1);
}

LOCUS_DEVICE_TEST("copy_ from overlapping memory reads before it writes", D) {
  const auto x = arange<float, D>(9).reshape({3, 3});
  x.copy_(x.transpose());
  CHECK_CLOSE(x, {{3, 3}, {0, 3, 6, 1, 4, 7, 2, 5, 8}});
  x.slice(0, 1).copy_(x.slice(0, 0, 2));
  CHECK_CLOSE(x, {{3, 3}, {0, 3, 6, 0, 3, 6, 1, 4, 7}});
  x.copy_(x.select(0, 2));
  CHECK_CLOSE(x, {{3, 3}, {1, 4, 7, 1, 4, 7, 1, 4, 7}});
  const auto wide = arange<std::int32_t, D>(1000);
  wide.slice(0, 1).copy_(wide.slice(0, 0, -1));
  CHECK(wide.slice(0, 999).item() == 998);
  CHECK(wide.slice(0, 500, 501).item() == 499);
}

LOCUS_DEVICE_TEST("copies to 16 bits round once, and 16 bits are filled with any number", D) {
  const auto x = locus_test::tensor<double, D>({3}, {1.0039062500001, -1.0039062500001, 1.00390625});
  CHECK_CLOSE(x.template as<bfloat16>(), {1.0078125, -1.0078125, 1}, 0);
  const Tensor<bfloat16, D> y({3});
  y.copy_(x.template as<bfloat16>());
  CHECK_CLOSE(y, {1.0078125, -1.0078125, 1}, 0);
  const auto z = locus_test::tensor<std::int64_t, D>({2}, {16842753, -16842753});
  CHECK_CLOSE(z.template as<bfloat16>(), {16908288, -16908288}, 0);
  y.fill_(0.43);
  CHECK_CLOSE(y, {0.4296875, 0.4296875, 0.4296875}, 0);
  y.fill_(3).slice(0, 0, 1).fill_(0.5f);
  CHECK_CLOSE(y, {0.5, 3, 3}, 0);
  CHECK_CLOSE((Tensor<half, D>({1}).fill_(1.00048828125001)), {1.0009765625}, 0);
  CHECK_CLOSE((Tensor<half, D>({1}).fill_(half(2.f))), {2}, 0);
}

LOCUS_DEVICE_TEST("fill_ changes what the view shows, in one launch", D) {
  const auto x = zeros<float, D>({2, 3});
  const auto version = x.version();
  LaunchLog log;
  x.transpose().select(0, 1).fill_(5);
  CHECK(log.launches() == 1);
  CHECK(x.version() == version + 1);
  CHECK_CLOSE(x, {{2, 3}, {0, 5, 0, 0, 5, 0}});
  x.slice(0, 0, 0).fill_(9);
  CHECK(log.launches() == 1);
}

TEST_CASE("writing into a repeated element is refused") {
  const auto x = zeros({3}).expand({2, 3});
  CHECK_THROWS_AS(x.copy_(ones({2, 3})), ArgumentError);
}

LOCUS_DEVICE_TEST("memory is given back", D) {
  const auto held = counting_bytes.load();
  const auto before = Backend<D>::memory_stats(D{}).allocated_bytes;
  {
    const auto x = sample<float, D>({100});
    const auto y = x.clone();
    const auto z = y.template as<half>();
    CHECK(Backend<D>::memory_stats(D{}).allocated_bytes > before);
  }
  CHECK(Backend<D>::memory_stats(D{}).allocated_bytes == before);
  CHECK(counting_bytes == held);
}
