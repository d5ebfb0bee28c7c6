// A kernel on the GPU that reads a view of the host.
// way: kernel
// compilers: nvcc
// both: Host.*Cuda|Cuda.*Host
// remedy: deep_copy|mirror
// unnoticed: aborts when run: "attempt to access inaccessible memory space" (Kokkos_ViewAccessPreconditionsCheck.hpp)
#include <Kokkos_Core.hpp>

using HostView = Kokkos::View<float*, Kokkos::HostSpace>;
using CudaView = Kokkos::View<float*, Kokkos::CudaSpace>;

void add(const HostView& x, const CudaView& w, const CudaView& sum) {
#ifdef MISTAKE
  const auto& there = x;
#else
  const auto there = Kokkos::create_mirror_view_and_copy(Kokkos::CudaSpace(), x);
#endif
  const Kokkos::RangePolicy<Kokkos::Cuda> all(0, sum.extent(0));
  Kokkos::parallel_for(
      all, KOKKOS_LAMBDA(int i) { sum(i) = there(i) + w(i); });
}
