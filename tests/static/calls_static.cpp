// Valid calls beside overloads that refuse invalid ones: each form of making layers, losses and optimizers, of
// functions with options, of numbers, of const and temporary arguments.

#include <locus/io/safetensors.hpp>
#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/lenet5.hpp>
#include <locus/models/mlp.hpp>
#include <locus/models/resnet.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/unique.hpp>
#include <locus/optim/adafactor.hpp>
#include <locus/optim/adamax.hpp>
#include <locus/optim/asgd.hpp>
#include <locus/optim/muon.hpp>
#include <locus/optim/nadam.hpp>
#include <locus/optim/radam.hpp>
#include <locus/optim/rprop.hpp>

using namespace locus;

/// A user's data set.
struct Line {
  std::int64_t size() const { return 1; }
  data::Fields<float, float> fields() const { return {Shape{1}, Shape{1}}; }
  void write(std::int64_t, Span<float>, Span<float>) const {}
};

namespace {

/// The compiler resolves every call, and compiles no body.
template <class... Results>
inline constexpr bool answered = true;

[[maybe_unused]] void pools(int n, std::size_t k, const std::int64_t m, Size2d size, const Size2d& fixed) {
  static_assert(
      answered<decltype(nn::MaxPool2d{2}), decltype(nn::MaxPool2d(2)), decltype(nn::MaxPool2d{n}),
               decltype(nn::MaxPool2d{k}), decltype(nn::MaxPool2d{m}), decltype(nn::MaxPool2d{size}),
               decltype(nn::MaxPool2d{fixed}), decltype(nn::MaxPool2d{{3, 2}}), decltype(nn::MaxPool2d{{3, 2}, 2}),
               decltype(nn::MaxPool2d{3, {2, 1}, {1, 0}}), decltype(nn::MaxPool2d{size, fixed, 1, {.ceil_mode = true}}),
               decltype(nn::MaxPool2d{3, 2, 1, {.dilation = {1, 2}}}), decltype(nn::MaxPool2d(nn::MaxPool2d{2}))>);
  static_assert(
      answered<decltype(nn::AvgPool2d{2}), decltype(nn::AvgPool2d{k}), decltype(nn::AvgPool2d{fixed}),
               decltype(nn::AvgPool2d{{3, 2}, 1, 1, {.count_include_pad = false}}), decltype(nn::AvgPool2d(n, m))>);
  static_assert(answered<decltype(nn::MaxPool1d{2}), decltype(nn::MaxPool1d{n}), decltype(nn::MaxPool1d{m, 1}),
                         decltype(nn::MaxPool1d{3, 2, 1, {.dilation = 2}}), decltype(nn::AvgPool1d{4, 2}),
                         decltype(nn::AvgPool1d{m}), decltype(nn::AvgPool1d{n, 1, 0, {.ceil_mode = true}}),
                         decltype(nn::AdaptiveAvgPool2d{1}), decltype(nn::AdaptiveAvgPool2d{{2, 3}})>);
}

[[maybe_unused]] void layers(int n, const std::int64_t m, Size2d size, Cpu device, const Shape& shape) {
  using T = float;
  using D = Cpu;
  using Linear = nn::Linear<T, D>;
  using Conv1d = nn::Conv1d<T, D>;
  using Conv2d = nn::Conv2d<T, D>;
  using Back = nn::ConvTranspose2d<T, D>;
  static_assert(answered<decltype(Linear{4, 2}), decltype(Linear(4, 2)), decltype(Linear{n, n, false}),
                         decltype(Linear{m, n, true, device}), decltype(Linear{4, 2, true, D{}})>);
  static_assert(answered<decltype(Conv1d{3, 8, 3}), decltype(Conv1d{n, m, n, {.padding = 1, .bias = false}}),
                         decltype(Conv1d{3, 8, 3, {}, device}), decltype(Conv1d{3, 8, 3, nn::Conv1dOptions{}})>);
  static_assert(answered<decltype(Conv2d{3, 8, 3}), decltype(Conv2d(n, m, n)), decltype(Conv2d{n, m, {3, 1}}),
                         decltype(Conv2d{3, 8, size}), decltype(Conv2d{3, 8, 3, {.stride = 2, .padding = {1, 0}}}),
                         decltype(Conv2d{3, 8, size, {.stride = size}}), decltype(Conv2d{3, 8, {3, 3}, {}, device}),
                         decltype(Conv2d{3, 8, 3, nn::Conv2dOptions{}, D{}})>);
  static_assert(answered<decltype(Back{3, 8, 3}), decltype(Back{n, m, {3, 1}}), decltype(Back{3, 8, size, {}, device}),
                         decltype(Back{3, 8, 3, {.stride = 2, .output_padding = 1}})>);
  static_assert(answered<decltype(nn::BatchNorm1d<T, D>{8}), decltype(nn::BatchNorm1d<T, D>(n, {.eps = 1e-3})),
                         decltype(nn::BatchNorm2d<T, D>{m}), decltype(nn::BatchNorm2d<T, D>{8, {}, device}),
                         decltype(nn::BatchNorm2d<T, D>{8, {.momentum = std::nullopt, .affine = false}})>);
  static_assert(answered<decltype(nn::Embedding<T, D>{27, 16}), decltype(nn::Embedding<T, D>{n, m, {}, device}),
                         decltype(nn::Embedding<T, D>{27, 16, {.padding_idx = 0}}), decltype(nn::GroupNorm<T, D>{2, 8}),
                         decltype(nn::GroupNorm<T, D>{n, m, 1e-3, false, device})>);
  static_assert(answered<decltype(nn::LayerNorm<T, D>{8}), decltype(nn::LayerNorm<T, D>{n, 1e-3}),
                         decltype(nn::LayerNorm<T, D>{shape}), decltype(nn::LayerNorm<T, D>{{4, 8}, 1e-3, false}),
                         decltype(nn::LayerNorm<T, D>{m, 1e-3, true, true, device})>);
  static_assert(answered<decltype(nn::MultiheadAttention<T, D>{8, 2}),
                         decltype(nn::MultiheadAttention<T, D>{n, m, {.dropout = 0.1, .bias = false}, device})>);
  static_assert(answered<decltype(nn::Sequential{Linear{4, 2}, nn::ReLU{}}),
                         decltype(nn::Sequential{nn::MaxPool2d{2}, Linear{4, 2}}),
                         decltype(nn::Sequential<T, D>{Linear{4, 2}, nn::Sequential<T, D>{nn::ReLU{}}})>);
}

[[maybe_unused]] void losses(const Tensor<float>& weights, nn::CrossEntropyLoss<>& loss, CrossEntropyOptions& options) {
  static_assert(
      answered<decltype(nn::CrossEntropyLoss{}), decltype(nn::CrossEntropyLoss()),
               decltype(nn::CrossEntropyLoss{{.label_smoothing = 0.1}}), decltype(nn::CrossEntropyLoss{options}),
               decltype(nn::CrossEntropyLoss{loss}), decltype(nn::CrossEntropyLoss(std::move(loss))),
               decltype(nn::CrossEntropyLoss{weights}), decltype(nn::CrossEntropyLoss{from({1, 2}), options}),
               decltype(nn::CrossEntropyLoss{weights, {.ignore_index = 0}}), decltype(nn::CrossEntropyLoss<>{})>);
  static_assert(
      answered<decltype(nn::NLLLoss{}), decltype(nn::NLLLoss{{.ignore_index = 0}}), decltype(nn::NLLLoss{weights}),
               decltype(nn::NLLLoss{weights, {.reduction = Reduction::sum}}), decltype(nn::NLLLoss{nn::NLLLoss{}}),
               decltype(nn::BCEWithLogitsLoss{}), decltype(nn::BCEWithLogitsLoss{{.reduction = Reduction::sum}}),
               decltype(nn::BCEWithLogitsLoss{nn::PosWeight{weights}}),
               decltype(nn::BCEWithLogitsLoss{nn::PosWeight{weights}, {.reduction = Reduction::sum}}),
               decltype(nn::BCEWithLogitsLoss{nn::BCEWithLogitsLoss{}})>);
}

[[maybe_unused]] void optimizers(const nn::Linear<float, Cpu>& model, const Parameter<float>& w, Parameter<float>& b,
                                 std::vector<Parameter<float>>& list, const std::vector<Parameter<float>>& fixed,
                                 optim::Group<float, Cpu>& group, const std::vector<optim::Group<float, Cpu>>& groups,
                                 const optim::AdamOptions& options) {
  using Of = optim::Adam<float, Cpu>;
  static_assert(answered<decltype(Of{{w}}), decltype(Of({w})), decltype(Of{{w, b}}), decltype(Of({w, b})),
                         decltype(Of{{w, b}, {.lr = 0.1}}), decltype(Of{list}), decltype(Of{fixed, options}),
                         decltype(Of(std::move(list), {.lr = 0.1})), decltype(Of{model.parameters()}),
                         decltype(Of{model.parameters(), {.lr = 0.1}}), decltype(Of{groups}), decltype(Of({group})),
                         decltype(Of{groups, options}), decltype(Of{{group, group}}),
                         decltype(Of{{group, {fixed, {.lr = 1}}}, {.lr = 0.1}})>);
}

#define LOCUS_TEST_GUIDES(Optimizer)                                                                                  \
  static_assert(                                                                                                      \
      answered<                                                                                                       \
          decltype(Optimizer{{w}}), decltype(Optimizer({w})), decltype(Optimizer{{w, b}}),                            \
          decltype(Optimizer({w, b})), decltype(Optimizer({group})), decltype(Optimizer{{w}, {.lr = 0.1}}),           \
          decltype(Optimizer{{w, b}, Optimizer##Options{}}), decltype(Optimizer{list}), decltype(Optimizer{fixed}),   \
          decltype(Optimizer(std::move(list))), decltype(Optimizer{fixed, {.lr = 0.1}}),                              \
          decltype(Optimizer{model.parameters()}), decltype(Optimizer{model.parameters(), {.lr = 0.1}}),              \
          decltype(Optimizer{groups}), decltype(Optimizer{groups, {.lr = 0.1}}), decltype(Optimizer{{group, group}}), \
          decltype(Optimizer{{group, optim::Group{list, {.lr = 1}}}, {.lr = 0.1}}), decltype(Optimizer{{group}})>)

[[maybe_unused]] void guides(const nn::Sequential<float, Cpu>& model, const Parameter<float>& w, Parameter<float>& b,
                             std::vector<Parameter<float>>& list, const std::vector<Parameter<float>>& fixed,
                             optim::Group<float, Cpu>& group, const std::vector<optim::Group<float, Cpu>>& groups) {
  using namespace optim;
  LOCUS_TEST_GUIDES(Adam);
  LOCUS_TEST_GUIDES(AdamW);
  LOCUS_TEST_GUIDES(Sgd);
  LOCUS_TEST_GUIDES(RMSprop);
  LOCUS_TEST_GUIDES(Adadelta);
  LOCUS_TEST_GUIDES(Adagrad);
  LOCUS_TEST_GUIDES(Lion);
  LOCUS_TEST_GUIDES(Adamax);
  LOCUS_TEST_GUIDES(NAdam);
  LOCUS_TEST_GUIDES(RAdam);
  LOCUS_TEST_GUIDES(ASGD);
  LOCUS_TEST_GUIDES(Rprop);
  LOCUS_TEST_GUIDES(Muon);
  LOCUS_TEST_GUIDES(Adafactor);
}
#undef LOCUS_TEST_GUIDES

[[maybe_unused]] void schedules(optim::Adam<float, Cpu>& optimizer, optim::Scheduler& scheduler,
                                const optim::Schedule& any) {
  using namespace optim;
  static_assert(
      answered<decltype(Scheduler{optimizer, StepLR{.step_size = 3}}), decltype(Scheduler(optimizer, any)),
               decltype(Scheduler{optimizer, ReduceLROnPlateau{}}), decltype(Scheduler{scheduler}),
               decltype(Scheduler{std::move(scheduler)}), decltype(Scheduler{}),
               decltype(Scheduler{optimizer, ChainedScheduler{{StepLR{3}, any}}}), decltype(Schedule{StepLR{3}})>);
}

[[maybe_unused]] void loaders(Line& set, const Line& fixed, const data::LabelledImages& images,
                              data::LoaderOptions& options, data::Subset<Line>& part, Cpu device) {
  using D = Cpu;
  const data::RandomSampler sampler{10};
  static_assert(
      answered<decltype(data::loader<D>(set)), decltype(data::loader<D>(fixed)), decltype(data::loader<D>(Line{})),
               decltype(data::loader<D>(std::move(set), {.batch_size = 2})), decltype(data::loader<D>(images, options)),
               decltype(data::loader<D>(part, {.shuffle = true}, device)), decltype(data::loader<D>(images, {}, D{})),
               decltype(data::loader<D>(fixed, sampler)), decltype(data::loader<D>(set, sampler, {.workers = 1})),
               decltype(data::loader<D>(images, data::RandomSampler{10}, options, device))>);
}

[[maybe_unused]] void fits(const nn::Sequential<float, Cpu>& model, nn::Linear<float, Cpu>& layer,
                           optim::Sgd<float, Cpu>& optimizer, data::Loader<data::LabelledImages, Cpu>& train,
                           data::Loader<Line, Cpu>& line, History& history, const FitOptions& options) {
  const nn::CrossEntropyLoss loss;
  const auto own = [](const auto& x, const auto& y) { return mean(square(x - y)); };
  const auto evaluated = [](const auto& x, const auto& y) { return mean(square(x - y)).eval(); };
  const auto of_images = [&] { return data::loader<Cpu>(data::LabelledImages(train.dataset())); };
  static_assert(
      answered<decltype(fit(model, optimizer, train, train, history)),
               decltype(fit(layer, optimizer, train, of_images(), history)),
               decltype(fit(model, optimizer, train, train, history, {.epochs = 2})),
               decltype(fit(model, optimizer, train, of_images(), history, options)),
               decltype(fit(model, optimizer, loss, train, train, history)),
               decltype(fit(model, optimizer, nn::CrossEntropyLoss{}, train, of_images(), history, {.epochs = 2})),
               decltype(fit(layer, optimizer, own, line, line, history)),
               decltype(fit(layer, optimizer, evaluated, line, data::loader<Cpu>(Line{}), history, options)),
               decltype(fit(layer, optimizer, nn::MSELoss{}, line, line, history, {.epochs = 2},
                            Metric{"L1", nn::L1Loss{}})),
               decltype(fit(layer, optimizer, own, line, line, history, options, Metric{"L1", nn::L1Loss{}}))>);
}

// No template: nvcc 13.0 gives up on one.
#define LOCUS_TEST_FUNCTIONS(X)                                                                                        \
  [[maybe_unused]] void functions(const X& x, X& changed, const Tensor<std::int64_t>& labels,                          \
                                  const Tensor<float>& weights, const std::vector<int>& axes) {                        \
    static_assert(answered<decltype(sum(x)), decltype(sum(changed, 0)), decltype(sum(x, -1, true)),                    \
                           decltype(sum(x, {0, 1})), decltype(sum(X(x), {0, 1}, true)), decltype(sum(x, axes)),        \
                           decltype(sum(x * x, 0)), decltype(sum(x, {}, true)), decltype(mean(x)),                     \
                           decltype(mean(x + 1.f, 0, true)), decltype(mean(x, {0})), decltype(prod(x, 0))>);           \
    static_assert(answered<decltype(var(x)), decltype(var(x, 0)), decltype(var(x, {0, 1}, {.correction = 0})),         \
                           decltype(stddev(x * x, 1, {.keepdim = true})), decltype(stddev(x, {}, {.correction = 0})),  \
                           decltype(var_mean(x, 0)), decltype(var_mean(x, {0}, {.correction = 0, .keepdim = true}))>); \
    static_assert(answered<decltype(cross_entropy(x, labels)), decltype(cross_entropy(changed, labels, weights)),      \
                           decltype(nn::cross_entropy(x, labels, {.label_smoothing = 0.1})),                           \
                           decltype(nn::cross_entropy(X(x), labels, weights, {.ignore_index = 0})),                    \
                           decltype(cross_entropy(x, labels, CrossEntropyOptions{}))>);                                \
  }
LOCUS_TEST_FUNCTIONS(Tensor<float>)
LOCUS_TEST_FUNCTIONS(Traced<float>)
#undef LOCUS_TEST_FUNCTIONS

[[maybe_unused]] void further_headers(const Tensor<float>& x, const nn::Sequential<float, Cpu>& model,
                                      const std::string& path, const char* name, const nn::StateDict<>& state) {
  using namespace locus::models;
  static_assert(
      answered<decltype(sort(x)), decltype(sort(x, 0)), decltype(topk(x, 3)), decltype(median(x)), decltype(unique(x)),
               decltype(io::save(path, state)), decltype(io::save(name, nn::state_dict(model))),
               decltype(io::load<Cpu>(path)), decltype(io::load<Cpu>("weights")),
               decltype(nn::load_state_dict(model, state)), decltype(nn::load_state_dict(model, io::load<Cpu>(name))),
               decltype(nn::load_state_dict(model, state, {.strict = false}))>);
  static_assert(
      answered<decltype(models::resnet18<float>()), decltype(resnet18<float, Cpu>({.classes = 10})),
               decltype(models::resnet34<float>({}, Cpu{})), decltype(resnet50<float>(ResNetOptions{})),
               decltype(gpt2<float>()), decltype(models::lenet5<float, Cpu>()), decltype(mlp<float>({784, 10})),
               decltype(models::mlp<float, Cpu>({784, 10}, {.dropout = 0.1}, Cpu{}))>);
}

}  // namespace
