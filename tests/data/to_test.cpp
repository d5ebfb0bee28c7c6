// Runs on: host, cuda (data).
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/labelled_images.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/data/to.hpp>
#include <locus/data/transforms/mixed.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

using namespace locus;
using namespace locus_test;

namespace {

template <class D>
struct Named {
  Tensor<float, D> x;
  Tensor<std::int64_t, D> y;
};
struct OfHost {
  Tensor<float, Cpu> x;
};
struct OfNumbers {
  int count;
};
struct Base {
  Tensor<float, Cpu> x;
};
struct WithBase : Base {
  Tensor<float, Cpu> y;
};
template <class D>
struct WithArray {
  Tensor<float, D> xs[2];
};
template <class D>
struct PartlyOfHost {
  Tensor<float, Cpu> x;
  Tensor<float, D> y;
};
template <class X>
struct Twofold {
  X x, y;
};
template <class X>
struct Owner {
  std::unique_ptr<X> x;
};

template <class X, class E>
concept Moves = requires(const X& x) { data::to<E>(x); };

template <class D>
using Floats = Tensor<float, D>;
using Mixed = data::MixedDataset<data::LabelledImages>;

static_assert(
    std::is_same_v<decltype(data::to<Cuda>(std::declval<data::Batch<half, Cpu>>())), data::Batch<half, Cuda>>);
static_assert(std::is_same_v<decltype(data::to<Cpu>(std::declval<Named<Cuda>>())), Named<Cpu>>);
static_assert(std::is_same_v<decltype(data::to<Pinned>(std::declval<Floats<Cpu>>())), Floats<Pinned>>);
static_assert(std::is_same_v<decltype(data::to<Cuda>(std::declval<nn::StateDict<Cpu>>())), nn::StateDict<Cuda>>);
static_assert(!Moves<OfHost, Cuda> && !Moves<OfNumbers, Cuda> && !Moves<int, Cuda> && !Moves<Tuple<>, Cuda>);
static_assert(!Moves<std::vector<int>, Cuda> && !Moves<std::pair<Floats<Cpu>, int>, Cuda>);
static_assert(!Moves<std::map<std::string, Floats<Cpu>>, Cuda>);
// Wrappers of tensors that are neither tuples nor aggregates, and aggregates that are not their tensors one by one.
static_assert(!Moves<std::optional<Floats<Cpu>>, Cuda> && !Moves<std::shared_ptr<Floats<Cpu>>, Cuda>);
static_assert(!Moves<std::unique_ptr<Floats<Cpu>>, Cuda> && !Moves<Owner<Floats<Cpu>>, Cuda>);
static_assert(!Moves<WithBase, Cuda> && !Moves<WithArray<Cpu>, Cuda> && !Moves<PartlyOfHost<Cpu>, Cuda>);
static_assert(Moves<Twofold<Floats<Cpu>>, Cuda> && !Moves<Twofold<int>, Cuda>);
template <class... X>
using Nine = std::tuple<X..., X..., X..., X..., X..., X..., X..., X..., X...>;
static_assert(!Moves<Nine<Floats<Cpu>>, Cuda>);

}  // namespace

LOCUS_DEVICE_TEST("a batch of a loader moves with its names", D) {
  const auto images = zeros<std::uint8_t>({5, 1, 2, 2});
  const data::LabelledImages set{images, arange<std::int64_t>(0, 5), 5};
  std::int64_t seen = 0;
  for (const auto& batch : data::loader<Cpu>(set, {.batch_size = 3})) {
    const auto [moved, labels] = data::to<D>(batch);
    static_assert(std::is_same_v<decltype(moved), const Tensor<float, D>>);
    CHECK(moved.shape() == batch.images.shape());
    for (const std::int64_t label : host(labels)) CHECK(label == seen++);
    CHECK(data::to<Cpu>(batch).images.data() == batch.images.data());  // there already
  }
  CHECK(seen == 5);
  const data::TensorDataset rows{ones({2, 3}), zeros({2}), arange<std::int64_t>(0, 2)};
  for (const auto& batch : data::loader<Cpu>(rows)) {
    const Tuple<Floats<D>, Floats<D>, Tensor<std::int64_t, D>> moved = data::to(batch, D{});
    CHECK_CLOSE(sum(get<0>(moved)), 6, 0);
    CHECK_CLOSE(get<2>(moved).template as<float>(), {0, 1}, 0);
  }
  for (const auto& batch : data::loader<Cpu>(Mixed(set, {}))) {
    const typename Mixed::template Batch<D> moved = data::to<D>(batch);
    CHECK(host(moved.shares)(0) == batch.shares(0));
  }
}

LOCUS_DEVICE_TEST("tuples, pairs, vectors, arrays and dictionaries move as they are nested", D) {
  const Tensor x = from({1, 2}), y = from({3, 4});
  const std::vector<Floats<D>> list = data::to<D>(std::vector{x, y});
  CHECK(list.size() == 2);
  CHECK_CLOSE(list[1], {3, 4}, 0);
  const std::pair<Floats<D>, std::array<Floats<D>, 2>> pair = data::to<D>(std::pair(x, std::array{x, y}));
  CHECK_CLOSE(pair.second[1], {3, 4}, 0);
  const std::tuple<Floats<D>, Named<D>> tuple = data::to<D>(std::tuple(y, Named<Cpu>{x, x.as<std::int64_t>()}));
  CHECK_CLOSE(std::get<1>(tuple).x, {1, 2}, 0);
  CHECK_CLOSE(get<1>(data::to<D>(Tuple(x, x + y))), {4, 6}, 0);
  nn::StateDict<Cpu> state;
  state.add("w", x);
  CHECK_CLOSE(data::to<D>(std::vector{state})[0].template get<float>("w"), {1, 2}, 0);
  CHECK(data::to<D>(std::vector<Tensor<float>>{}).empty());
}
