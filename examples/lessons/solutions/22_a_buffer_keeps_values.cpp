// Lesson 22: a buffer keeps values
//
// Goal: Centered subtracts an average from its input. The average is a buffer, which is saved and moved with the layer,
// and not trained: every training batch moves it by a tenth towards the mean of the batch, other inputs leave it
// unchanged.
//
// In PyTorch self.average += 0.1 * (x.mean(0) - self.average) stores more than numbers in the buffer: x.mean(0) has a
// graph, and so does the buffer from then on. Each batch appends its graph to the previous batch's; memory grows, and
// the second backward() raises "RuntimeError: Trying to backward through the graph a second time". The remedy is
// x.detach(). Here a traced tensor cannot be written into a buffer, which has no way back for a gradient.
//
// hint: Which of the two operands of - has a gradient, and does the buffer want it?
// hint: The error names the member of x that returns its numbers without the graph.
#include <locus/expr/operators.hpp>

#include <locus/cuda/backend.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

using namespace locus;

template <Device D>
struct Centered : nn::Layer<Centered<D>, float, D> {
  nn::Buffer<float, D> average;

  explicit Centered(std::int64_t width, D device = {}) : average{zeros({width}, device)} {}

  template <class X>
  X forward(const X& x) const {
    if constexpr (X::role == Role::traced) {
      average.value() += 0.1f * (mean(x.value(), 0) - average.value());
    }
    return x - average.value();
  }
  void members(const auto& visit) const { visit("average", average); }
};

Traced<float, Cuda> train(const Centered<Cuda>& layer, const Traced<float, Cuda>& x) { return layer(x); }
