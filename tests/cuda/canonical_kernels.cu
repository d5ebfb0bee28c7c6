// The kernels that generated_code_test.py inspects: one line per property that the machine code must have.
#include <locus/device/cuda.hpp>

namespace canonical {
using namespace locus;

struct AddScaled {
  float scale;
  template <class T>
  LOCUS_HD void operator()(T x, T y, T& out) const {
    out = x * static_cast<T>(scale) + y;
  }
};
struct Gelu {
  LOCUS_HD void operator()(float x, float& out) const { out = 0.5f * x * (1.f + erff(x * 0.70710678f)); }
};
struct GeluBackward {
  LOCUS_HD void operator()(float x, float g, float& out) const {
    out = g * (0.5f * (1.f + erff(x * 0.70710678f)) + x * 0.39894228f * expf(-0.5f * x * x));
  }
};
struct SumOf {
  using Accumulator = float;
  LOCUS_FN float identity() const { return 0; }
  LOCUS_FN float combine(float a, float b) const { return a + b; }
  LOCUS_FN float finish(float a) const { return a; }
};
struct LargestOf {
  using Accumulator = float;
  LOCUS_FN float identity() const { return -INFINITY; }
  LOCUS_FN float combine(float a, float b) const { return a > b ? a : b; }
  LOCUS_FN float finish(float a) const { return a; }
};
struct Square {
  LOCUS_FN float operator()(float x) const { return x * x; }
};
template <class T>
struct Softmax {
  static constexpr int fragments = 1;
  const T* in;
  T* out;
  std::int64_t cols;

  template <class Team>
  LOCUS_HD void operator()(std::int64_t row, Team& team) const {
    auto x = team.load(RowInput<T>{in + row * cols, 1});
    const float largest = team.reduce(
        LargestOf{}, [](float v, std::int64_t) { return v; }, x);
    team.update([largest](float v, std::int64_t) { return expf(v - largest); }, x);
    const float scale = 1.f / team.reduce(
                                  SumOf{}, [](float v, std::int64_t) { return v; }, x);
    team.store(
        RowOutput<T>{out + row * cols, 1, false}, [scale](float v, std::int64_t) { return v * scale; }, x);
  }
};

template <class F, class... I, class... O>
void map(const F& f, const Pack<I...>& in, const Pack<O*...>& out) {
  Backend<Cuda>::map({}, Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>{}, f, in, out);
}

void instantiate(const float* x, float* y, const half* h, half* k, const double* d, double* e) {
  map(AddScaled{2.f}, Pack<const float*, const float*>{x, x}, Pack<float*>{y});
  map(AddScaled{2.f}, Pack<const double*, const double*>{d, d}, Pack<double*>{e});
  map(Gelu{}, Pack<const float*>{x}, Pack<float*>{y});
  map(Gelu{}, Pack<const half*>{h}, Pack<half*>{k});
  map(GeluBackward{}, Pack<const half*, const half*>{h, h}, Pack<half*>{k});
  map(GeluBackward{}, Pack<const float*, const float*>{x, x}, Pack<float*>{y});
  Backend<Cuda>::for_each_row({}, 1, 1, Softmax<float>{x, y, 1});
  Backend<Cuda>::for_each_row({}, 1, 1, Softmax<half>{h, k, 1});
  Backend<Cuda>::reduce({}, ReducePlan<1>{}, Square{}, SumOf{}, Pack<const float*>{x},
                        static_cast<const float*>(nullptr), y);
}

}  // namespace canonical
