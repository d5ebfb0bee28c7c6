// A kernel that adds float to double.
// way: kernel
// both: float.*double|double.*float
// remedy: cast|convert
// unnoticed: adds in double and rounds, as C++ does with numbers
#include <Kokkos_Core.hpp>

void add(const Kokkos::View<float*>& x, const Kokkos::View<double*>& y, const Kokkos::View<float*>& sum) {
  Kokkos::parallel_for(
      sum.extent(0), KOKKOS_LAMBDA(int i) {
#ifdef MISTAKE
        sum(i) = x(i) + y(i);
#else
        sum(i) = x(i) + static_cast<float>(y(i));
#endif
      });
}
