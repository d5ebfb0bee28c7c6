// Runs on: host, cuda (tensors); alone.
// The events of a trace, by Chrome's Trace Event Format: trace_events.py checks their members and how they nest.

#include <locus/device/trace/phase_trace.hpp>

#include <locus/cuda/step_runner.hpp>
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/device/capture.hpp>
#include <locus/distributed/start/spawn.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>
#include <locus/training/fit.hpp>

#include <support/child.hpp>
#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <support/device_list.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>
#include <support/trace_events.hpp>

#include <csignal>

#include <sys/resource.h>

namespace {
using namespace locus;
using locus_test::checked_trace;
using locus_test::contains;
using locus_test::count_of;
using locus_test::message_of;
using locus_test::note_skip;
using locus_test::TemporaryFolder;

/// Two epochs of two steps. Returns the history.
template <class D>
History train() {
  const Tensor<float> x = from({1, 2, 3, 4}).reshape({4, 1});
  nn::Sequential<float, D> model{nn::Linear<float, D>{1, 8}, nn::Tanh{}, nn::Linear<float, D>{8, 1}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01f}};
  auto batches = data::loader<D>(data::TensorDataset{x, x}, {.batch_size = 2});
  History history;
  fit(model, optimizer, nn::MSELoss{}, batches, data::loader<D>(data::TensorDataset{x, x}), history, {.epochs = 2});
  return history;
}

/// The trace of f(), checked with an option of trace_events.py.
template <class F>
std::string trace_of(const F& f, const char* option = "") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  trace_to(path);
  f();
  trace_to("");
  return checked_trace(path, option);
}

LOCUS_DEVICE_TEST("a training is a trace whose events are complete and nest; a GPU's work is on tracks of its streams",
                  D) {
  if (!locus_test::traces_can_be_checked()) SKIP_TEST("needs python3 and trace_events.py");
  constexpr const char* phases = std::is_same_v<D, Cuda> ? "--awaited=forward,backward,step" : "";
  const std::string checked = trace_of([] { (void)train<D>(); }, phases);
  CAPTURE(checked);
  CHECK(count_of(checked, "phase") == 2 * (2 * 4 + 1 + 1));
  CHECK(count_of(checked, "launch") > 2 * 2 * 5);
  CHECK(count_of(checked, "memory") > 0);
  if constexpr (std::is_same_v<D, Cuda>) {
    CHECK(contains(checked, "track of locus: cuda:0 stream "));
    CHECK(count_of(checked, "copy") > 0);
    CHECK(count_of(checked, "gpu") == count_of(checked, "launch") + count_of(checked, "copy"));
  } else {
    CHECK_FALSE(contains(checked, "cuda:"));
    CHECK(count_of(checked, "gpu") == 0);
  }
}

LOCUS_DEVICE_TEST("a replay of a captured step is one event of its stream, and its capture none", D) {
  if (!locus_test::traces_can_be_checked()) SKIP_TEST("needs python3 and trace_events.py");
  const auto x = full<float, D>({100}, 1.f);
  const std::string checked = trace_of([&] {
    auto step = capture<D>([&] { x.copy_((x * 2.f + 1.f) * 0.5f); });
    for (int i = 0; i < 5; ++i) step();
    Backend<D>::synchronize({});
  });
  CAPTURE(checked);
  // The first run launches, the second is captured; a device that captures nothing launches in each.
  CHECK(count_of(checked, "gpu") == (CapturingDevice<D> ? 1 + 4 : 0));
  CHECK(count_of(checked, "launch") == (CapturingDevice<D> ? 2 + 4 : 5));
}

TEST_CASE("ranks that are threads are processes of a sound trace, each with its track of collectives") {
  if (!locus_test::traces_can_be_checked()) SKIP_TEST("needs python3 and trace_events.py");
  const std::string checked = trace_of([] {
    dist::spawn<Cpu>(2, [](const dist::Communicator<Cpu>& comm) {
      const Phase phase("mine");
      const Tensor x = full({3}, static_cast<float>(comm.rank())) * 2.f;
      comm.all_reduce(x);
      const auto later = comm.all_reduce_async(x);
    });
  });
  CAPTURE(checked);
  CHECK(count_of(checked, "communication") == 4);
  CHECK(count_of(checked, "phase") == 2 + 4);
  for (const char* const track : {"track of rank 0: communication\n", "track of rank 1: communication\n"})
    CHECK(contains(checked, track));
}

TEST_CASE("a process that is killed while it trains leaves a trace of whole events") {
  if (!locus_test::traces_can_be_checked()) SKIP_TEST("needs python3 and trace_events.py");
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  const pid_t trains = fork();
  if (trains == 0) {
    trace_to(path);
    for (;;) {
      const Phase phase("one");
      const Tensor y = from({1, 2, 3}) * 2.f;
    }
  }
  std::error_code none_yet;
  for (int i = 0; i < 2000 && !(std::filesystem::file_size(path, none_yet) > 200'000 && !none_yet); ++i) usleep(5000);
  kill(trains, SIGKILL);
  waitpid(trains, nullptr, 0);
  const std::string checked = checked_trace(path, "--cut");
  CAPTURE(checked);
  CHECK(count_of(checked, "launch") > 100);
  CHECK(count_of(checked, "phase") > 100);
}

TEST_CASE("beyond the limit of file sizes a trace ends with a message, and no signal ends the process") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json", told = folder.path / "told";
  CHECK(locus_test::status_of_child([&] {
          const rlimit tight{1000, RLIM_INFINITY};
          if (std::freopen(told.c_str(), "w", stderr) == nullptr) return 90;
          trace_to(path);
          if (setrlimit(RLIMIT_FSIZE, &tight) != 0) return 91;
          for (int i = 0; i < 20; ++i) const Phase phase("one");
          detail::TraceFile::instance().flush();
          std::fclose(stderr);
          return phases_are_traced() ? 92 : 0;
        }) == 0);
  CHECK(locus_test::content_of(path).size() <= 1000);
  CHECK(contains(locus_test::content_of(told), "': File too large; training goes on, nothing more is traced"));
}

TEST_CASE("a path that is too long is refused") {
  CHECK(contains(message_of<DataError>([] { trace_to("/tmp/" + std::string(5000, 'x')); }),
                 "File name too long; expected a file that you may write to"));
  CHECK_FALSE(phases_are_traced());
}

}  // namespace
