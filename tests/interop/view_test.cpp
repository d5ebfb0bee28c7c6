// Runs on: host.
#include <locus/interop/view.hpp>
#include <locus/tensor/factory.hpp>

#include <array>
#include <span>
#include <support/reference.hpp>
#include <support/skip.hpp>
#include <support/thrown.hpp>
#include <vector>

using namespace locus;
using namespace locus_test;

TEST_CASE("vectors, arrays and spans as tensors") {
  std::vector<float> values{0, 1, 2, 3, 4, 5};
  const auto x = view(values, {2, 3});
  static_assert(std::is_same_v<decltype(x), const Tensor<float, Cpu>>);
  CHECK_CLOSE(x, Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
  x.select(0, 1).fill_(7);
  CHECK(values[5] == 7);
  std::array<std::int64_t, 2> pair{8, 9};
  CHECK_CLOSE(view(pair), {8, 9});
  CHECK_CLOSE(view(std::span(values).first(2)), {0, 1});
  CHECK(view(std::span<float>{}).shape() == Shape{0});
  CHECK(message_of<ShapeError>([&] { (void)view(values, {7}); }) == "view: 6 values for shape (7,), which has 7");
  CHECK_THROWS_AS((void)view(values, {-2, -3}), ShapeError);
  // Temporaries and constant elements are refused.
  const auto takes = []<class V>(V&& v) { return requires { view(std::forward<V>(v)); }; };
  const std::vector<float> constant{1, 2};
  CHECK(takes(values));
  CHECK_FALSE(takes(std::vector<float>{1, 2}));
  CHECK_FALSE(takes(constant));
  CHECK_FALSE(takes(std::span(constant)));
}

// -DLOCUS_TEST_KOKKOS_MDSPAN=1: the reference implementation, of https://github.com/kokkos/mdspan.
#ifdef LOCUS_TEST_KOKKOS_MDSPAN
#include <mdspan/mdspan.hpp>
namespace md = Kokkos;
#elif defined(__cpp_lib_mdspan)
namespace md = std;
#endif

#if defined(LOCUS_TEST_KOKKOS_MDSPAN) || defined(__cpp_lib_mdspan)

namespace {
template <class T, class Layout, class Index = int>
using Matrix = md::mdspan<T, md::dextents<Index, 2>, Layout>;

template <class M>
void check_both_ways(const M& elements, const Reference& expected) {
  const auto x = view(elements);
  static_assert(std::is_same_v<decltype(x), const Tensor<float, Cpu>>);
  CHECK_CLOSE(x, expected);
  const auto back = to_mdspan<M>(x);
  CHECK(back.data_handle() == elements.data_handle());
  if constexpr (M::rank() > 0) {
    for (std::size_t d = 0; d < M::rank(); ++d) {
      CHECK(back.extent(d) == elements.extent(d));
      CHECK(back.stride(d) == elements.stride(d));
    }
  }
}
}  // namespace

TEST_CASE("mdspans of each layout as tensors, and back") {
  float values[] = {0, 1, 2, 3, 4, 5, 6, 7};
  check_both_ways(Matrix<float, md::layout_right>(values, 2, 3), Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
  check_both_ways(Matrix<float, md::layout_left>(values, 2, 3), Reference({2, 3}, {0, 2, 4, 1, 3, 5}));
  using Strided = Matrix<float, md::layout_stride, std::size_t>;
  const Strided::mapping_type mapping(Strided::extents_type(2, 3), std::array<std::size_t, 2>{4, 1});
  check_both_ways(Strided(values, mapping), Reference({2, 3}, {0, 1, 2, 4, 5, 6}));
  check_both_ways(md::mdspan<float, md::extents<int, 2, 2>>(values), Reference({2, 2}, {0, 1, 2, 3}));
  check_both_ways(md::mdspan<float, md::extents<int>>(values + 3), Reference({}, {3}));
  check_both_ways(md::mdspan<float, md::dextents<int, 2>>(values, 0, 3), Reference({0, 3}, {}));
  view(Matrix<float, md::layout_right>(values, 2, 3)).fill_(9);
  CHECK(values[5] == 9);
  CHECK(values[6] == 6);
}

TEST_CASE("a tensor as an mdspan of const elements, and of strides") {
  const auto x = arange<float>(6).reshape({2, 3});
  const auto m = to_mdspan<Matrix<const float, md::layout_stride>>(x.transpose());
  CHECK(m.extent(0) == 3);
  CHECK(m.stride(0) == 1);
  CHECK(m.stride(1) == 3);
  CHECK(m.data_handle() == x.data());
  const auto one = to_mdspan<Matrix<float, md::layout_stride>>(x.slice(0, 1, 2).slice(1, 2, 3));
  CHECK(one.data_handle()[one.mapping()(0, 0)] == 5);
#ifdef __cpp_lib_mdspan
  const auto columns = to_mdspan<2>(x.transpose());
  static_assert(decltype(columns)::rank() == 2);
  CHECK(columns.data_handle()[columns.mapping()(2, 1)] == 5);
#endif
}

TEST_CASE("a tensor that an mdspan cannot describe is refused") {
  const auto x = arange<float>(6).reshape({2, 3});
  const auto refused = []<class M>(std::type_identity<M>, const Tensor<float, Cpu>& y) {
    return message_of<Error>([&] { (void)to_mdspan<M>(y); });
  };
  const std::type_identity<Matrix<float, md::layout_right>> right;
  CHECK(refused(right, arange<float>(3)) == "to_mdspan: shape (3,) for an mdspan of 2 dimensions");
  CHECK(contains(refused(right, x.transpose()), "strides (1, 3) of shape (3, 2) are not those of the mdspan's layout"));
  CHECK(contains(refused(std::type_identity<Matrix<float, md::layout_left>>{}, x), ".contiguous()"));
  CHECK(contains(refused(std::type_identity<md::mdspan<float, md::extents<int, 2, 4>>>{}, x),
                 "of extent 4 in dimension 1"));
  CHECK(contains(refused(std::type_identity<Matrix<float, md::layout_stride>>{}, arange<float>(3).expand({2, 3})),
                 ".clone()"));
  CHECK(contains(refused(std::type_identity<Matrix<float, md::layout_right, signed char>>{}, zeros({200, 2})),
                 "past the mdspan's index type"));
}

#else

TEST_CASE("mdspans as tensors, and back") { SKIP_TEST("the standard library has no <mdspan>"); }

#endif
