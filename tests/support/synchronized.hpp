#pragma once
// Compares batch normalization over ranks with one process that has the whole batch. Independent of the test framework,
// as collectives.hpp.

#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>

#include <support/collectives.hpp>

namespace locus_test {

/// Throws unless two tensors agree within an absolute plus relative tolerance.
template <class T, class D>
void require_near(const std::string& what, const Tensor<T, D>& x, const Tensor<T, D>& wanted, double tolerance) {
  const Tensor<T, Cpu> host = wanted.contiguous().template to<Cpu>();
  if (!(x.shape() == wanted.shape())) wrong(join(what, " has shape ", x.shape(), ", expected ", wanted.shape()));
  require_elements(what, x, [&](std::int64_t i) {
    const auto value = static_cast<double>(static_cast<compute_t<T>>(host.data()[i]));
    return Expected{value, tolerance * (1 + std::fabs(value))};
  });
}

/// The rows of a batch on rank `rank`: 2, 0, 4, and again.
struct RowsOfRank {
  std::int64_t begin = 0, count = 0;
  explicit RowsOfRank(int rank) {
    for (int r = 0; r < rank; ++r) begin += rows(r);
    count = rows(rank);
  }
  static std::int64_t rows(int rank) { return (2 + 4 * rank) % 6; }
};

/// Two training steps of a layer whose batch is divided over ranks, and inference.
template <class Layer>
void check_synchronized_layer(const dist::Communicator<typename Layer::device_type>& comm, Shape sample,
                              const nn::BatchNormOptions& options, double tolerance) {
  using T = typename Layer::value_type;
  using D = typename Layer::device_type;
  const RowsOfRank mine(comm.rank());
  const std::int64_t rows = RowsOfRank(comm.size()).begin, channels = sample[0];
  sample.insert(0, rows);
  const Layer alone(channels, options, comm.device()), layer(channels, options, comm.device());
  const Layer as_clone = layer;
  if (dist::synchronize_batch_norm(as_clone, comm) != 1) wrong("synchronize_batch_norm found no layer");
  const auto rows_of_mine = [&](const auto& x) { return x.slice(0, mine.begin, mine.begin + mine.count).contiguous(); };
  for (int step = 0; step < 2; ++step) {
    const Tensor<T, D> x = of_rank<T, D>(100 + step, sample, comm.device());
    x.copy_(x * T(0.5f) + T(3));
    const Tensor<T, D> cotangent = of_rank<T, D>(200 + step, sample, comm.device());
    const auto whole = variable(x), part = variable(rows_of_mine(x));
    const auto y = alone(whole), y_part = layer(part);
    y.backward(cotangent);
    y_part.backward(rows_of_mine(cotangent));
    require_near("y", y_part.value(), rows_of_mine(y.value()), tolerance);
    if (mine.count > 0) require_near("gradient of x", part.grad(), rows_of_mine(whole.grad()), tolerance);
    if (options.track_running_stats) {
      require_near("running mean", layer.running_mean.value(), alone.running_mean.value(), tolerance);
      require_near("running variance", layer.running_var.value(), alone.running_var.value(), tolerance);
      require_same_bits("running variance", comm, layer.running_var.value());
      require_near("number of batches", layer.num_batches_tracked.value(), alone.num_batches_tracked.value(), 0);
    }
  }
  if (options.affine) {
    require_near("gradient of the weight", comm.all_reduced(layer.weight.grad()), alone.weight.grad(), tolerance);
    require_near("gradient of the bias", comm.all_reduced(layer.bias.grad()), alone.bias.grad(), tolerance);
  }
  if (comm.rank() != 0) return;  // the checks below need one rank
  const Tensor<T, D> x = of_rank<T, D>(300, sample, comm.device());
  require_near("inference", layer(x), alone(x), tolerance);
  require_near("inference of what is frozen", layer(frozen(variable(x))).value(), alone(frozen(trace(x))).value(),
               tolerance);
}

template <class D>
void check_synchronized_batch_norm(const dist::Communicator<D>& comm) {
  check_synchronized_layer<nn::BatchNorm1d<double, D>>(comm, {3}, {}, 1e-12);
  check_synchronized_layer<nn::BatchNorm1d<float, D>>(comm, {5}, {.momentum = std::nullopt}, 1e-5);
  check_synchronized_layer<nn::BatchNorm2d<float, D>>(comm, {2, 3, 4}, {.eps = 1e-3, .momentum = 0.3}, 1e-5);
  check_synchronized_layer<nn::BatchNorm2d<float, D>>(comm, {3, 2, 2}, {.affine = false}, 1e-5);
  check_synchronized_layer<nn::BatchNorm1d<float, D>>(comm, {2, 4}, {.track_running_stats = false}, 1e-5);
  check_synchronized_layer<nn::BatchNorm1d<bfloat16, D>>(comm, {4}, {}, 6e-2);
}

}  // namespace locus_test
