// Time and memory of a training step, asked for by benchmarks/measure_pages.py line by line:
//
//   MODEL TYPE BATCH PARTS STEPS  ->  a line of JSON
//
// MODEL is perceptron (784-1024-1024-10), or, for images of 32 x 32, convolutions or resnet18; TYPE is float32 or
// bfloat16. The gradients of PARTS parts of the batch are accumulated for one step of SGD with momentum. The answer has
// the seconds of STEPS steps after three for warm-up, the peak bytes of a step, the bytes in use before it, and the
// distance of the accumulated gradient from the gradient of the whole batch, relative to the norm of the latter. On the
// CPU one thread computes, and its processor time counts, which other programs disturb little. Compiled by nvcc, the
// program measures GPU 0, by wall time. The first line of JSON is the environment.

#include "support/fastest.hpp"
#include "support/json_lines.hpp"

#include <locus/locus.hpp>
#include <locus/models/mlp.hpp>
#include <locus/models/resnet.hpp>

#include <cmath>
#include <iostream>

using namespace locus;

namespace {

using bench::D;
constexpr bool is_host = std::is_same_v<D, Cpu>;

struct Request {
  static constexpr const char* form = "MODEL TYPE BATCH PARTS STEPS";
  std::string model{}, type{};
  std::int64_t batch = 0, parts = 0;
  int steps = 0;
};
std::istream& operator>>(std::istream& in, Request& r) {
  return in >> r.model >> r.type >> r.batch >> r.parts >> r.steps;
}

/// Two convolutions with pooling, without batch normalization: each sample is independent of the others in its batch.
template <class T>
[[nodiscard]] nn::Sequential<T, D> convolutions() {
  return {nn::Conv2d<T, D>{3, 32, 3, {.padding = 1}},
          nn::ReLU{},
          nn::MaxPool2d{2},
          nn::Conv2d<T, D>{32, 64, 3, {.padding = 1}},
          nn::ReLU{},
          nn::MaxPool2d{2},
          nn::Flatten{},
          nn::Linear<T, D>{64 * 8 * 8, 10}};
}
template <class T>
[[nodiscard]] nn::Module<T, D> model_called(const std::string& name) {
  if (name == "perceptron") return models::mlp<T, D>({784, 1024, 1024, 10});
  if (name == "convolutions") return convolutions<T>();
  if (name == "resnet18") return models::resnet18<T, D>({.classes = 10, .small_images = true});
  fail<ArgumentError>({"the model is '", name, "'; expected perceptron, convolutions or resnet18"});
}

template <class T>
class Training {
 public:
  explicit Training(const Request& request) : request_(request), model_(model_called<T>(request.model)) {
    if (request.parts < 1 || request.batch % request.parts != 0)
      fail<ArgumentError>(
          {"a batch of ", request.batch, " in ", request.parts, " parts; expected parts of equal size"});
    draw();
  }

  void answer(io::JsonWriter& json) {
    json.member("distance", distance());
    const std::int64_t part = request_.batch / request_.parts;  // a loader delivers one part at a time
    images_ = images_.slice(0, 0, part).clone();
    labels_ = labels_.slice(0, 0, part).clone();
    for (int i = 0; i < 2; ++i) step();
    const std::int64_t before = memory_stats(D{}).allocated_bytes;
    reset_peak_memory_stats(D{});
    step();
    json.member("before_bytes", before).member("peak_bytes", memory_stats(D{}).peak_bytes);
    json.key("seconds").begin_array();
    for (int i = 0; i < request_.steps; ++i) json.value(timed_step());
    json.end_array();
  }

 private:
  void draw() {
    const Shape shape = request_.model == "perceptron" ? Shape{request_.batch, 784} : Shape{request_.batch, 3, 32, 32};
    images_ = randn<float, D>(shape).template as<T>();
    labels_ = randint<std::int64_t, D>(0, 10, {request_.batch});
  }
  /// Adds the gradient of `count` samples from `first` on, as a share of the whole batch.
  void backward(std::int64_t first, std::int64_t count, double share) {
    const Tensor images = images_.slice(0, first, first + count);
    const auto loss =
        nn::cross_entropy(model_(trace(images)).template as<float>(), labels_.slice(0, first, first + count));
    if (share == 1) loss.backward();
    else (loss * static_cast<float>(share)).backward();
  }
  [[nodiscard]] std::vector<Tensor<float, D>> gradients(std::int64_t parts) {
    const std::int64_t part = request_.batch / parts;
    optimizer_.zero_grad();
    for (std::int64_t i = 0; i < parts; ++i) backward(i * part, part, 1.0 / static_cast<double>(parts));
    std::vector<Tensor<float, D>> copies;
    for (const auto& parameter : model_.parameters()) copies.push_back(parameter.grad().template as<float>().clone());
    return copies;
  }
  [[nodiscard]] double distance() {
    const auto whole = gradients(1), accumulated = gradients(request_.parts);
    double difference = 0, length = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      difference += static_cast<double>(sum(square(accumulated[i] - whole[i])).item());
      length += static_cast<double>(sum(square(whole[i])).item());
    }
    if (!(length > 0)) fail<NumericError>({"the squared norm of the gradient is ", length});
    return std::sqrt(difference / length);
  }
  [[nodiscard]] double timed_step() {
    const clockid_t clock = bench::clock_called(is_host ? "processor" : "wall");
    const double begin = bench::seconds(clock);
    step();
    return bench::seconds(clock) - begin;
  }
  void step() {
    optimizer_.zero_grad();
    for (std::int64_t i = 0; i < request_.parts; ++i)
      backward(0, images_.size(0), 1.0 / static_cast<double>(request_.parts));
    optimizer_.step();
    Stream<D>::current(D{}).synchronize();
  }

  Request request_;
  nn::Module<T, D> model_;
  optim::Sgd<T, D> optimizer_{model_.parameters(), {.lr = 1e-4, .momentum = 0.9}};
  Tensor<T, D> images_;
  Tensor<std::int64_t, D> labels_;
};

void answer(const Request& request) {
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().member("device", to_string(D{})).member("clock", is_host ? "processor" : "wall");
  json.member("model", request.model).member("type", request.type);
  json.member("batch", request.batch).member("parts", request.parts);
  cpu::set_max_threads(1);
  manual_seed(0);
  if (request.type == "bfloat16") Training<bfloat16>(request).answer(json);
  else Training<float>(request).answer(json);
  bench::print(json.end_object());
}

}  // namespace

int main() { return bench::answer_lines<Request>("step_costs", answer); }
