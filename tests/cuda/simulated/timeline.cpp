// The timeline of a GPU in a trace: threads that launch at once, or while a call of another one blocks, a long backlog,
// and the times of late work. Every case runs in a process of its own, whose trace begins without a comparison of
// clocks.

#include <locus/cuda/backend.hpp>
#include <locus/device/trace/phase_trace.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/copy.hpp>
#include <locus/tensor/factory.hpp>

#include <support/skip.hpp>
#include <support/trace_events.hpp>

#include <thread>

#include "process.hpp"

using namespace locus;
using locus::detail::TraceFile;
using locus_test::count_of;
using simulated::in_new_process;

namespace {
constexpr std::int64_t ms = 1'000'000;  // in nanoseconds

std::atomic<int> records_until_full{0};  ///< of the thread whose launch queue becomes full; 0: it never does
std::atomic<bool> is_full{false}, has_room{false}, is_stuck{false};
thread_local bool has_small_queue = false;

void wait_for_room() {
  if (!has_small_queue || records_until_full == 0 || --records_until_full > 0) return;
  is_full = true;
  for (int i = 0; i < 2000 && !has_room; ++i) usleep(1000);
  is_stuck = !has_room;
}

struct Blocked {
  bool is_met = false;  ///< the queue was full
  bool is_free = true;  ///< another thread launched meanwhile
};
/// The n-th marker of a thread's launch is queued after a launch of another thread alone, as behind a collective in
/// which both take part.
Blocked with_full_queue(int n, const std::string& path) {
  return in_new_process({}, [&] {
    const auto x = full<float, Cuda>({4}, 1.f), y = full<float, Cuda>({4}, 1.f);
    Backend<Cuda>::synchronize({});
    trace_to(path);
    records_until_full = n;
    simulated::before_record = wait_for_room;
    std::atomic<bool> is_over{false};
    std::thread full_one([&] {
      has_small_queue = true;
      x.copy_(x + 1.f);
      is_over = true;
      Backend<Cuda>::synchronize({});
    });
    std::thread other([&] {
      while (!is_full && !is_over) usleep(100);
      y.copy_(y + 1.f);
      has_room = true;
      Backend<Cuda>::synchronize({});
    });
    full_one.join();
    other.join();
    trace_to("");
    return Blocked{is_full, !is_stuck};
  });
}

/// The begin and the end, in nanoseconds, of the last event of the category gpu in a trace.
std::pair<std::int64_t, std::int64_t> last_on_gpu(const std::string& path) {
  const std::string text = locus_test::content_of(path);
  const std::size_t at = text.rfind("\"cat\":\"gpu\"");
  if (at == std::string::npos) return {0, 0};
  const auto number_after = [&](const char* name) {
    return static_cast<std::int64_t>(1e3 *
                                     std::strtod(text.c_str() + text.find(name, at) + std::strlen(name), nullptr));
  };
  const std::int64_t begin = number_after("\"ts\":");
  return {begin, begin + number_after("\"dur\":")};
}
}  // namespace

TEST_CASE("a full launch queue of one thread's stream keeps no other thread from launching") {
  const locus_test::TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  int n = 1;
  for (Blocked blocked{true, true}; blocked.is_met && blocked.is_free && n < 100; ++n) {
    CAPTURE(n);
    blocked = with_full_queue(n, path);
    CHECK(blocked.is_free);
  }
  CHECK(n > 3 + 2);  // three comparisons of clocks, two markers
}

TEST_CASE("the end of a trace, which waits for a GPU, keeps no other thread from launching") {
  const locus_test::TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  CHECK(in_new_process({}, [&] {
    trace_to(path);
    const auto x = full<float, Cuda>({4}, 1.f), y = full<float, Cuda>({4}, 1.f);
    Backend<Cuda>::synchronize({});
    simulated::late = true;
    x.copy_(x + 1.f);
    std::thread ends([] { trace_to(""); });
    usleep(50'000);
    const std::int64_t begin = TraceFile::now();
    y.copy_(y + 1.f);
    const bool is_fast = TraceFile::now() - begin < 1000 * ms;
    simulated::late = false;
    Backend<Cuda>::synchronize({});
    ends.join();
    return is_fast;
  }));
}

TEST_CASE("threads launch, compare clocks and collect at once, and all their work has events") {
  if (!locus_test::traces_can_be_checked()) SKIP_TEST("needs python3 and trace_events.py");
  const locus_test::TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  CHECK(in_new_process({}, [&] {
    trace_to(path);
    std::vector<std::thread> team;
    for (int i = 0; i < 3; ++i) {
      team.emplace_back([] {
        const auto x = full<float, Cuda>({4}, 1.f);
        for (int n = 0; n < 99; ++n) {
          const Phase phase("awaited");
          for (int k = 0; k < 3; ++k) x.copy_(x + 1.f);
          Backend<Cuda>::synchronize({});
        }
      });
    }
    for (std::thread& thread : team) thread.join();
    trace_to("");
    return true;
  }));
  const std::string checked = locus_test::checked_trace(path);
  CAPTURE(checked);
  CHECK(count_of(checked, "launch") == 3 * (1 + 99 * 3));
  CHECK(count_of(checked, "gpu") == count_of(checked, "launch"));
}

TEST_CASE("after a backlog that is too long, work is timed again once the GPU has caught up") {
  if (!locus_test::traces_can_be_checked()) SKIP_TEST("needs python3 and trace_events.py");
  const locus_test::TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  constexpr auto most = static_cast<int>(cuda::GpuTimeline::most_queued);
  CHECK(in_new_process({}, [&] {
    const auto x = full<float, Cuda>({4}, 1.f);
    Backend<Cuda>::synchronize({});
    trace_to(path);
    x.copy_(x + 1.f);
    simulated::late = true;
    for (int i = 0; i < most + 8; ++i) x.copy_(x + 1.f);
    simulated::late = false;
    Backend<Cuda>::synchronize({});
    for (int i = 0; i < 20; ++i) x.copy_(x + 1.f);
    trace_to("");
    return true;
  }));
  const std::string checked = locus_test::checked_trace(path);
  CAPTURE(checked);
  CHECK(count_of(checked, "launch") == 1 + most + 8 + 20);
  CHECK(count_of(checked, "gpu") == 1 + most + 20);
}

TEST_CASE("work of threads that share a stream, whose markers interleave, follows one another on its track") {
  const locus_test::TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  const std::int64_t first_ends = in_new_process({}, [&] {
    trace_to(path);
    auto& timeline = cuda::GpuTimeline::instance();
    const cuda::Context& context = cuda::Context::current(0);
    const auto event = locus::detail::event_named("shared", "gpu");
    cuda::TimedWork *const first = timeline.begin(context), *const second = timeline.begin(context);
    usleep(15'000);
    const std::int64_t now = TraceFile::now();
    timeline.end(first, event);
    usleep(2'000);
    timeline.end(second, event);
    trace_to("");
    return now;
  });
  const std::string text = locus_test::content_of(path);
  CHECK(text.find("\"cat\":\"gpu\"") != text.rfind("\"cat\":\"gpu\""));
  const auto [begin, end] = last_on_gpu(path);
  CHECK(begin > first_ends - cuda::GpuClock::longest_try);
  CHECK(end >= begin + 2 * ms - 1000);  // to a microsecond
}

TEST_CASE("work that a GPU does long after the call has its event when it ran") {
  const locus_test::TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  struct Times {
    std::int64_t begin, end;
  };
  const Times ran = in_new_process({}, [&] {
    const auto x = full<float, Cuda>({4}, 1.f);
    trace_to(path);
    x.copy_(x + 1.f);
    simulated::late = true;
    x.copy_(x + 2.f);
    usleep(20'000);
    Times times{TraceFile::now(), 0};
    simulated::late = false;
    Backend<Cuda>::synchronize({});
    times.end = TraceFile::now();
    trace_to("");
    return times;
  });
  const auto [begin, end] = last_on_gpu(path);
  CHECK(begin > ran.begin - cuda::GpuClock::longest_try);  // the greatest error of a comparison
  CHECK(end > begin);
  CHECK(end < ran.end + cuda::GpuClock::longest_try);
}
