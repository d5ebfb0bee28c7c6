// Adding a vector of the host to one of the GPU.
// compilers: nvcc
// both: (host|cpp).*(device|cuda)|(device|cuda).*(host|cpp)
// remedy: \bcopy\b|(host|device)_vector
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/transform.h>

using HostVector = thrust::host_vector<float>;
using DeviceVector = thrust::device_vector<float>;

void add(const HostVector& x, const DeviceVector& w, DeviceVector& sum) {
#ifdef MISTAKE
  const auto& there = x;
#else
  const DeviceVector there = x;
#endif
  thrust::transform(there.begin(), there.end(), w.begin(), sum.begin(), thrust::plus<float>());
}
