// Reading an element of a GPU's vector on the host.
// compilers: nvcc
// both: (host|cpp).*(device|cuda)|(device|cuda).*(host|cpp)
// remedy: \bcopy\b|host_vector
// unnoticed: by design: operator[] copies the element, one cudaMemcpy for each (Thrust's Quick Start Guide)
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>

float first(const thrust::device_vector<float>& w) {
#ifdef MISTAKE
  return w[0];
#else
  const thrust::host_vector<float> here = w;
  return here[0];
#endif
}
