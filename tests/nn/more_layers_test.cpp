// Runs on: host.
// Parametrized weights, norms of lines and volumes, and layers of padding, folding, dropout and activations.

#include <locus/nn/alpha_dropout.hpp>
#include <locus/nn/conv3d.hpp>
#include <locus/nn/fold.hpp>
#include <locus/nn/pad.hpp>
#include <locus/nn/parametrize.hpp>
#include <locus/nn/transformer.hpp>
#include <locus/training/update_bn.hpp>

#include <locus/locus.hpp>

#include <golden/golden.hpp>

#include <cmath>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {
/// Loads a state of PyTorch's, and compares the result, its gradients and inference.
template <class D, class L, class X>
void check_parametrized(const std::string& name, const L& layer, const X& x) {
  CAPTURE(name);
  nn::StateDict<D> state;
  for (const auto& entry : nn::state_dict(layer))
    state.add(entry.name, golden::tensor<double, D>(name + "." + entry.name));
  nn::load_state_dict(layer, state);
  const auto y = layer(x);
  CHECK_CLOSE(y, golden::reference(name), 1e-10);
  y.backward(golden::tensor<double, D>(name + "_cotangent"));
  CHECK_CLOSE(x.grad(), golden::reference(name + "_dx"), 1e-10);
  for (const auto& [key, parameter] : layer.named_parameters())
    CHECK_CLOSE(parameter.grad(), golden::reference(name + "_d" + key), 1e-10);
  CHECK_CLOSE(layer(x.value()), golden::reference(name + "_inference"), 1e-10);
  CHECK_CLOSE(layer.folded()(x.value()), golden::reference(name + "_inference"), 1e-10);
}
}  // namespace

TEST_CASE("parametrized weights are PyTorch's, with its names") {
  using D = Cpu;
  const auto leaf = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  check_parametrized<D>("pz_weight_linear", nn::weight_norm(nn::Linear<double, D>{4, 5}), leaf("pz_x"));
  check_parametrized<D>("pz_weight_up", nn::weight_norm(nn::ConvTranspose2d<double, D>{2, 3, 2}), leaf("pz_image"));
  check_parametrized<D>("pz_spectral_up", nn::spectral_norm(nn::ConvTranspose2d<double, D>{2, 3, 2}), leaf("pz_image"));
  const auto spectral = nn::spectral_norm(nn::Linear<double, D>{4, 5});
  check_parametrized<D>("pz_spectral_linear", spectral, leaf("pz_x"));
  CHECK_CLOSE(spectral.u.value(), golden::reference("pz_linear_u"), 1e-10);

  const auto clone = spectral.clone();
  clone.original.value().fill_(1);
  CHECK_CLOSE(spectral(golden::tensor<double, D>("pz_x")), golden::reference("pz_spectral_linear_inference"), 1e-10);
  const nn::Linear<double, D> plain{4, 5, false};
  const auto whole = nn::weight_norm(plain, {.dim = std::nullopt});
  CHECK_CLOSE(whole.weight(), reference(plain.weight.value()), 1e-10);
  CHECK(whole.original0.shape() == Shape{});
  CHECK(plain.weight.defined());
  CHECK(whole.parameters().size() == 2);
}

TEST_CASE("parametrized layers stand in networks that move, and say what they are") {
  nn::Sequential<float, Cpu> model{nn::weight_norm(nn::Conv1d<float, Cpu>{2, 3, 3, {.padding = 1}}), nn::ReLU{}};
  using Normed = nn::WeightNorm<nn::Conv1d<float, Cpu>>;
  const auto x = randn({1, 2, 5});
  const auto before = reference(model(x));
  CHECK(to_string(model).find("WeightNorm") != std::string::npos);
  const auto wide = std::move(model).as<double, Normed>();
  CHECK_CLOSE(wide(x.as<double>()), before, 1e-5);
  CHECK_THROWS_WITH_AS((void)nn::weight_norm(nn::Linear<float, Cpu>{2, 3}, {.dim = 2}),
                       doctest::Contains("dimension 2 of a weight of shape (3, 2)"), ArgumentError);
  CHECK_THROWS_AS((void)nn::spectral_norm(nn::Linear<float, Cpu>{2, 3}, {.n_power_iterations = 0}), ArgumentError);
  CHECK_THROWS_AS((void)nn::spectral_norm(nn::Linear<float, Cpu>{2, 3}, {.dim = -3}), ArgumentError);
}

TEST_CASE("transformers are PyTorch's, with its names in its order") {
  using D = Cpu;
  const auto source = variable(golden::tensor<double, D>("tf_source")),
             target = variable(golden::tensor<double, D>("tf_target"));
  const auto check = [&](const char* name, const nn::TransformerOptions& options) {
    CAPTURE(std::string(name));
    const nn::Transformer<double, D> model{4, 2, 1, 2, options};
    double phase = 0;
    for (const auto& parameter : model.parameters()) {
      const auto numbers = arange<double>(0, static_cast<double>(parameter.elements()), 1.0, D{});
      parameter.value().copy_((sin(numbers * 1.7 + phase) * 0.5).eval().reshape(parameter.shape()));
      phase += 1;
    }
    source.zero_grad(), target.zero_grad();
    CHECK_GOLDEN(name, model(source, target, {.target = {.is_causal = true}}), ({"source", "target", "first"}), source,
                 target, model.parameters()[0]);
    return model;
  };
  check("tf_pre", {.dim_feedforward = 6,
                   .dropout = 0,
                   .activation = nn::TransformerActivation::gelu,
                   .norm_first = true,
                   .bias = false});
  const auto model = check("tf_post", {.dim_feedforward = 6, .dropout = 0});
  CHECK(model.named_parameters()[0].name == "encoder.layers.0.self_attn.in_proj_weight");
  CHECK(model.named_parameters().back().name == "decoder.norm.bias");
  const auto y = model(source.value(), target.value());
  const auto narrow = model.as<float>();
  CHECK_CLOSE(narrow(source.value().as<float>(), target.value().as<float>()), reference(y), 1e-5);
  CHECK_THROWS_AS((nn::TransformerEncoder<float, Cpu>{4, 2, 0}), ArgumentError);
  CHECK_THROWS_AS((nn::TransformerEncoderLayer<float, Cpu>{4, 3}), ArgumentError);
  CHECK_THROWS_AS((nn::TransformerEncoderLayer<float, Cpu>{4, 2, {.dropout = 2, .attention_dropout = 0}}),
                  ArgumentError);
  CHECK_THROWS_AS((nn::TransformerEncoderLayer<float, Cpu>{4, 2, {.activation_dropout = -1}}), ArgumentError);
}

TEST_CASE("norms of lines and volumes are PyTorch's") {
  using D = Cpu;
  const auto volume = variable(golden::tensor<double, D>("nm_volume")),
             line = variable(golden::tensor<double, D>("nm_line"));
  const nn::BatchNorm3d<double, D> batch{3};
  CHECK_GOLDEN("bn3", batch(volume), ({"x"}), volume);
  CHECK_CLOSE(batch.running_var.value(), golden::reference("bn3_running_var"), 1e-10);
  const nn::InstanceNorm1d<double, D> lines{3, {.affine = true, .track_running_stats = true}};
  CHECK_GOLDEN("in1", lines(line), ({"x"}), line);
  CHECK_CLOSE(lines.running_mean.value(), golden::reference("in1_running_mean"), 1e-10);
  volume.zero_grad();
  CHECK_GOLDEN("in3", (nn::InstanceNorm3d<double, D>{3}(volume)), ({"x"}), volume);
  CHECK_THROWS_WITH_AS((void)batch(line), doctest::Contains("(batch, features, depth, height, width)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)lines(volume), doctest::Contains("expected (batch, 3, length)"), ShapeError);
  CHECK(nn::update_bn(batch, std::vector{volume.value()}) == 1);
}

TEST_CASE("layers compute as their functions do") {
  using D = Cpu;
  const auto x = variable(golden::tensor<double, D>("act_x"));
  const auto check = [&](const char* name, const auto& y) {
    CAPTURE(std::string(name));
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("logsigmoid", nn::LogSigmoid{}(x));
  check("tanhshrink", nn::Tanhshrink{}(x));
  check("softmin", nn::Softmin{1}(x));
  check("channel_shuffle", nn::ChannelShuffle{2}(x.permute({1, 2, 0})));
  CHECK_CLOSE(nn::LogSigmoid{}(tensor<float, D>({3}, {-200, 0, 200})), {-200, -std::log(2.0), 0}, 1e-6);
  const auto image = randn<float, D>({2, 3, 4, 5});
  CHECK_CLOSE(nn::Softmax2d{}(image), reference(softmax(image, 1)));
  CHECK_CLOSE((nn::ReflectionPad2d{{1, 2, 3, 0}}(image)), reference(pad(image, {1, 2, 3, 0}, PadMode::reflect)), 0);
  CHECK_CLOSE((nn::ConstantPad1d{2, 0.5}(image.select(0, 0))),
              reference(pad(image.select(0, 0), {2, 2}, PadMode::constant, 0.5)), 0);
  CHECK(nn::CircularPad3d{1}(image.unsqueeze(0)).shape() == Shape{1, 2, 5, 6, 7});
  CHECK_CLOSE(nn::Unfold({2, 3}, 1, 1, 2)(image), reference(im2col(image, {2, 3}, 1, 1, 2)), 0);
  const nn::Fold fold{{4, 5}, {2, 2}};
  CHECK_CLOSE(fold(nn::Unfold{2}(ones<float, D>({1, 1, 4, 5}))).select(0, 0).select(0, 0).select(0, 1), {2, 4, 4, 4, 2},
              0);
  const nn::ConvTranspose1d<float, D> line{3, 4, 3, {.stride = 2, .output_padding = 1, .bias = false}};
  CHECK(line(image.select(0, 0).transpose(0, 1)).shape() == Shape{4, 4, 12});
  const nn::ConvTranspose3d<float, D> volume{3, 2, {1, 2, 2}};
  CHECK(volume(image.unsqueeze(2)).shape() == Shape{2, 2, 1, 5, 6});
}

TEST_CASE("random layers keep mean and variance, drop whole channels, and rest in inference") {
  using D = Cpu;
  manual_seed(4);
  const auto x = trace(randn<float, D>({100, 40, 5}));
  const auto y = nn::AlphaDropout{0.3}(x), z = nn::FeatureAlphaDropout{0.3}(x);
  for (const auto& result : {y, z}) {
    CHECK(std::abs(mean(result.value()).item()) < 0.05);
    CHECK(std::abs(var(result.value()).item() - 1) < 0.1);
  }
  const auto leaf = variable(ones<float, D>({20, 10, 4}));
  const auto dropped = nn::FeatureAlphaDropout{0.5}(leaf);
  sum(dropped).backward();
  const auto slopes = reference(leaf.grad()).values, values = reference(dropped).values;
  const double scale = 0.8864053,
               low = -1.7580993 * scale * 0.5;  // 1 / sqrt(0.5 (1 + 0.5 * 1.7581^2)), its dropped value
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    CHECK(slopes[i] == slopes[i / 4 * 4]);
    CHECK(values[i] == doctest::Approx(slopes[i] == 0 ? low : scale - low).epsilon(1e-5));
    CHECK((slopes[i] == 0 || slopes[i] == doctest::Approx(scale)));
  }
  const auto channels = reference(nn::Dropout1d{0.5}(trace(ones<float, D>({10, 10, 4})))).values;
  for (std::size_t i = 0; i < channels.size(); ++i) CHECK(channels[i] == channels[i / 4 * 4]);
  CHECK(nn::Dropout3d{}(ones<float, D>({1, 1, 2, 2, 2})).shape() == Shape{1, 1, 2, 2, 2});
  const auto falls = variable(full<float, D>({1000}, -1));
  const auto random = reference(nn::RReLU{}(falls)).values;
  double total = 0;
  for (const double value : random) {
    CHECK(value <= -1.0 / 8);
    CHECK(value > -1.0 / 3);
    total += value;
  }
  CHECK(total / 1000 == doctest::Approx(-11.0 / 48).epsilon(0.03));
  CHECK_CLOSE(nn::RReLU{}(tensor<float, D>({2}, {-1, 2})), {-11.0 / 48, 2}, 1e-6);
  CHECK_CLOSE(alpha_dropout(falls.value(), 0.9), reference(falls.value()), 0);
  CHECK_CLOSE(alpha_dropout(leaf, 0), reference(leaf.value()), 1e-6);
  CHECK_CLOSE(alpha_dropout(leaf, 1), reference(zeros<float, D>({20, 10, 4})), 0);
}

TEST_CASE("layers refuse what their operations refuse, when they are made") {
  CHECK_THROWS_WITH_AS((nn::ZeroPad2d{{1, 2}}), doctest::Contains("ZeroPad2d: 2 amounts; expected one, or 4"),
                       ArgumentError);
  CHECK_THROWS_AS((void)nn::ZeroPad1d{1}(ones({3})), ShapeError);
  CHECK_THROWS_AS(nn::Unfold{0}, ArgumentError);
  CHECK_THROWS_AS((nn::Fold{4, 2, 1, -1}), ArgumentError);
  CHECK_THROWS_AS(nn::AlphaDropout{1.5}, ArgumentError);
  CHECK_THROWS_AS((nn::RReLU{0.5, 0.25}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)dropout1d(trace(ones({2, 3}))), doctest::Contains("(batch, channels, length)"),
                       ShapeError);
  CHECK_THROWS_AS((void)channel_shuffle(ones({1, 3, 2}), 2), ShapeError);
  CHECK_THROWS_AS((void)channel_shuffle(ones({1, 3, 2}), 0), ArgumentError);
  CHECK_THROWS_AS((void)nn::Softmax2d{}(ones({3})), ShapeError);
  CHECK_THROWS_AS((nn::ConvTranspose1d<float, Cpu>{3, 4, 3, {.output_padding = 1}}), ArgumentError);
  CHECK_THROWS_AS((nn::ConvTranspose3d<float, Cpu>{3, 4, {1, 0, 1}}), ArgumentError);
}
