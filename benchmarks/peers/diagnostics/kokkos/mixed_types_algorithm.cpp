// An algorithm that adds float to double.
// way: algorithm
// both: float.*double|double.*float
// remedy: cast|convert
// unnoticed: rounds the double before it adds, as C++ does with arguments
#include <Kokkos_Core.hpp>
#include <Kokkos_StdAlgorithms.hpp>

struct Plus {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
};

#ifdef MISTAKE
using Other = Kokkos::View<double*>;
#else
using Other = Kokkos::View<float*>;
#endif

void add(const Kokkos::View<float*>& x, const Other& y, const Kokkos::View<float*>& sum) {
  Kokkos::Experimental::transform(Kokkos::DefaultExecutionSpace(), x, y, sum, Plus());
}
