// Runs on: host, cuda (models).
// Features of larger networks together: state, moves, copies, hooks, data of any kind, and fit.

#include <locus/locus.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// Adds up its inputs.
template <class T, Device D>
struct Tracker : nn::Layer<Tracker<T, D>, T, D> {
  nn::Linear<T, D> inner{8, 8};
  nn::Buffer<T, D> seen{zeros<T, D>({8})};

  template <TensorLike X>
  auto forward(const X& x) const {
    seen.value() += sum(x.value(), 0);
    return inner(x);
  }
  void members(const auto& visit) const { visit("inner", inner), visit("seen", seen); }
  template <class U, class E> auto twin() const { return Tracker<U, E>{}; }
};

}  // namespace

LOCUS_DEVICE_TEST("a layer with a buffer is traced, moved and copied", D) {
  Tracker<float, D> tracker;
  (void)tracker(ones<float, D>({2, 8}));
  sum(tracker(trace(ones<float, D>({3, 8})))).backward();
  CHECK(tracker.parameters()[0].has_grad());
  CHECK_CLOSE(tracker.seen.value(), Reference({8}, std::vector<double>(8, 5)));
  const auto twin = tracker.clone();
  const auto served = std::move(tracker).template to<Cpu>();
  CHECK_CLOSE(served.seen.value(), Reference({8}, std::vector<double>(8, 5)));
  (void)served(ones<float, Cpu>({1, 8}));
  CHECK_CLOSE(twin.seen.value(), Reference({8}, std::vector<double>(8, 5)));
}

LOCUS_DEVICE_TEST("a network from int64 to float is trained with hooks on a split of a table, served on the host", D) {
  manual_seed(1);
  nn::Sequential model{nn::Embedding<float, D>{27, 16}, nn::Flatten{}, nn::Linear<float, D>{48, 32},
                       nn::BatchNorm1d<float, D>{32},   nn::ReLU{},    nn::Dropout{0.1},
                       nn::Linear<float, D>{32, 27}};
  static_assert(std::is_same_v<decltype(model), nn::Sequential<float, D, std::int64_t>>);
  const Tensor letters = randint<std::int64_t>(0, 27, {200, 3});
  auto [train, valid] = data::random_split(data::TensorDataset{letters, letters.select(1, 1)}, 0.8);  // the middle one
  auto batches = data::loader<D>(train, {.batch_size = 32, .shuffle = true, .workers = 2});
  for (auto [before, next] : batches) CHECK(before.size(0) == next.size(0));

  int gradients = 0;
  const auto hook = model.parameters()[0].on_gradient([&](const Tensor<float, D>&) { ++gradients; });
  optim::Adam optimizer{model.parameters(), {.lr = 0.02}};
  History history;
  const nn::CrossEntropyLoss loss{{.label_smoothing = 0.1}};
  fit(model, optimizer, loss, batches, data::loader<D>(valid), history,
      {.epochs = 8, .capture = false, .on_epoch = [](const EpochRecord& epoch) { return epoch.epoch < 6; }},
      Metric{"accuracy", Accuracy{}});
  CHECK(history.records().size() == 6);
  CHECK(gradients == 6 * 5);
  CHECK(history.last().metric("accuracy") > 0.5);
  CHECK(history.last().valid_loss < history.records()[0].valid_loss);

  const auto served = std::move(model).template to<Cpu>();
  const auto twin = served.clone();
  CHECK(evaluate(twin, loss, data::loader<Cpu>(valid)).loss ==
        doctest::Approx(history.last().valid_loss).epsilon(1e-4));
  CHECK(twin.named_buffers().size() == 3);
}
