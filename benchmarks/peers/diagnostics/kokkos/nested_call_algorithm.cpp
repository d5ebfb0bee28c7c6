// A view of the host, given to a function template that hands it on to another one, whose algorithm runs on the GPU.
// way: algorithm
// compilers: nvcc
// both: Host.*Cuda|Cuda.*Host
// remedy: deep_copy|mirror
#include <Kokkos_Core.hpp>
#include <Kokkos_StdAlgorithms.hpp>

struct Minus {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a - b; }
};
struct Divides {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a / b; }
};

template <class X, class M, class Y>
void center(const X& x, const M& mean, const Y& y) {
  Kokkos::Experimental::transform(Kokkos::Cuda(), x, mean, y, Minus());
}

template <class X, class M, class S, class Y>
void standardize(const X& x, const M& mean, const S& deviation, const Y& y) {
  center(x, mean, y);
  Kokkos::Experimental::transform(Kokkos::Cuda(), y, deviation, y, Divides());
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
