// Adding float to double.
// both: float.*double|double.*float
// remedy: cast|convert
// unnoticed: rounds the double before it adds, as C++ does with arguments
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/transform.h>

#ifdef MISTAKE
using Other = thrust::device_vector<double>;
#else
using Other = thrust::device_vector<float>;
#endif

void add(const thrust::device_vector<float>& x, const Other& y, thrust::device_vector<float>& sum) {
  thrust::transform(x.begin(), x.end(), y.begin(), sum.begin(), thrust::plus<float>());
}
