// A vector of the host, given to a function template that hands it on to another one, which computes on the GPU.
// compilers: nvcc
// both: (host|cpp).*(device|cuda)|(device|cuda).*(host|cpp)
// remedy: \bcopy\b|(host|device)_vector
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/transform.h>

template <class X, class M, class Y>
void center(const X& x, const M& mean, Y& y) {
  thrust::transform(x.begin(), x.end(), mean.begin(), y.begin(), thrust::minus<float>());
}

template <class X, class M, class S, class Y>
void standardize(const X& x, const M& mean, const S& deviation, Y& y) {
  center(x, mean, y);
  thrust::transform(y.begin(), y.end(), deviation.begin(), y.begin(), thrust::divides<float>());
}

using HostVector = thrust::host_vector<float>;
using DeviceVector = thrust::device_vector<float>;

void prepare(const DeviceVector& x, const HostVector& mean, const DeviceVector& deviation, DeviceVector& y) {
#ifdef MISTAKE
  standardize(x, mean, deviation, y);
#else
  standardize(x, DeviceVector(mean), deviation, y);
#endif
}
