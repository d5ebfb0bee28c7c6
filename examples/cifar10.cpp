// Trains ResNet-18 on the images of CIFAR-10, on the CPU or on a GPU.
//
//     cifar10 --device cuda --data folder/of/cifar10 --checkpoint run.safetensors --output results
//
// If it is interrupted, by Ctrl-C or any end of the process, and restarted with the same options, it resumes from its
// checkpoint; on the CPU, the result is bit-identical to an uninterrupted run. --type bfloat16 or half trains in 16
// bits.

#include "support/cifar_images.hpp"
#include "support/cifar_options.hpp"
#include "support/cifar_report.hpp"
#include "support/element_type.hpp"
#include "support/interrupt.hpp"

#include <locus/io/training.hpp>
#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>
#include <locus/nn/averaged_model.hpp>
#include <locus/training/progress_bar.hpp>
#include <locus/training/update_bn.hpp>

#include <cstdio>

using namespace locus;

const data::Normalize normalize{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};

/// Images shifted by up to four pixels, mirrored at random, and with a hole if options.cutout is set.
template <class T>
auto augmented(const data::LabelledImages& images, const CifarOptions& options) {
  const data::Cutout cutout{
      {.size = options.cutout > 0 ? options.cutout : 1, .probability = options.cutout > 0 ? 1. : 0.}};
  return data::transformed(
      images.as<T>(), data::compose(data::RandomCrop{{.padding = 4}}, data::RandomHorizontalFlip{}, normalize, cutout),
      options.seed);
}

template <class T, Device D>
optim::Scheduler schedule_of(optim::Sgd<T, D>& optimizer, std::int64_t steps, const CifarOptions& options) {
  if (options.schedule == "cosine") return {optimizer, optim::CosineAnnealingLR{.t_max = steps}};
  return {optimizer,
          optim::OneCycleLR{.max_lr = options.lr, .total_steps = steps, .pct_start = 0.2, .cycle_momentum = false}};
}

/// Predictions for all images of a loader, in its order.
template <class M, class Batches>
std::vector<Prediction> predict_all(const M& model, Batches& batches) {
  std::vector<Prediction> all;
  for (const auto& [images, labels] : batches) {
    const Tensor logits = model(images);
    const Tensor<std::int64_t, Cpu> expected = labels.template to<Cpu>(), found = argmax(logits, 1).template to<Cpu>();
    const Tensor<float, Cpu> sure = max(softmax(logits.template as<float>(), 1), 1).template to<Cpu>();
    for (std::int64_t i = 0; i < expected.elements(); ++i)
      all.push_back({expected.data()[i], found.data()[i], sure.data()[i]});
  }
  return all;
}

template <class T, Device D>
void train(const CifarImages& images, const CifarOptions& options, D device) {
  const auto model = models::resnet18<T>(
      {.classes = 10, .small_images = true, .width = options.width, .channels_last = options.channels_last}, device);
  const int workers = options.workers >= 0 ? options.workers : data::suggested_workers(device);
  auto train = data::loader(
      augmented<T>(images.train, options),
      {.batch_size = options.batch, .shuffle = true, .seed = options.seed + 1, .workers = workers}, device);
  // For the running statistics of averaged weights. Not `train`, whose position belongs to the training.
  auto some = data::loader(augmented<T>(images.train, options),
                           {.batch_size = options.batch, .shuffle = true, .seed = options.seed + 2, .workers = workers},
                           device);
  auto test = data::loader(data::transformed(images.test.as<T>(), normalize), {.batch_size = 500, .ahead = 2}, device);

  optim::Sgd optimizer{model.parameters(),
                       {.lr = options.lr, .momentum = 0.9, .weight_decay = options.weight_decay, .nesterov = true}};
  optim::GradScaler<D> scaler{{}, device};
  auto&& steps = steps_of(optimizer, scaler);
  optim::Scheduler scheduler = schedule_of(optimizer, options.epochs * train.size(), options);
  nn::AveragedModel average{model, {.decay = options.average}};
  const nn::CrossEntropyLoss loss{{.label_smoothing = options.smoothing}};
  const Metric accuracy{"accuracy", Accuracy{}};
  History history;

  const std::int64_t own_run = fingerprint(options, images.train.size());
  std::int64_t run = own_run;
  const auto each_part = [&](const auto& f) {
    return f(model, average, optimizer, scaler, scheduler, train, history, run);
  };
  if (!options.checkpoint.empty() &&
      each_part([&](auto&... parts) { return io::resume_training(options.checkpoint, parts...); })) {
    require_same_run(options.checkpoint, run, own_run);
    std::fprintf(stderr, "going on after %lld steps\n", static_cast<long long>(scheduler.steps()));
  }

  const Interrupt interrupt;
  const ProgressBar bar("images");
  Stopwatch since_checkpoint;
  const auto save = [&](bool is_due) {
    const bool leaves = interrupt.requested();
    if (!options.checkpoint.empty() && (is_due || leaves)) {
      each_part([&](const auto&... parts) { io::save_training(options.checkpoint, parts...); });
      since_checkpoint = Stopwatch();
    }
    if (leaves) throw Interrupted{};
  };

  const int done = static_cast<int>(train.position().epoch);
  fit(model, steps, loss, train, test, history,
      {.epochs = options.epochs - done,
       .first_epoch = done + 1,
       .capture = options.captures,
       .report_every = std::is_same_v<D, Cpu> ? 1 : 20,
       .after_step =
           [&] {
             if (options.average > 0) average.update();
           },
       .scheduler = scheduler,
       .schedule_every = Every::step,
       .on_progress =
           [&](const Progress& progress) {
             bar(progress);
             if (progress.batch < progress.batches) save(since_checkpoint.seconds() > options.checkpoint_every);
           },
       .on_epoch =
           [&] {
             if (options.average > 0) {
               some.set_epoch(0);  // the same batches in a resumed run
               nn::update_bn(average.module(), some, {.batches = 50});
               history.add_metric(average_accuracy, evaluate(average.module(), loss, test, accuracy).accuracy);
             }
             bar(history.last());
             save(true);
           }},
      accuracy);

  const auto predictions = predict_all(options.average > 0 ? average.module() : model, test);
  print(history, predictions);
  write_report(options, history, images, predictions);
  if (!options.output.empty())
    io::save(result_file(options, "weights.safetensors"),
             nn::state_dict(options.average > 0 ? average.module() : model));
}

int main(int argc, char** argv) try {
  const CifarOptions options(argc, argv);
  if (options.finished) return options.exit_code;
  const AnyDevice chosen = parse_device(options.device);
  manual_seed(options.seed);
  require_writable(options);
  const CifarImages images = read_images(options.data, {options.images, options.test_images}, options.seed);
  with_device(chosen, [&]<Device D>(D device) {
    std::fprintf(stderr, "training in %s on %s with %lld %simages, testing with %lld\n", options.type.c_str(),
                 to_string(device).c_str(), static_cast<long long>(images.train.size()),
                 options.data.empty() ? "drawn " : "", static_cast<long long>(images.test.size()));
    with_type(options.type, [&]<class T>() { train<T>(images, options, device); });
  });
} catch (const Interrupted&) {
  std::fprintf(stderr, "\ncifar10: interrupted; the same command goes on from the checkpoint, if one was named\n");
  return 130;
} catch (const locus::Error& error) {
  std::fprintf(stderr, "cifar10: %s\n", error.what());
  return 1;
}
