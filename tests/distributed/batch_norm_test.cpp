// Runs on: host.
// Batch normalization by the statistics of all ranks.

#include <locus/distributed/model/batch_norm.hpp>

#include <locus/autograd/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/nn/activation.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <golden/golden.hpp>
#include <support/synchronized.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {

/// A layer of the user's own, with a batch normalization among its members.
struct Block : nn::Layer<Block, float, Cpu> {
  nn::Linear<float, Cpu> linear{4, 3};
  nn::BatchNorm1d<float, Cpu> norm{3};
  auto forward(const auto& x) const { return norm(linear(x)); }
  void members(const auto& visit) const { visit("linear", linear), visit("norm", norm); }
};

/// Has a layer before its head that a rank may leave out, with as many numbers as normalized channels.
struct Fork : nn::Layer<Fork, float, Cpu> {
  nn::Linear<float, Cpu> first{6, 8}, extra{1, 8}, head{8, 2};
  nn::BatchNorm1d<float, Cpu> norm{8};
  auto forward(const auto& x) const { return head((norm(first(x)) + extra(x.slice(1, 0, 1))).eval()); }
  void members(const auto& visit) const {
    visit("first", first), visit("norm", norm), visit("extra", extra), visit("head", head);
  }
};
enum class Omitted { nothing, extra, head };
[[nodiscard]] Fork new_fork() {
  const Fork model;
  Generator<Cpu> numbers{3};
  for (const auto& p : model.parameters()) p.value().copy_(randn<float>(p.shape(), numbers));
  return model;
}
/// The loss of a rank, which may leave out one layer: normalized (8, 8), samples (8, 6).
[[nodiscard]] auto loss_of_fork(const Fork& model, const auto& normalized, const Tensor<float>& x, Omitted omitted) {
  if (omitted == Omitted::head) return mean(square(normalized)).eval();
  if (omitted == Omitted::extra) return mean(square(model.head(normalized))).eval();
  return mean(square(model.head((normalized + model.extra(trace(x.slice(1, 0, 1)))).eval()))).eval();
}
/// Gradients of one process with the samples of two ranks; the second rank leaves out a layer.
[[nodiscard]] Tensor<float> gradients_of_one(const Tensor<float>& x, Omitted omitted) {
  const Fork model = new_fork();
  const auto normalized = model.norm(model.first(trace(x))).eval();
  const auto first = loss_of_fork(model, normalized.slice(0, 0, 8), x.slice(0, 0, 8), Omitted::nothing);
  const auto second = loss_of_fork(model, normalized.slice(0, 8, 16), x.slice(0, 8, 16), omitted);
  ((first + second) / 2.f).eval().backward();
  return nn::flatten(model).gradients().clone();
}
/// The gradients of the ranks.
[[nodiscard]] Tensor<float> gradients_of_ranks(const Tensor<float>& x, Omitted omitted,
                                               const dist::DistributedOptions& options, bool synchronizes_first) {
  Tensor<float> gradients;
  dist::spawn<Cpu>(2,
                   [&](dist::Communicator<Cpu> comm) {
                     const Fork model = new_fork();
                     if (synchronizes_first) dist::synchronize_batch_norm(model, comm);
                     const auto parallel = dist::distributed(model, comm, options);
                     if (!synchronizes_first) dist::synchronize_batch_norm(model, comm);
                     if (options.weigh_by_samples) parallel.weigh(8);
                     const Tensor<float> mine = x.slice(0, 8 * comm.rank(), 8 * comm.rank() + 8);
                     const auto normalized = model.norm(model.first(trace(mine))).eval();
                     loss_of_fork(model, normalized, mine, comm.rank() == 0 ? Omitted::nothing : omitted).backward();
                     if (comm.rank() == 0) gradients = nn::flatten(model).gradients().clone();
                   },
                   {.timeout = 20});
  return gradients;
}

/// A training step of the golden run; ranks share its batch, from the rows in `begins`.
void check_golden(const std::string& name, const std::vector<std::int64_t>& begins) {
  const int ranks = static_cast<int>(begins.size()) - 1;
  CAPTURE(name);
  CAPTURE(ranks);
  CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [&](dist::Communicator<Cpu> comm) {
    const nn::BatchNorm1d<double, Cpu> layer(3);
    layer.weight.value().copy_(golden::tensor<double, Cpu>("bn1d_weight"));
    layer.bias.value().copy_(golden::tensor<double, Cpu>("bn1d_bias"));
    dist::synchronize_batch_norm(layer, comm);
    const auto rank = static_cast<std::size_t>(comm.rank());
    const auto part = [&](const std::string& what) {
      return golden::tensor<double, Cpu>(what).slice(0, begins[rank], begins[rank + 1]).contiguous();
    };
    for (int step = 0; step < 3; ++step) {
      const std::string number = std::to_string(step), run = name + "_train" + number;
      layer.zero_grad();
      const auto x = variable(part(name + "_x" + number));
      const auto y = layer(x);
      y.backward(part(run + "_cotangent"));
      require_near("y", y.value(), part(run), 1e-10);
      require_near("dx", x.grad(), part(run + "_dx"), 1e-10);
      require_near("dweight", comm.all_reduced(layer.weight.grad()), golden::tensor<double, Cpu>(run + "_dweight"),
                   1e-10);
      require_near("dbias", comm.all_reduced(layer.bias.grad()), golden::tensor<double, Cpu>(run + "_dbias"), 1e-10);
      require_near("means", layer.running_mean.value(),
                   golden::tensor<double, Cpu>(name + "_means").select(0, step).contiguous(), 1e-10);
      require_near("vars", layer.running_var.value(),
                   golden::tensor<double, Cpu>(name + "_vars").select(0, step).contiguous(), 1e-10);
    }
  }));
}

}  // namespace

TEST_CASE("ranks with parts of a batch normalize as one process with all of it") {
  for (const int ranks : {1, 2, 3, 4}) {
    CAPTURE(ranks);
    CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [](dist::Communicator<Cpu> comm) { check_synchronized_batch_norm(comm); }));
  }
}

TEST_CASE("values, gradients and running statistics are PyTorch's of the whole batch") {
  check_golden("bn1d", {0, 2, 5});
  check_golden("bn1d", {0, 0, 1, 5});
  check_golden("bn1d", {0, 1, 2, 4, 5});
}

TEST_CASE("every layer of a model is found, wherever it stands") {
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    const nn::Sequential<float, Cpu> model{Block{}, nn::ReLU{}, nn::BatchNorm1d<float, Cpu>{3},
                                           nn::Sequential<float, Cpu>{nn::BatchNorm1d<float, Cpu>{3}}};
    CHECK(dist::synchronize_batch_norm(model, comm) == 3);
    const nn::Sequential<float, Cpu> plain{nn::Linear<float, Cpu>{4, 3}};
    CHECK(dist::synchronize_batch_norm(plain, comm) == 0);
    const Block block;
    CHECK(dist::synchronize_batch_norm(block, comm) == 1);
    CHECK(block.norm.shares_batch());
  });
}

TEST_CASE("a clone stays synchronized, and what happens to it later is its own") {
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    const nn::BatchNorm1d<float, Cpu> layer(2);
    const auto before = layer.clone();
    dist::synchronize_batch_norm(layer, comm);
    const auto after = layer.clone();
    CHECK_FALSE(before.shares_batch());
    CHECK(after.shares_batch());
    after.share_batch({});
    CHECK(layer.shares_batch());
    const auto x = of_rank<float, Cpu>(comm.rank(), {3, 2}, Cpu{});
    (void)layer(trace(x));
    CHECK(std::move(layer).as<double>().shares_batch() == false);
  });
}

TEST_CASE("one rank shares nothing, and one value per channel is refused as in a process alone") {
  dist::spawn<Cpu>(1, [](dist::Communicator<Cpu> comm) {
    const nn::BatchNorm1d<float, Cpu> layer(2);
    CHECK(dist::synchronize_batch_norm(layer, comm) == 1);
    CHECK_FALSE(layer.shares_batch());
    CHECK_THROWS_AS((void)layer(trace(ones({1, 2}))), ArgumentError);
  });
}

TEST_CASE("a batch that no rank has anything of teaches nothing but the count") {
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    const nn::BatchNorm1d<float, Cpu> layer(2);
    dist::synchronize_batch_norm(layer, comm);
    CHECK(layer(trace(zeros({0, 2}))).shape() == Shape{0, 2});
    require_near("mean", layer.running_mean.value(), zeros({2}), 0);
    require_near("variance", layer.running_var.value(), ones({2}), 0);
    CHECK(layer.num_batches_tracked.value().item() == 1);
  });
}

TEST_CASE("a checkpoint meets the other ranks again, and learns once") {
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    const nn::BatchNorm1d<double, Cpu> layer(3), kept(3);
    dist::synchronize_batch_norm(layer, comm);
    dist::synchronize_batch_norm(kept, comm);
    const auto x = of_rank<double, Cpu>(comm.rank(), {2 + comm.rank(), 3}, Cpu{});
    const auto a = variable(x), b = variable(x);
    sum(square(checkpoint(layer, a)) * x).backward();
    sum(square(kept(b)) * x).backward();
    require_near("gradient", a.grad(), b.grad(), 0);
    require_near("mean", layer.running_mean.value(), kept.running_mean.value(), 0);
    CHECK(layer.num_batches_tracked.value().item() == 1);
  });
}

TEST_CASE("gradients of ranks, of which one leaves out a layer, are those of one process") {
  Generator<Cpu> samples{7};
  const Tensor<float> x = randn<float>({16, 6}, samples);
  for (const Omitted omitted : {Omitted::nothing, Omitted::extra, Omitted::head}) {
    const Tensor<float> expected = gradients_of_one(x, omitted);
    for (const bool overlap : {false, true}) {
      for (const bool weighs : {false, true}) {
        CAPTURE(static_cast<int>(omitted));
        CAPTURE(overlap);
        CAPTURE(weighs);
        const dist::DistributedOptions options{
            .bucket_bytes = 1, .first_bucket_bytes = 1, .overlap = overlap, .weigh_by_samples = weighs};
        Tensor<float> gradients = zeros({1});
        CHECK_NOTHROW(gradients = gradients_of_ranks(x, omitted, options, true));
        require_near("gradients", gradients, expected, 1e-5);
        CHECK_NOTHROW(gradients = gradients_of_ranks(x, omitted, options, false));
        require_near("gradients", gradients, expected, 1e-5);
      }
    }
  }
}

TEST_CASE("a collective of batch normalization never meets one of the same size that is for something else") {
  CHECK_THROWS_WITH_AS(dist::spawn<Cpu>(2,
                                        [](dist::Communicator<Cpu> comm) {
                                          const nn::BatchNorm1d<float, Cpu> layer(2);
                                          dist::synchronize_batch_norm(layer, comm);
                                          if (comm.rank() == 0) (void)layer(trace(ones({3, 2})));
                                          else (void)comm.all_gather(ones({3, 2}));
                                        }),
                       doctest::Contains("all_gather(6 x float32) of batch normalization"), CollectiveError);
}

TEST_CASE("ranks normalize channels whose squares overflow, or vanish and eps is 0, as one process does") {
  for (const int exponent : {66, 100, -84, -110}) {
    CAPTURE(exponent);
    dist::spawn<Cpu>(3, [exponent](dist::Communicator<Cpu> comm) {
      const nn::BatchNormOptions options{.eps = 0};
      const nn::BatchNorm1d<float, Cpu> layer(3, options), alone(3, options);
      dist::synchronize_batch_norm(layer, comm);
      const RowsOfRank mine(comm.rank());
      const Tensor<float> x = of_rank<float, Cpu>(5, {RowsOfRank(3).begin, 3}, Cpu{});
      const Tensor<float> scaled = (x * std::ldexp(1.f, exponent)).eval();
      const auto part = variable(scaled.slice(0, mine.begin, mine.begin + mine.count).contiguous());
      const auto expected = alone(trace(x)).value().slice(0, mine.begin, mine.begin + mine.count);
      require_near("y", layer(part).value(), expected, 1e-5);
    });
  }
}

TEST_CASE("a rank that leaves is named by those that wait for its batch") {
  int at_fault = -1;
  CHECK_THROWS(dist::spawn<Cpu>(2, [&](dist::Communicator<Cpu> comm) {
    const nn::BatchNorm1d<float, Cpu> layer(2);
    dist::synchronize_batch_norm(layer, comm);
    if (comm.rank() == 1) return;
    try {
      (void)layer(trace(ones({3, 2})));
    } catch (const CollectiveError& error) {
      at_fault = error.rank;
      throw;
    }
  }));
  CHECK(at_fault == 1);
}
