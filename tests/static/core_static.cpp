// Compile-time guarantees of core: shapes are constant expressions, and exceptions have one base.
#include <complex>
#include <cstdint>
#include <locus/core/check.hpp>
#include <locus/core/dtype.hpp>
#include <locus/core/fields.hpp>
#include <locus/core/shape.hpp>
#include <locus/core/size_class.hpp>
#include <locus/device/iteration_plan.hpp>
#include <span>
#include <type_traits>

namespace {

using namespace locus;

// Shapes work in constant expressions, so a device functor or a template argument may use them.
static_assert(broadcast({4, 1}, {3}) == Shape{4, 3});
static_assert(row_major({2, 3, 4}) == Strides{12, 4, 1});
// Beside an extent of 0, other extents may be huge without overflow.
constexpr std::int64_t huge = std::int64_t{1} << 40;
static_assert(row_major({huge, huge, huge, 0})[1] == huge);
static_assert(make_plan<1>({huge, huge, huge, 0}, {Strides{1, 1, 1, 1}}).elements == 0);

// Blocks of a pool hold the requested bytes, and at most an eighth more.
template <std::size_t granule>
constexpr bool blocks_fit() {
  for (std::size_t bytes = 1; bytes < std::size_t{1} << 40; bytes += bytes / 7 + 1) {
    const std::size_t block = SizeClass<granule>::bytes(SizeClass<granule>::of(bytes));
    if (block < bytes || block % granule != 0 || (bytes > 8 * granule && block - bytes > bytes / 8) ||
        block - bytes > granule + bytes / 8)
      return false;
  }
  return SizeClass<granule>::bytes(SizeClass<granule>::of(0)) == granule &&
         SizeClass<granule>::bytes(SizeClass<granule>::of(1)) == granule;
}
static_assert(blocks_fit<64>() && blocks_fit<512>());
static_assert(is_contiguous({2, 3}, {3, 1}));
static_assert(normalize_axis(-1, 3, "") == 2);

// Complex numbers have the layout of std::complex, and convert to and from it.
static_assert(sizeof(complex64) == sizeof(std::complex<float>) && alignof(complex64) == 8);
static_assert(sizeof(complex128) == sizeof(std::complex<double>) && alignof(complex128) == 16);
static_assert(std::is_trivially_copyable_v<complex64> && std::is_standard_layout_v<complex64>);
static_assert(std::is_convertible_v<std::complex<double>, complex128> &&
              std::is_convertible_v<complex64, std::complex<float>>);
static_assert(std::is_convertible_v<complex64, complex128> && !std::is_convertible_v<complex128, complex64>);
static_assert(!std::is_convertible_v<complex64, float> && std::is_same_v<real_t<complex64>, float>);
static_assert(ComplexDType<complex64> && !FloatingDType<complex64> && DifferentiableDType<complex64>);
static_assert(ConvertibleFrom<complex64, float> && !ConvertibleFrom<float, complex64> &&
              ConvertibleFrom<bool, complex64>);
static_assert(dtype_name<complex64>() == "complex64" && dtype_name<complex128>() == "complex128");

// Dims are passed to kernels by value.
static_assert(std::is_trivially_copyable_v<Dims>);

// Run-time lists of integers convert to shapes and axes; lists of other numbers do not.
static_assert(std::is_convertible_v<std::span<const std::int64_t>, Dims>);
static_assert(!std::is_convertible_v<std::span<const double>, Dims>);

// One handler catches all exceptions of Locus. CudaUnavailable is no CudaError, since a retry will not help.
static_assert(std::is_base_of_v<Error, ShapeError> && std::is_base_of_v<Error, CudaUnavailable>);
static_assert(!std::is_base_of_v<CudaError, CudaUnavailable>);

// Members of an aggregate are counted as structured bindings name them, or not at all.
struct Whole {
  float* x;
  const float* y;
};
struct Nested {
  Whole first;
  int counts[3];
  Whole others[2];
  bool last;
};
struct Derived : Whole {
  float* z;
};
struct WithUnion {
  float* x;
  union {
    int i;
    float* y;
  };
};
struct WithReference {
  float* x;
  int& i;
};
struct Nothing {};
class Private {
  [[maybe_unused]] int i;
};
template <class X>
constexpr std::size_t fields = locus::detail::count_fields<X, 8>();
static_assert(fields<Whole> == 2 && fields<Nested> == 4 && fields<Nothing> == 0 && fields<Private> == 0);
static_assert(fields<Derived> == 0 && fields<WithUnion> == 0 && fields<WithReference> == 0 && fields<int> == 0);
static_assert(locus::detail::count_fields<Nested, 6>() == 0);  // 7 initializers

}  // namespace
