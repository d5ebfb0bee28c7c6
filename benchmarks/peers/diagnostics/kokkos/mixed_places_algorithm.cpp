// An algorithm on the GPU that reads a view of the host.
// way: algorithm
// compilers: nvcc
// both: Host.*Cuda|Cuda.*Host
// remedy: deep_copy|mirror
#include <Kokkos_Core.hpp>
#include <Kokkos_StdAlgorithms.hpp>

using HostView = Kokkos::View<float*, Kokkos::HostSpace>;
using CudaView = Kokkos::View<float*, Kokkos::CudaSpace>;

struct Plus {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
};

void add(const HostView& x, const CudaView& w, const CudaView& sum) {
#ifdef MISTAKE
  Kokkos::Experimental::transform(Kokkos::Cuda(), x, w, sum, Plus());
#else
  const auto there = Kokkos::create_mirror_view_and_copy(Kokkos::CudaSpace(), x);
  Kokkos::Experimental::transform(Kokkos::Cuda(), there, w, sum, Plus());
#endif
}
