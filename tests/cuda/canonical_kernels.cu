// The kernels that generated_code_test.py inspects, as programs launch them: through the functions that they call.
// kernels.txt has a line for each.
#include <locus/distributed/engine/reduction_op.hpp>
#include <locus/locus.hpp>

namespace canonical {
using namespace locus;
using Floats = Tensor<float, Cuda>;
using Doubles = Tensor<double, Cuda>;
using Halves = Tensor<half, Cuda>;
using Brains = Tensor<bfloat16, Cuda>;
using Longs = Tensor<std::int64_t, Cuda>;
using Bytes = Tensor<std::uint8_t, Cuda>;

void elementwise(const Floats& a, const Floats& b, const Floats& c, const Halves& h, const Brains& g,
                 const Doubles& d) {
  Floats y = gelu(a);
  y = relu(a * b + 1.5f);
  y = a * b + c * a + b;
  const auto of_eight = [](auto p, auto q, auto r, auto s, auto t, auto u, auto v, auto w) {
    return p * q + r * s + t / (u - v) * tanh(w);
  };
  y = fuse(of_eight, a, b, c, a, b, c, a, b);
  y = sigmoid(a) * 2 + exp(b);
  y += a;
  const Tensor<bool, Cuda> larger = a > b;
  y = where(larger, a, b);
  Halves k = gelu(h);
  k = relu(h * k + 1.5f);
  const Brains l = gelu(g);
  const Doubles e = relu(d * d + 1.5);
}

void ranks(const void* const* sources, void* const* targets) {
  PeerMemory::combine<float, dist::op::Sum>(Cuda{}, sources, 4, targets, 1, 1000, 4);
  PeerMemory::combine<half, dist::op::Mean>(Cuda{}, sources, 4, targets, 4, 1000, 4);
  PeerMemory::combine_partial<bfloat16, dist::op::Sum>(Cuda{}, sources[0], sources[1], targets[0], 1000, false, false,
                                                       4);
}

void conversions(const Floats& a, const Halves& h, const Brains& g, const Bytes& u, const Longs& n) {
  const Halves k = a.as<half>();
  const Floats x = h.as<float>(), y = u.as<float>(), z = n.as<float>();
  const Brains l = a.as<bfloat16>();
  const Floats dense = a.transpose().contiguous();
  const Halves other = h.transpose().contiguous();
  const Bytes bytes = u.transpose().contiguous();
}

void norms_and_repeats(const Floats& a, const Longs& counts) {
  const Floats y = norm(a, 3, -1);
  const Floats z = repeat_interleave(a, counts, 0);
}

void gradients(const Floats& a, const Floats& b, const Halves& h) {
  const auto x = variable(a), y = variable(b);
  relu(x * y + 1.5f).eval().backward(a);
  gelu(x).eval().backward(a);
  gelu(variable(h)).eval().backward(h);
}

void steps(const std::vector<Parameter<float, Cuda>>& parameters) {
  optim::Sgd<float, Cuda> sgd(parameters, {.lr = 0.1, .momentum = 0.9});
  sgd.step();
  optim::Adam<float, Cuda> adam(parameters, {});
  adam.step();
  detail::scale_to_norm(std::vector{parameters[0].grad()}, 1.f, parameters[1].grad());
}

void steps_that_may_be_skipped(const std::vector<optim::Group<float, Cuda>>& groups,
                               const std::vector<Parameter<bfloat16, Cuda>>& brains, const Tensor<bool, Cuda>& skip) {
  optim::AdamW<float, Cuda> of_groups(groups, {});
  of_groups.step(skip);
  optim::AdamW<bfloat16, Cuda> with_masters(brains, {});
  with_masters.step();
}

void rows(const Floats& a, const Halves& h, const Brains& g, const Longs& labels) {
  softmax(variable(a), -1).backward(a);
  softmax(variable(h), -1).backward(h);
  layer_norm(variable(a), {8}, variable(a.select(0, 0)), variable(a.select(0, 0))).backward(a);
  softmax(variable(g), -1).backward(g);
  layer_norm(variable(g), {8}, variable(g.select(0, 0)), variable(g.select(0, 0))).backward(g);
  cross_entropy(variable(g), labels).backward();
  (void)logsumexp(a, -1);
  cross_entropy(variable(a), labels).backward();
  cross_entropy(variable(a), labels, a.select(0, 0)).backward();
  linear_cross_entropy(variable(a), variable(a), labels).backward();
}

void reductions(const Floats& a, const Floats& b, const Halves& h, const Doubles& d, const Longs& n) {
  (void)sum(a), (void)sum(a * b), (void)max(a), (void)argmax(a), (void)var(a);
  (void)sum(h), (void)sum(d), (void)sum(n);
}

void integer_products(const Longs& n, const Tensor<std::int32_t, Cuda>& m) { (void)matmul(n, n), (void)matmul(m, m); }

void random_numbers() {
  (void)rand<float, Cuda>({2}), (void)randn<float, Cuda>({2}), (void)randn<half, Cuda>({2});
  (void)arange<float, Cuda>(3), (void)bernoulli<float, Cuda>(0.5, {2});
}

void dropped(const Floats& a) { dropout(relu(variable(a)), 0.1).backward(a); }

void attended(const Floats& a) {
  (void)scaled_dot_product_attention(a, a, a);
  const auto x = variable(a);
  scaled_dot_product_attention(x, x, x).backward(a);
}

void windows(const Floats& a) {
  const auto x = variable(a);
  max_pool2d(x, 2).backward(a);
  avg_pool2d(x, 2).backward(a);
  pad(x, {1, 1}, PadMode::reflect).backward(a);
  unfold(x, 0, 2, 1).backward(a);
}

}  // namespace canonical
