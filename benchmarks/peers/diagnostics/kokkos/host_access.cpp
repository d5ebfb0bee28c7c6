// Reading an element of a GPU's view on the host.
// compilers: nvcc
// both: Host.*Cuda|Cuda.*Host
// remedy: deep_copy|mirror
// unnoticed: aborts when run: "attempt to access inaccessible memory space" (Kokkos_ViewAccessPreconditionsCheck.hpp)
#include <Kokkos_Core.hpp>

using CudaView = Kokkos::View<float*, Kokkos::CudaSpace>;

float first(const CudaView& w) {
#ifdef MISTAKE
  return w(0);
#else
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), w)(0);
#endif
}
