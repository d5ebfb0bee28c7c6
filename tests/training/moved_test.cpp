// Runs on: host.
// Using a moved-from object of any public class throws an error that names it. Values, such as options, histories and
// figures, are empty after a move, as a std::vector is; events and hooks are null.

#include <locus/data/sets/image_folder.hpp>
#include <locus/data/transforms/mixed.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/io/csv.hpp>
#include <locus/locus.hpp>
#include <locus/models/lenet5.hpp>
#include <locus/models/resnet.hpp>
#include <locus/nn/averaged_model.hpp>
#include <locus/nn/conv3d.hpp>
#include <locus/report/tensor_board.hpp>

#include <doctest/doctest.h>

#include <support/encoded_images.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <filesystem>

using namespace locus;
using namespace locus_test;

/// A layer of the user's own.
struct MovedLayer : nn::Layer<MovedLayer, float, Cpu> {
  nn::Linear<float, Cpu> inner{2, 2};
  [[nodiscard]] auto forward(const auto& x) const { return relu(inner(x)).eval(); }
  void members(const auto& visit) const { visit("inner", inner); }
};

namespace {

using Here = Tensor<float, Cpu>;

/// Each call throws ArgumentError with a message that names the moved-from object.
template <class... F>
void check_calls(const char* name, const F&... call) {
  CAPTURE(name);
  int number = 0;
  const auto check = [&](const auto& one) {
    CAPTURE(number++);
    CHECK(message_of<ArgumentError>(one) ==
          join("this ", name, " was moved from: it is empty; use the object that it was moved to"));
  };
  (check(call), ...);
}

/// A moved-from object works again after an assignment.
template <class X, class... F>
void check_object(const char* name, X& object, const F&... call) {
  X taken = std::move(object);
  check_calls(name, [&] { call(object); }...);
  object = std::move(taken);
  const auto works = [&](const auto& one) { CHECK_NOTHROW(one(object)); };
  (works(call), ...);
}

template <class M, class X>
void check_layer(const char* name, M layer, const X& x) {
  check_object(
      name, layer, [&](M& m) { (void)m(x); }, [](M& m) { (void)m.parameters(); }, [](M& m) { (void)m.clone(); });
}

}  // namespace

TEST_CASE("layers that were moved from") {
  const Here rows = randn({4, 2}), images = randn({2, 2, 3, 3});
  check_layer("Linear", nn::Linear<float, Cpu>{2, 2}, rows);
  check_layer("BatchNorm1d", nn::BatchNorm1d<float, Cpu>{2}, rows);
  check_layer("BatchNorm2d", nn::BatchNorm2d<float, Cpu>{2, {.affine = false, .track_running_stats = false}}, images);
  check_layer("LayerNorm", nn::LayerNorm<float, Cpu>{2}, rows);
  check_layer("RMSNorm", nn::RMSNorm<float, Cpu>{2}, rows);
  check_layer("GroupNorm", nn::GroupNorm<float, Cpu>{2, 2}, images);
  check_layer("InstanceNorm2d", nn::InstanceNorm2d<float, Cpu>{2}, images);
  check_layer("Conv1d", nn::Conv1d<float, Cpu>{2, 2, 1}, randn({2, 2, 3}));
  check_layer("Conv2d", nn::Conv2d<float, Cpu>{2, 2, 1}, images);
  check_layer("ConvTranspose2d", nn::ConvTranspose2d<float, Cpu>{2, 2, 1}, images);
  check_layer("Conv3d", nn::Conv3d<float, Cpu>{2, 2, 1}, randn({1, 2, 2, 2, 2}));
  check_layer("PReLU", nn::PReLU<float, Cpu>{2}, rows);
  check_layer("MovedLayer", MovedLayer{}, rows);
  check_layer("Sequential", nn::Sequential<float, Cpu>{nn::Linear<float, Cpu>{2, 2}, nn::ReLU{}}, rows);
  check_layer("Sequential", nn::Sequential<float, Cpu>{}, rows);  // without layers: returns its input
  check_layer("Module", nn::Module<float, Cpu>{nn::Linear<float, Cpu>{2, 2}}, rows);

  nn::Embedding<float, Cpu> embedding{3, 2};
  check_object("Embedding", embedding, [](auto& m) { (void)m(zeros<std::int64_t>({2})); });
  nn::Sequential<float, Cpu, std::int64_t> words{nn::Embedding<float, Cpu>{3, 2}};
  check_object(
      "Sequential", words, [](auto& m) { (void)m(zeros<std::int64_t>({2})); }, [](auto& m) { (void)m.parameters(); });
  nn::MultiheadAttention<float, Cpu> attention{4, 2};
  check_object(
      "MultiheadAttention", attention, [x = randn({1, 3, 4})](auto& m) { (void)m(x, x, x); },
      [](auto& m) { (void)m.parameters(); });
  models::LeNet5<float, Cpu> lenet;
  check_object(
      "LeNet5", lenet,
      [](auto& m) {
        (void)m(Here({1, 1, 28, 28}).fill_(1));
      },
      [](auto& m) { (void)m.clone(); });
}

TEST_CASE("what else a network says that was moved from, and a part of one") {
  nn::Sequential<float, Cpu> net{nn::Linear<float, Cpu>{2, 2}, nn::BatchNorm1d<float, Cpu>{2}};
  check_object(
      "Sequential", net, [](auto& m) { (void)m.size(); }, [](auto& m) { (void)m[0]; },
      [](auto& m) {
        (void)m(trace(ones({3, 2})));
      },
      [](auto& m) { (void)m.named_buffers(); }, [](auto& m) { (void)m.children(); }, [](auto& m) { m.zero_grad(); },
      [](auto& m) { (void)m.first(); },
      [](auto& m) {
        (void)m.forward(ones({3, 2}));
      },
      [](auto& m) { m.push_back(nn::ReLU{}); }, [](auto& m) { (void)m.template as<double>(); },
      [](auto& m) {
        (void)optim::Sgd{m.parameters(), {}};
      },
      [](auto& m) { (void)nn::load_state_dict(m, nn::state_dict(m)); });
  using Block = models::BasicBlock<float, Cpu>;
  models::Stage<Block> stage;
  CHECK(stage.empty());
  CHECK_THROWS_WITH_AS((void)stage.front(), "Stage: block 0 of 0", IndexError);
  CHECK_THROWS_WITH_AS((void)std::as_const(stage).back(), "Stage: block 0 of 0", IndexError);
  stage.push_back({2, 3}), stage.push_back({3, 2});
  CHECK((!stage.empty() && &stage.front() == &stage[0] && &stage.back() == &stage[1]));
  CHECK((&std::as_const(stage).front() == &stage[0] && &std::as_const(stage).back() == &stage[1]));
  check_layer("Stage", stage, randn({1, 2, 3, 3}));
  check_object(
      "Stage", stage, [](auto& m) { (void)m.size(); }, [](auto& m) { (void)m.empty(); }, [](auto& m) { (void)m[0]; },
      [](auto& m) { (void)m.front(); }, [](auto& m) { (void)std::as_const(m).back(); },
      [](auto& m) {
        for (const auto& block : std::as_const(m)) (void)block;
      },
      [](auto& m) {
        for (auto& block : m) (void)block;
      },
      [](auto& m) { (void)m.end(); }, [](auto& m) { (void)std::as_const(m).end(); },
      [](auto& m) {
        (void)m.forward(zeros({1, 2, 3, 3}));
      },
      [](auto& m) {
        (void)m.forward(trace(zeros({1, 2, 3, 3})));
      },
      [](auto& m) { m.requires_grad_(false); }, [](auto& m) { (void)m.template as<double>(); },
      [](auto& m) {
        m.push_back({2, 2});
      });
  nn::Module<float, Cpu> module = nn::Linear<float, Cpu>{2, 2};
  check_object(
      "Module", module,
      [](auto& m) {
        (void)m.forward(ones({3, 2}));
      },
      [](auto& m) { (void)m.activation(); }, [](auto& m) { (void)m.absorbs(nn::Activation::relu); },
      [](auto& m) { (void)m.type(); }, [](auto& m) { (void)m.template target<nn::Linear<float, Cpu>>(); },
      [](auto& m) {
        (void)m.forward_with(ones({3, 2}), nn::Activation::none);
      });
  nn::BatchNorm1d<float, Cpu> norm{2};
  check_object(
      "BatchNorm", norm,
      [](auto& m) {
        (void)m.forward(ones({3, 2}));
      },
      [](auto& m) { (void)m.shares_batch(); }, [](auto& m) { m.share_batch({}); });

  MovedLayer own;
  const auto inner = std::move(own.inner);
  check_calls(
      "Linear",
      [&] {
        (void)own(ones({3, 2}));
      },
      [&] { (void)own.parameters(); }, [&] { (void)own.clone(); });
}

TEST_CASE("tensors, parameters and what is made of them") {
  Here x = ones({2, 2});
  const Here y = std::move(x);
  CHECK(x.shape() == Shape{0});
  CHECK(message_of<ShapeError>([&] { (void)matmul(x, y); }) ==
        "matmul: (0,) x (2, 2): 0 columns meet 2 rows; expected (..., m, k) x (..., k, n)");
  CHECK_THROWS_AS((void)(x + y), ShapeError);
  CHECK_THROWS_AS(y.copy_(x), ShapeError);
  CHECK_THROWS_AS((void)x.item(), ShapeError);
  CHECK_THROWS_AS((void)x(0, 0), IndexError);
  CHECK_THROWS_AS((void)x.select(0, 0), IndexError);
  CHECK_THROWS_AS((void)max(x), ShapeError);
  CHECK(x.version() == Here().version());
  for ([[maybe_unused]] const float each : x) FAIL("no elements");
  (void)x.fill_(1).clone().contiguous().as<double>();

  Traced<float, Cpu> traced = variable(y);
  const auto other = std::move(traced);
  CHECK_FALSE(traced.requires_gradient());
  CHECK_THROWS_AS(traced.backward(), ShapeError);
  CHECK_THROWS_AS((void)traced.grad(), GraphError);
  CHECK_THROWS_AS((void)matmul(traced, other), ShapeError);
  traced.zero_grad();

  Parameter<float, Cpu> parameter(y.clone());
  const auto kept = std::move(parameter);
  CHECK_FALSE(parameter.defined());
  CHECK_FALSE(parameter.has_grad());
  CHECK_THROWS_AS((void)parameter.grad(), GraphError);
  CHECK_THROWS_AS((void)parameter.on_gradient([](const Here&) {}), ArgumentError);
  CHECK_THROWS_AS((void)matmul(y, parameter), ShapeError);
  CHECK_THROWS_AS(optim::Sgd(std::vector{parameter}, {}), ArgumentError);
  parameter.zero_grad();

  nn::Buffer<float, Cpu> buffer(y);
  nn::AnyBuffer<Cpu> any(buffer);
  check_object(
      "buffer", any, [](auto& b) { (void)b.type(); }, [](auto& b) { (void)b.shape(); },
      [](auto& b) { (void)b.device(); }, [](auto& b) { (void)b.bytes(); },
      [](auto& b) { (void)b.template value<float>(); });
  const auto taken = std::move(buffer);
  CHECK_FALSE(buffer.defined());
  CHECK(buffer.value().shape() == Shape{0});

  auto flat = flatten(std::vector{kept});
  check_object(
      "FlatParameters", flat, [](auto& f) { (void)f.size(); }, [](auto& f) { (void)f.range(0); },
      [](auto& f) { (void)f.values(); }, [](auto& f) { (void)f.gradients(); }, [](auto& f) { (void)f.parameters(); });
  GradientHook hook = kept.on_gradient([](const Here&) {});
  const GradientHook held = std::move(hook);
  CHECK_FALSE(hook);
  hook.unhook();

  AttentionMask<float, Cpu> mask(ones<bool>({3, 3}));  // a moved-from mask would mask nothing
  const Here q = randn({3, 4});
  check_object("AttentionMask", mask, [&](const auto& m) {
    (void)scaled_dot_product_attention(q, q, q, AttentionOptions<float, Cpu>{.mask = m});
  });
}

TEST_CASE("expressions that were moved from, and computed again where their result was") {
  const Here a = from({1, 2}), b = from({3, 4});
  const auto check = [](const auto& moved) {
    check_calls(
        "expression", [&] { (void)moved.eval(); }, [&] { (void)matmul(moved, moved); }, [&] { (void)(moved + moved); },
        [&] { (void)sum(moved); }, [&] { (void)moved.item(); });
  };
  auto fresh = a * b, computed = a * b, part = a * b;
  (void)computed.eval();
  const auto one = std::move(fresh), two = std::move(computed);
  const Here three = relu(std::move(part));
  check(fresh);
  check(computed);
  check(part);
  CHECK(sum(one + two + three).item() == 3 * 11);

  auto traced = variable(a) * b;
  const auto moved = std::move(traced);
  check_calls(
      "expression", [&] { (void)traced.eval(); }, [&] { traced.backward(b); });

  auto known = a * b;
  (void)known.eval();
  const Here result = std::move(known).eval();
  CHECK(sum(known).item() == 11);
}

TEST_CASE("optimizers, schedules, scalers and averages that were moved from") {
  const nn::Linear<float, Cpu> layer{2, 2};
  const auto check = [&](auto optimizer) { check_object("optimizer", optimizer, [](auto& o) { o.step(); }); };
  optim::Sgd one{layer.parameters(), {.momentum = 0.9}};
  check_object(
      "optimizer", one, [](auto& o) { o.step(); }, [](auto& o) { o.step(zeros<bool>({})); },
      [](auto& o) { o.zero_grad(); }, [](auto& o) { (void)o.parameters(); }, [](auto& o) { (void)o.lr(); },
      [](auto& o) { o.set_lr(0.1); }, [](auto& o) { (void)o.groups(); }, [](auto& o) { (void)o.steps(); },
      [](auto& o) { o.set_steps(std::vector<std::int64_t>(2)); }, [](auto& o) { (void)o.state(0, 0); },
      [](auto& o) { (void)optim::state_dict(o); });
  check(optim::Adam{layer.parameters()});
  check(optim::AdamW{layer.parameters()});
  check(optim::RMSprop{layer.parameters()});
  check(optim::Adadelta{layer.parameters()});
  check(optim::Adagrad{layer.parameters()});
  check(optim::Lion{layer.parameters()});

  optim::Sgd sgd{layer.parameters(), {}};
  optim::Scheduler scheduler{sgd, optim::StepLR{.step_size = 2}};
  const auto taken = std::move(scheduler);
  CHECK_FALSE(scheduler);
  const auto message = [&](const auto& call) { return message_of<ArgumentError>([&] { call(scheduler); }); };
  for (const auto& each :
       {message([](auto& s) { s.step(); }), message([](auto& s) { s.step(1); }), message([](auto& s) { (void)s.lr(); }),
        message([](auto& s) { (void)s.state(); }), message([](auto& s) { (void)s.steps(); })})
    CHECK(contains(each, "Scheduler: an empty one"));
  optim::Schedule schedule = optim::StepLR{.step_size = 2};
  check_object(
      "Schedule", schedule, [](auto& s) { (void)s.first(1, 1); }, [](auto& s) { (void)s.next(1, 1, 1); },
      [](auto& s) { (void)s.cycles_momentum(); }, [](auto& s) { (void)s.momentum(1, 1); },
      [&](auto& s) {
        (void)optim::Scheduler{sgd, s};
      });
  optim::SequentialLR chain{{optim::StepLR{.step_size = 2}}, {}};
  const auto kept = std::move(chain);
  CHECK_THROWS_AS((void)chain.first(1, 1), ArgumentError);
  CHECK_THROWS_AS((void)chain.next(1, 1, 1), ArgumentError);
  CHECK_THROWS_AS((void)chain.momentum(1, 1), ArgumentError);

  optim::GradScaler<Cpu> scaler, used;
  const auto in_use = std::move(used);
  check_calls(
      "GradScaler", [&] { used.step(sgd); }, [&] { used.update(); }, [&] { used.unscale(sgd); },
      [&] { used.with(sgd).step(); });
  check_object(
      "GradScaler", scaler, [](auto& s) { (void)s.scale_factor(); }, [](auto& s) { (void)s.skipped_steps(); },
      [](auto& s) { (void)s.state(); }, [](auto& s) { s.set_state({}); }, [](auto& s) { (void)s.device(); },
      [&](auto& s) {
        (void)s.scale(sum(layer(trace(ones({1, 2})))));
      });

  nn::AveragedModel average{layer};
  {
    const auto moved = std::move(average);
    check_calls(
        "AveragedModel", [&] { average.update(); }, [&] { (void)average.updates(); }, [&] { (void)average.module(); },
        [&] { (void)nn::state_dict(average); });
  }
  auto state = nn::state_dict(layer);
  check_object(
      "StateDict", state, [](auto& s) { (void)s.size(); }, [](auto& s) { (void)s.begin(); },
      [](auto& s) { (void)s.contains("weight"); }, [](auto& s) { (void)s.template get<float>("weight"); },
      [](auto& s) { (void)s.clone(); }, [](auto& s) { (void)s.template to<Cpu>(); },
      [&](auto& s) { (void)nn::load_state_dict(layer, s); }, [&](auto& s) { s.add(join("new", s.size()), ones({1})); });
}

TEST_CASE("data sets and loaders that were moved from") {
  const Here x = randn({6, 2});
  const auto y = arange<std::int64_t>(6);
  const auto check = [](const char* name, auto set) {
    check_object(
        name, set, [](auto& s) { (void)s.size(); }, [](auto& s) { (void)s.fields(); },
        [](auto& s) { (void)data::sample(s, 0); }, [](auto& s) { (void)data::Subset(s, {0}).size(); },
        [](auto& s) { (void)data::random_split(s, 0.5); }, [](auto& s) { (void)data::loader<Cpu>(s); },
        [](auto& s) { (void)data::concat(s, s); });
  };
  const data::TensorDataset rows{x, y};
  check("TensorDataset", rows);
  check("data set", data::map(rows, [](auto a, auto) { return a; }));
  check("data set", data::Subset(rows, {1, 3}));
  check("data set", data::concat(rows, rows));
  const data::LabelledImages images(zeros<std::uint8_t>({6, 1, 2, 2}), y, 6);
  check("data set", images);
  check("data set", data::transformed(images, data::compose(data::Normalize{0.5, 0.25})));
  check("data set", data::mixed(images));
  data::TensorDataset moved = rows;
  const auto tensors = std::move(moved).tensors();
  check_calls(
      "TensorDataset", [&] { (void)moved.tensors(); }, [&] { (void)std::move(moved).tensors(); });
#if LOCUS_JPEG && LOCUS_PNG
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path / "a");
  (void)folder.write("a/1.png", png(std::vector<Pixels>(2, Pixels(6, 1)), 2));
  (void)folder.write("a/2.png", png(std::vector<Pixels>(2, Pixels(6, 2)), 2));
  data::ImageFolder files(folder.path, {.size = 2});
  check_object(
      "data set", files, [](auto& s) { (void)s.size(); }, [](auto& s) { (void)s.classes(); },
      [](auto& s) { (void)s.class_names(); }, [](auto& s) { (void)s.path(0); },
      [](auto& s) { (void)data::sample(s, 0); });
#endif

  auto loader = data::loader<Cpu>(rows, {.batch_size = 2, .shuffle = true});
  check_object(
      "Loader", loader,
      [](auto& l) {
        for ([[maybe_unused]] const auto& batch : l) break;
      },
      [](auto& l) { (void)l.size(); }, [](auto& l) { (void)l.samples(); }, [](auto& l) { (void)l.dataset(); },
      [](auto& l) { (void)l.position(); },
      [](auto& l) {
        l.set_position({0, 0});
      },
      [](auto& l) { l.set_epoch(1); }, [](auto& l) { (void)l.repeats_samples(); });
  auto position = loader.begin();
  const auto goes_on = std::move(position);
  check_calls("iterator of a Loader", [&] { ++position; });
}

TEST_CASE("ranks, and what reads or writes files") {
  dist::spawn<Cpu>(1, [](const dist::Communicator<Cpu>& comm) {
    dist::Communicator<Cpu> mine = comm;
    const Here x = ones({2});
    check_object(
        "Communicator", mine, [](auto& c) { (void)c.rank(); }, [](auto& c) { (void)c.size(); },
        [](auto& c) { (void)c.device(); }, [&](auto& c) { c.all_reduce(x); }, [&](auto& c) { (void)c.all_reduced(x); },
        [&](auto& c) { (void)c.all_reduce_async(x).wait(); }, [&](auto& c) { c.broadcast(x); },
        [&](auto& c) { (void)c.all_gather(x); }, [](auto& c) { c.barrier(); },
        [](auto& c) { c.with_purpose(dist::Purpose::any).barrier(); }, [](auto& c) { c.expect_calls_in_backward(); },
        [](auto& c) { (void)c.is_called_in_backward(); });
    const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{2, 2}};
    auto parallel = dist::distributed(model, comm);
    check_object(
        "Distributed", parallel,
        [](auto& p) {
          (void)p(ones({1, 2}));
        },
        [](auto& p) {
          (void)p.forward(trace(ones({1, 2})));
        },
        [](auto& p) { (void)p.parameters(); }, [](auto& p) { (void)p.communicator(); },
        [](auto& p) { (void)p.no_sync(); }, [](auto& p) { (void)p.buckets(); }, [](auto& p) { (void)p.options(); });
    auto handle = comm.barrier_async();
    auto taken = std::move(handle);
    CHECK(contains(message_of<ArgumentError>([&] { std::move(handle).wait(); }), "no collective in flight"));
    std::move(taken).wait();
    dist::Communicator<Cpu> left = std::move(mine);
    mine.abort("does nothing");
  });
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{2, 2}};
  dist::DataParallel parallel{model, {Cpu{}}};
  check_object(
      "DataParallel", parallel,
      [](auto& p) {
        (void)p(ones({1, 2}));
      },
      [](auto& p) { (void)p.places(); }, [](auto& p) { (void)p.parameters(); });

  io::CsvTable table("x,y\n1,2");
  check_object(
      "CsvTable", table, [](auto& t) { (void)t.rows(); }, [](auto& t) { (void)t.columns(); },
      [](auto& t) { (void)t.contains("x"); }, [](auto& t) { (void)t.numbers(); }, [](auto& t) { (void)t.numbers("x"); },
      [](auto& t) {
        (void)t.numbers({"x", "y"});
      },
      [](auto& t) { (void)t.categories("y"); }, [](auto& t) { (void)t.categories("y", {"2"}); },
      [](auto& t) { (void)t.texts("x"); });
  const TemporaryFolder folder;
  io::TensorBoard board(folder.path);
  check_object(
      "TensorBoard", board, [](auto& b) { (void)b.path(); }, [](auto& b) { b.add_scalar("a", 1, 1); },
      [](auto& b) { b.add_text("a", "b", 1); }, [](auto& b) { b.add_histogram("a", ones({2}), 1); },
      [](auto& b) {
        b.add_image("a", zeros<std::uint8_t>({1, 1, 1}), 1);
      },
      [](auto& b) { b(EpochRecord{}); });
  Callback<EpochRecord> callback = board;
  const auto kept = std::move(callback);
  CHECK_FALSE(callback);
}
