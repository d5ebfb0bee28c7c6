// A view of the host, given to a function template that hands it on to another one, whose kernel runs on the GPU.
// way: kernel
// compilers: nvcc
// both: Host.*Cuda|Cuda.*Host
// remedy: deep_copy|mirror
// unnoticed: aborts when run: "attempt to access inaccessible memory space" (Kokkos_ViewAccessPreconditionsCheck.hpp)
#include <Kokkos_Core.hpp>

template <class X, class M, class Y>
void center(const X& x, const M& mean, const Y& y) {
  const Kokkos::RangePolicy<Kokkos::Cuda> all(0, y.extent(0));
  Kokkos::parallel_for(
      all, KOKKOS_LAMBDA(int i) { y(i) = x(i) - mean(i); });
}

template <class X, class M, class S, class Y>
void standardize(const X& x, const M& mean, const S& deviation, const Y& y) {
  center(x, mean, y);
  const Kokkos::RangePolicy<Kokkos::Cuda> all(0, y.extent(0));
  Kokkos::parallel_for(
      all, KOKKOS_LAMBDA(int i) { y(i) /= deviation(i); });
}

using HostView = Kokkos::View<float*, Kokkos::HostSpace>;
using CudaView = Kokkos::View<float*, Kokkos::CudaSpace>;

void prepare(const CudaView& x, const HostView& mean, const CudaView& deviation, const CudaView& y) {
#ifdef MISTAKE
  standardize(x, mean, deviation, y);
#else
  standardize(x, Kokkos::create_mirror_view_and_copy(Kokkos::CudaSpace(), mean), deviation, y);
#endif
}
