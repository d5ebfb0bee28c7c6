// Lesson 22: a buffer keeps values
//
// Goal: Centered subtracts an average from its input. The average is a buffer, which is saved and moved with the layer,
// and not trained: every batch of training moves it by a tenth towards the mean of the batch, other inputs leave it.
//
// In PyTorch self.average += 0.1 * (x.mean(0) - self.average) keeps more than numbers in the buffer: x.mean(0) knows
// how it was computed, and from then on so does the buffer. Each batch hangs its graph behind that of the one before;
// memory grows, and the second backward() raises "RuntimeError: Trying to backward through the graph a second time".
// What was meant is x.detach(). Here what is traced does not fit into memory that has no way back for a gradient.
//
// hint: Which of the two operands of - has a gradient, and does the buffer want it?
// hint: The error names the member of x that is the same numbers and no more.
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
