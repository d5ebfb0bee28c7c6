// Writes models as ONNX files, with inputs and the outputs that Locus computes: onnx_export_test.py runs them.
//
// usage: onnx_exports FOLDER

#include <locus/interop/onnx/forms/recurrent.hpp>
#include <locus/interop/onnx_export.hpp>
#include <locus/io/npy.hpp>
#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/lenet5.hpp>
#include <locus/models/mlp.hpp>
#include <locus/models/resnet.hpp>
#include <locus/ops/grid_sample.hpp>
#include <locus/ops/local_response_norm.hpp>
#include <locus/ops/pool3d.hpp>
#include <locus/ops/pool_indices.hpp>
#include <locus/ops/sort.hpp>

#include <iostream>

using namespace locus;

namespace {

std::string folder;

template <class X>
void save_case(const std::string& name, std::int64_t size, const X& x, const auto& y) {
  const std::string stem = join(folder, "/", name, ".", size);
  io::save_npy(stem + ".input.npy", x);
  io::save_npy(stem + ".output.npy", y);
}

/// Writes a model, and its results for batches of several sizes; make(size) gives a batch.
template <class... Own, class M>
void batches(const std::string& name, const M& model, const auto& make, const onnx::ExportOptions& options = {}) {
  onnx::save<Own...>(join(folder, "/", name, ".onnx"), model, make(2), options);
  for (const std::int64_t size : {1, 2, 5}) {
    const auto x = make(size);
    save_case(name, size, x, model(x).eval());
  }
}

/// x / (1 + |x|), a scalar function of a program.
struct Soft {
  template <class T> LOCUS_FN T operator()(T x) const { return x / (T(1) + (x < T(0) ? -x : x)); }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    const T rest = T(1) - (y < T(0) ? -y : y);
    return rest * rest;
  }
  onnx::Value to_onnx(onnx::Recorder& graph, const onnx::Value& x) const {
    return graph.node("Div", {x, graph.node("Add", {graph.number(1, x), graph.node("Abs", {x})})});
  }
};
/// x times the mean of its rows, an operation of a program.
struct ByMean {
  static constexpr const char* name = "by_mean";
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const Tensor<T, D> y = x * mean(x, -1, true);
    return Forwarded{y, Tuple(x)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& x = get<0>(saved);
    dx.give(g * mean(x, -1, true) + mean(g * x, -1, true));
  }
  onnx::Value to_onnx(onnx::Recorder& graph, const onnx::Value& x) const {
    return graph.node("Mul", {x, graph.node("ReduceMean", {x, graph.extents({-1})})});
  }
};

/// Attention written by hand, a residual connection, slices, joins and functions of a program.
template <class T, class D>
struct Mixed final : nn::Layer<Mixed<T, D>, T, D> {
  nn::Linear<T, D> query, key, value, out;
  Parameter<T, D> scale;
  explicit Mixed(std::int64_t width)
      : query(width, width), key(width, width), value(width, width), out(width, width), scale(ones<T, D>({width})) {}
  template <class X>
  auto forward(const X& x) const {
    const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const auto heads = [&](const auto& y) { return permute(reshape(y, {batch, length, 2, width / 2}), {0, 2, 1, 3}); };
    const auto scores = matmul(heads(query(x)), transpose(heads(key(x)))) / math::sqrt(static_cast<double>(width / 2));
    const auto mixed = matmul(softmax(scores, -1), heads(value(x)));
    const auto joined = reshape(permute(mixed, {0, 2, 1, 3}), {batch, length, width});
    const auto y = (x + out(joined) * scale).eval();
    const auto soft = elementwise(Soft{}, y).eval(), weighed = apply(ByMean{}, y);
    const auto parts = concat(0, slice(soft, 1, 0, length - 1), slice(weighed, 1, 1));
    return where(parts > 0, parts, tanh(parts) * 0.5) + reshape(max(parts, -1, true), {2 * batch, length - 1, 1});
  }
  void members(const auto& visit) const {
    visit("query", query), visit("key", key), visit("value", value), visit("out", out), visit("scale", scale);
  }
  template <class U, class E> auto twin() const { return Mixed<U, E>(query.weight.size(0)); }
};

/// Recurrent layers of each kind, their states, and a cell.
template <class T, class D>
struct Recurrent final : nn::Layer<Recurrent<T, D>, T, D> {
  nn::LSTM<T, D> lstm;
  nn::GRU<T, D> gru;
  nn::RNN<T, D> rnn;
  nn::LSTMCell<T, D> cell;
  explicit Recurrent(std::int64_t width)
      : lstm(width, 5, {.num_layers = 2, .batch_first = true, .bidirectional = true}),
        gru(10, 6, {.bias = false, .batch_first = true}),
        rnn(6, 4, {.nonlinearity = nn::init::Nonlinearity::relu, .batch_first = true}),
        cell(4, 4) {}
  template <class X>
  auto forward(const X& x) const {
    const auto [first, state] = lstm(x);
    const auto [second, last] = gru(first);
    const auto third = rnn(second).output;
    const auto ends = cell(select(third, 1, 0), cell(select(third, 1, 1)));
    return concat(1, flatten(third, 1), ends.c, select(state.c, 0, 3), select(last, 0, 0));
  }
  void members(const auto& visit) const {
    visit("lstm", lstm), visit("gru", gru), visit("rnn", rnn), visit("cell", cell);
  }
  template <class U, class E> auto twin() const { return Recurrent<U, E>(lstm.weights[0].weight_ih.size(1)); }
};

/// Trains a model for some steps, so that running statistics differ from their first values.
template <class M>
void train_a_little(const M& model, const auto& make) {
  for (int step = 0; step < 3; ++step) (void)model(trace(make(4)));
}

void write_all() {
  const auto rows = [](std::int64_t size) { return randn<float>({size, 12}); };
  const auto images = [](std::int64_t size) { return randn<float>({size, 3, 16, 16}); };
  const auto features = [](std::int64_t size) { return randn<float>({size, 6, 8}); };

  batches("mlp", models::mlp<float>({12, 16, 5}, {.dropout = 0.5}), rows);
  batches("recurrent", Recurrent<float, Cpu>{7}, [](std::int64_t size) { return randn<float>({size, 4, 7}); });
  batches("lenet5", models::lenet5<float>(), [](std::int64_t size) { return randn<float>({size, 1, 28, 28}); });
  const auto resnet = models::resnet18<float>({.classes = 7, .small_images = true, .width = 8});
  train_a_little(resnet, images);
  batches("resnet18", resnet, images, {.inputs = {"images"}, .outputs = {"scores"}, .metadata = {{"classes", "7"}}});

  const nn::Sequential<float, Cpu> vision{nn::Conv2d<float, Cpu>{3, 8, 3, {.padding = "same"}},
                                          nn::BatchNorm2d<float, Cpu>{8},
                                          nn::ReLU{},
                                          nn::MaxPool2d{2},
                                          nn::Conv2d<float, Cpu>{8, 8, 3, {.stride = 1, .padding = 1, .groups = 2}},
                                          nn::GroupNorm<float, Cpu>{4, 8},
                                          nn::SiLU{},
                                          nn::InstanceNorm2d<float, Cpu>{8},
                                          nn::PReLU<float, Cpu>{8},
                                          nn::AvgPool2d{2},
                                          nn::Upsample{{.scale_factor = 2}},
                                          nn::PixelShuffle{2},
                                          nn::PixelUnshuffle{2},
                                          nn::ConvTranspose2d<float, Cpu>{8, 4, 3, {.stride = 2, .padding = 1}},
                                          nn::Hardswish{},
                                          nn::Upsample{{.size = 12, .mode = InterpolateMode::bilinear}},
                                          nn::Dropout2d{0.5},
                                          nn::AdaptiveAvgPool2d{2},
                                          nn::Flatten{},
                                          nn::Linear<float, Cpu>{16, 6},
                                          nn::Sigmoid{}};
  train_a_little(vision, images);
  batches("vision", vision, images);

  const nn::Sequential<float, Cpu> signals{nn::Conv1d<float, Cpu>{6, 6, 3, {.padding = 1}},
                                           nn::BatchNorm1d<float, Cpu>{6},
                                           nn::LeakyReLU{0.2},
                                           nn::MaxPool1d{2},
                                           nn::AvgPool1d{2},
                                           nn::Flatten{},
                                           nn::Linear<float, Cpu>{12, 16},
                                           nn::LayerNorm<float, Cpu>{16},
                                           nn::GELU<>{},
                                           nn::RMSNorm<float, Cpu>{16},
                                           nn::Linear<float, Cpu>{16, 16, false},
                                           nn::ELU{},
                                           nn::Mish{},
                                           nn::Softplus{},
                                           nn::Tanh{},
                                           nn::GELU<GeluForm::tanh>{},
                                           nn::Unflatten{1, {4, 4}},
                                           nn::MultiheadAttention<float, Cpu>{4, 2},
                                           nn::LogSoftmax{-1},
                                           nn::Dropout{0.5},
                                           nn::Softmax{1},
                                           nn::Identity{}};
  batches("signals", signals, features);
  const nn::Sequential words{nn::Embedding<float, Cpu>{11, 4}, nn::Flatten{}, nn::Linear<float, Cpu>{12, 3}};
  batches("words", words, [](std::int64_t size) { return randint<std::int64_t>(0, 11, {size, 3}); });
  batches("mixed", Mixed<float, Cpu>{8}, [](std::int64_t size) { return randn<float>({size, 6, 8}); });
  batches("halves", models::mlp<float>({12, 16, 5}).as<half>(), [](std::int64_t n) { return randn<half>({n, 12}); });

  const auto sampled = [](const auto& x) {
    const auto grid = permute(tanh(slice(x, 1, 0, 2)).eval(), {0, 2, 3, 1});
    const auto cubic = grid_sample(
        x, grid, {.mode = SampleMode::bicubic, .padding_mode = SamplePadding::reflection, .align_corners = true});
    return (grid_sample(x, grid) + cubic).eval();
  };
  batches("sampled", sampled, images);
  const auto volumes = [](const auto& x) {
    const auto volume = unsqueeze(x, 1);
    const auto pooled = avg_pool3d(max_pool3d(volume, {2, 2, 2}, {1, 2, 2}), {2, 1, 2}, {1, 1, 2});
    return local_response_norm(adaptive_max_pool2d(squeeze(pooled, 2), {4, 2}), 1);
  };
  batches("volumes", volumes, images);

  const auto arranged = [](const auto& x) {
    const std::int64_t batch = x.size(0);
    const auto row = [&](const auto& y) { return reshape(y, {batch, -1}).eval(); };
    return concat(1, row(roll(x, {2, -3}, {1, 2})), row(unfold(x, 2, 3, 2)), row(unfold(x, -1, 2, 1, 3)),
                  row(diagonal(x, 1, 1, 2)), row(diagonal(x, -2, 2, 1)));
  };
  batches("arranged", arranged, features);
  const auto ordered = [](const auto& x) {
    const auto [sorted, order] = sort(x, 1);
    const auto [largest, places] = topk(x, 3);
    const auto [best, position] = max_with_indices(x, 2);
    const auto smallest = gather(square(x).eval(), 1, argmin(x, 1, true));
    const auto again = gather(square(x).eval(), 1, order) + sorted;
    return concat(2, largest, gather(tanh(x).eval(), 2, places), again.eval(), best.unsqueeze(2)) + sum(smallest);
  };
  batches("ordered", ordered, features);
  batches(
      "positions", [](const auto& x) { return argmax(x, 1, true); }, features);
  batches(
      "places", [](const auto& x) { return sort(x, -1, true).indices; }, features);
  const auto angles = [](const auto& x) {
    const auto y = slice(x, 1, 0, 6), z = slice(x, 1, 6, 12);
    const auto on_axes = atan2(where(y > 0.5, y, 0), where(z > 0.5, z, 0)).eval();
    return concat(1, atan2(y, z).eval(), on_axes, erfinv(tanh(x)).eval(), erfinv(x * 1e-3).eval());
  };
  batches("angles", angles, rows);
  const auto fractions = [](std::int64_t size) {
    return clamp(tanh(randn<float>({size, 400}) * 3), -0.9999, 0.9999).eval();
  };
  batches(
      "quantiles", [](const auto& x) { return erfinv(x); }, fractions);

  const auto gpt2 = models::gpt2<float>({.vocab_size = 31, .n_positions = 12, .n_embd = 16, .n_layer = 2, .n_head = 2});
  const auto tokens = [](std::int64_t size, std::int64_t length) {
    return randint<std::int64_t>(0, 31, {size, length});
  };
  onnx::save(folder + "/gpt2.onnx", gpt2, tokens(1, 12),
             {.inputs = {"tokens"}, .dynamic = {{"batch", 0}, {"length", 1}}});
  for (const auto& [size, length] : {std::pair<std::int64_t, std::int64_t>{1, 3}, {2, 12}, {3, 5}}) {
    const auto x = tokens(size, length);
    save_case("gpt2", size, x, gpt2(x).eval());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: onnx_exports FOLDER\n";
    return 2;
  }
  folder = argv[1];
  manual_seed(1);
  write_all();
}
