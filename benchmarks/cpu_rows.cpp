// Operations on the rows of a matrix, ROWS COLS, on the host; backward operations receive the gradient of the result.
// cpu.py runs this in turns with peers.

#include "support/host_tensors.hpp"

#include <locus/autograd/graph.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/from.hpp>

using bench::computing, bench::Prepared, bench::Tensor, bench::tensor, bench::Work;
using locus::Cpu, locus::Shape;

namespace {

/// A leaf that receives a gradient of an operation.
struct Leaf {
  locus::LeafNode<float, Cpu> node;
  explicit Leaf(const Shape& shape) : node(shape, Cpu{}) {}
  [[nodiscard]] locus::Gradient<float, Cpu> gradient() { return locus::Gradient<float, Cpu>(&node); }
};

Tensor matrix(const Work& w, std::uint64_t operand) { return tensor(w, operand, {w.rows(), w.cols()}); }

template <bool logarithm>
Prepared softmax_backward(const Work& w) {
  const auto g = matrix(w, 1);
  const locus::operation::Softmax<logarithm> operation{1};
  const auto saved = operation.forward(matrix(w, 0)).saved;
  return computing([=] {
    Leaf x(g.shape());
    auto dx = x.gradient();
    operation.backward(saved, g, dx);
    return x.node.gradient();
  });
}

Prepared layer_norm(const Work& w) {
  const auto x = matrix(w, 0), weight = tensor(w, 2, {w.cols()}), bias = tensor(w, 3, {w.cols()});
  return computing([=] { return layer_norm(x, weight.shape(), weight, bias); });
}

/// Computes all three gradients; checks dx.
Prepared layer_norm_backward(const Work& w) {
  const auto g = matrix(w, 1), weight = tensor(w, 2, {w.cols()}), bias = tensor(w, 3, {w.cols()});
  const locus::operation::LayerNorm<true> operation{weight.shape(), 1e-5};
  const auto saved = operation.forward(matrix(w, 0), weight, bias).saved;
  return computing([=] {
    Leaf x(g.shape()), of_weight(weight.shape()), of_bias(bias.shape());
    auto dx = x.gradient(), dweight = of_weight.gradient(), dbias = of_bias.gradient();
    operation.backward(saved, g, dx, dweight, dbias);
    return x.node.gradient();
  });
}

Prepared cross_entropy(const Work& w) {
  const auto x = matrix(w, 0);
  const auto labels = locus::from<std::int64_t>(bench::labels_of(w), {w.rows()});
  return computing([=] { return cross_entropy(x, labels); });
}

}  // namespace

int main() {
  return bench::serve(
      "Locus",
      {{"softmax", [](const Work& w) { return computing([x = matrix(w, 0)] { return softmax(x, 1); }); }},
       {"log_softmax", [](const Work& w) { return computing([x = matrix(w, 0)] { return log_softmax(x, 1); }); }},
       {"softmax_backward", softmax_backward<false>},
       {"log_softmax_backward", softmax_backward<true>},
       {"layer_norm", layer_norm},
       {"layer_norm_backward", layer_norm_backward},
       {"cross_entropy", cross_entropy},
       {"softmax_columns", [](const Work& w) { return computing([x = matrix(w, 0)] { return softmax(x, 0); }); }},
       {"log_softmax_columns",
        [](const Work& w) { return computing([x = matrix(w, 0)] { return log_softmax(x, 0); }); }},
       {"cumsum", [](const Work& w) { return computing([x = matrix(w, 0)] { return cumsum(x, 1); }); }},
       {"cumsum_columns", [](const Work& w) { return computing([x = matrix(w, 0)] { return cumsum(x, 0); }); }}});
}
