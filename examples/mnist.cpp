// Trains a perceptron on handwritten digits, on the CPU or on a GPU, from this one source.
//
//     mnist --device cpu --data folder/of/mnist --epochs 10 --history history.json --plot curves.svg
//
// The device is the template parameter D of train(). No code below copies to the GPU: the loader delivers batches on D,
// the model is on D, and a tensor on another device would not compile. T is the element type: float, or the 16 bits of
// --type bfloat16 and --type half.

#include "support/command_line.hpp"
#include "support/digits.hpp"
#include "support/element_type.hpp"
#include "support/report.hpp"

#include <locus/locus.hpp>
#include <locus/training/progress_bar.hpp>

#include <cstdio>

using namespace locus;

template <class T, Device D>
nn::Sequential<T, D> perceptron(std::int64_t hidden, D device) {
  return {nn::Flatten{}, nn::Linear<T, D>{784, hidden, true, device}, nn::ReLU{},
          nn::Linear<T, D>{hidden, 10, true, device}};
}

/// Half of the epochs at a learning rate of 0.5, the rest at 0.1.
template <class T, Device D>
void train(const data::Mnist& digits, const CommandLine& options, D device) {
  const auto model = perceptron<T>(options.hidden, device);
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};  // its state is float, whatever T is
  optim::GradScaler<D> scaler{{}, device};
  auto&& steps = steps_of(optimizer, scaler);
  const int workers = options.workers >= 0 ? options.workers : data::suggested_workers(device);
  auto train = data::loader(digits.train.as<T>(),
                            {.batch_size = 100, .shuffle = true, .seed = options.seed, .workers = workers}, device);
  auto valid = data::loader(digits.valid.as<T>(), {.batch_size = 1000}, device);

  History history;
  const ProgressBar bar("images");
  FitOptions fit_options{.on_progress = bar, .on_epoch = bar};
  const int fast = (options.epochs + 1) / 2;
  fit_options.epochs = fast;
  fit(model, steps, train, valid, history, fit_options);
  optimizer.set_lr(0.1);
  fit_options.epochs = options.epochs - fast;
  fit_options.first_epoch = fast + 1;
  fit(model, steps, train, valid, history, fit_options);

  const Evaluation test = evaluate(model, digits.test.as<T>(), device);
  print(history, test);
  write_history(options.history, history);
  write_curves(options, history, test);
}

/// Writes the losses of the first steps, to compare devices, in place of training.
template <class T, Device D>
void log_steps(const data::Mnist& digits, const CommandLine& options, D device) {
  const auto model = perceptron<T>(options.hidden, device);
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};
  optim::GradScaler<D> scaler{{}, device};
  auto&& steps = steps_of(optimizer, scaler);
  const data::LoaderOptions loading{.batch_size = 100, .shuffle = true, .seed = options.seed};
  std::vector<double> losses;
  while (std::ssize(losses) < options.steps) {
    for (const auto& batch : data::loader(digits.train.as<T>(), loading, device)) {
      losses.push_back(train_step(model, steps, batch).item());
      if (std::ssize(losses) == options.steps) break;
    }
  }
  write_losses(options.steps_log, losses);
}

int main(int argc, char** argv) try {
  const CommandLine options(argc, argv);
  if (options.finished) return options.exit_code;
  const AnyDevice chosen = parse_device(options.device);
  manual_seed(options.seed);
  require_writable(options);
  const data::Mnist digits = read_digits(options.data, options.seed);

  with_device(chosen, [&]<Device D>(D device) {
    std::printf("training on %s with %lld%s images, validating on %lld\n", to_string(device).c_str(),
                static_cast<long long>(digits.train.size()), options.data.empty() ? " drawn" : "",
                static_cast<long long>(digits.valid.size()));
    std::fflush(stdout);
    with_type(options.type, [&]<class T>() {
      if (options.steps_log.empty()) train<T>(digits, options, device);
      else log_steps<T>(digits, options, device);
    });
  });
} catch (const Error& error) {
  std::fprintf(stderr, "mnist: %s\n", error.what());
  return 1;
}
