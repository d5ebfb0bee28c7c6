// A layer with a buffer on another device.
// because: a layer computes with its buffers where its parameters are
// expect-error: layer_is_on<locus::Cuda>.*member_is_on<locus::Cpu>|the layer is on Cuda, the member is on Cpu
// expect-error: make_all_layers_on_one_device|make all layers on one device
#include <locus/locus.hpp>

using namespace locus;

struct CountsCalls : nn::Layer<CountsCalls, float, Cuda> {
#ifdef LOCUS_MUST_FAIL
  nn::Buffer<std::int64_t, Cpu> calls{zeros<std::int64_t>({})};
#else
  nn::Buffer<std::int64_t, Cuda> calls{zeros<std::int64_t, Cuda>({})};
#endif
  auto forward(const auto& x) const { return x * 2.f; }
  void members(const auto& visit) const { visit("calls", calls); }
};

auto mistake(const CountsCalls& layer) { return layer.buffers(); }
