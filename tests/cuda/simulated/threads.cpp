// Data that threads share on the host's side of a GPU: the pool of memory and of streams, plans and timings of
// products, captured steps. Values are compared; ThreadSanitizer sees races if this is built with --threads.

#include <locus/locus.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <thread>
#include <vector>

using namespace locus;

namespace {
constexpr int threads = 3;

/// f(i) in threads of its own, for each i.
template <class F>
void in_threads(const F& f) {
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) team.emplace_back([&f, i] { f(i); });
  for (std::thread& thread : team) thread.join();
}

using Network = nn::Sequential<float, Cuda>;

[[nodiscard]] Network network() {
  manual_seed(5);
  return Network{nn::Linear<float, Cuda>{4, 6}, nn::Tanh{}, nn::Linear<float, Cuda>{6, 3}};
}

/// The losses of a few steps.
std::vector<float> train(const Network& model, const Tensor<float, Cuda>& x, const Tensor<std::int64_t, Cuda>& labels) {
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
  std::vector<float> losses;
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    const auto loss = cross_entropy(model(trace(x)), labels);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item());
  }
  return losses;
}
}  // namespace

TEST_CASE("threads train networks of their own from the same batch, each in its own stream") {
  Generator<Cpu> generator{1};
  const auto x = randn<float>({5, 4}, generator).to<Cuda>();
  const auto labels = from<std::int64_t>({0, 1, 2, 1, 0}).to<Cuda>();
  const std::vector<float> alone = train(network(), x, labels);
  std::vector<Network> models;
  for (int i = 0; i < threads; ++i) models.push_back(network());
  Stream<Cuda>::current().synchronize();  // which the threads' streams do not wait for
  std::vector<std::vector<float>> losses(threads);
  in_threads([&](int i) {
    const auto k = static_cast<std::size_t>(i);
    if (i == 0) {
      losses[k] = train(models[k], x, labels);
    } else {
      const Stream<Cuda> stream;
      losses[k] = with_stream(stream, [&] { return train(models[k], x, labels); });
    }
  });
  for (const auto& of_thread : losses) CHECK(of_thread == alone);
}

TEST_CASE("a tensor that one thread computes is used and freed by others, after its event") {
  std::optional<Tensor<float, Cuda>> x;
  const Stream<Cuda> stream;
  Event<Cuda> ready;
  std::thread([&] {
    x = with_stream(stream, [] { return (ones<float, Cuda>({1000}) * 3.0f).eval(); });
    ready = stream.record();
  }).join();
  std::vector<float> sums(threads);
  in_threads([&](int i) {
    Stream<Cuda>::current().wait(ready);
    const Tensor<float, Cuda> mine = *x;
    sums[static_cast<std::size_t>(i)] = sum(mine).item();
  });
  x.reset();
  for (const float of_thread : sums) CHECK(of_thread == 3000.0f);
}

TEST_CASE("threads time and use the plans of products") {
  cuda::autotune_gemm(true);
  const auto x = ones<float, Cuda>({8, 16}), y = ones<float, Cuda>({16, 8});
  Stream<Cuda>::current().synchronize();
  std::vector<float> sums(threads);
  in_threads([&](int i) {
    for (int n = 1; n <= 3; ++n) sums[static_cast<std::size_t>(i)] += sum(matmul(x, y.slice(1, 0, n))).item();
  });
  cuda::autotune_gemm(false);
  for (const float of_thread : sums) CHECK(of_thread == 8 * 16 * (1 + 2 + 3));
}

TEST_CASE("threads capture steps of their own and replay them") {
  std::vector<float> results(threads);
  in_threads([&](int i) {
    auto x = full<float, Cuda>({7}, static_cast<float>(i));
    auto step = capture<Cuda>([&] { x.copy_(x * 2.0f + 1.0f); });
    for (int n = 0; n < 3; ++n) step();
    results[static_cast<std::size_t>(i)] = sum(x).item();
  });
  for (int i = 0; i < threads; ++i)
    CHECK(results[static_cast<std::size_t>(i)] == 7 * (8.0f * static_cast<float>(i) + 7));
}

TEST_CASE("a loader copies the next batch from a thread of its own while this one is used") {
  const auto digits = data::Mnist::draw(300, {.seed = 3});
  float all = 0;
  for (const auto& batch : data::loader(digits.train, {.batch_size = 50}, Cuda{}))
    all += static_cast<float>(batch.labels.shape()[0]) + 0 * sum(batch.images.template as<float>()).item();
  CHECK(all == static_cast<float>(digits.train.size()));
}
