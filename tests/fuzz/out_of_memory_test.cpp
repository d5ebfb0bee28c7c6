// Runs on: host; alone.
// Training with a failing allocation, for every allocation: it throws std::bad_alloc or an exception of Locus, leaks
// nothing, and the program can continue.
//
// LOCUS_FUZZ_COUNT sets how many allocations, evenly spread, are tried in each case; -1: all. A failure reports the
// number of the allocation; LOCUS_FUZZ_SEED set to that number tries it alone.

#include <locus/locus.hpp>
#include <locus/ops/sort.hpp>

#include <doctest/doctest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <new>
#include <support/failing_memory.hpp>
#include <support/fuzz.hpp>
#include <thread>
#include <vector>

namespace {
using namespace locus;
using namespace locus_test;

/// Uses up the first 32 thread-specific keys, for which the C library allocates no memory, so that Locus's keys need
/// allocations.
[[maybe_unused]] const int first_keys = [] {
  pthread_key_t key{};
  int made = 0;
  while (made < 32 && pthread_key_create(&key, nullptr) == 0) ++made;
  return made;
}();

constexpr std::uint64_t all_of_them = ~std::uint64_t{0};

data::LabelledImages some_images() {
  Generator<Cpu> generator{3};
  const Tensor images = randint<std::uint8_t>(0, 256, {20, 1, 3, 4}, generator);
  return {images, randint(0, 3, {20}, generator), 3};
}

nn::Sequential<float, Cpu> some_model() {
  return {nn::Flatten{}, nn::Linear<float, Cpu>{12, 8}, nn::LayerNorm<float, Cpu>{8}, nn::ReLU{},
          nn::Linear<float, Cpu>{8, 3}};
}

/// Parallel loops with working memory: products, rows, transposed copies, sorting; also a checkpoint and a hook.
double of_operations() {
  Generator<Cpu> generator{4};
  const auto x = variable(randn({400, 130}, generator)), w = variable(randn({70, 130}, generator));
  const auto y = checkpoint([&](const auto& of) { return softmax(linear(of, w), 1); }, x);
  Tensor<float> seen;
  const auto hook = w.on_gradient([&](const auto& gradient) { seen = sum(gradient); });
  const auto joined = concat({y.transpose(0, 1), y.transpose(0, 1)}, 1);
  const auto loss = sum(joined * joined) + mean(cumsum(x, 0)) + logsumexp(x.reshape({-1}), 0) + norm(w);
  loss.backward();
  const auto sorted = sort(x.grad().transpose(), 1);
  const auto found = index_select(sorted.values, 0, from<std::int64_t>({3, 5, 3}));
  return static_cast<double>(loss.value().item()) + static_cast<double>(seen.item()) +
         static_cast<double>(sum(found + w.grad()(0, 0)).item());
}

/// An epoch of training with a loader; the results are the same in every run.
std::vector<double> train() {
  manual_seed(5);
  const auto model = some_model();
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  auto batches = data::loader<Cpu>(some_images(), {.batch_size = 4, .shuffle = true, .seed = 2, .ahead = 2});
  std::vector<double> values;
  for (const auto& batch : batches) values.push_back(static_cast<double>(train_step(model, optimizer, batch).item()));
  (void)optim::clip_grad_norm_(model.parameters(), 1);
  values.push_back(evaluate(model, batches).loss);
  values.push_back(of_operations());
  return values;
}

/// Runs train() in a new thread, so that thread-local state is initialized anew.
std::vector<double> train_in_thread() {
  std::vector<double> values;
  std::exception_ptr failure;
  std::thread([&] {
    try {
      values = train();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  return values;
}

enum class Outcome { done, out_of_memory, wrong };

/// Runs f(), which may run out of memory.
template <class F>
Outcome outcome_of(const F& f) {
  try {
    f();
    return Outcome::done;
  } catch (const OutOfMemory&) {
    return Outcome::out_of_memory;
  } catch (const std::bad_alloc&) {
    return Outcome::out_of_memory;
  } catch (const std::system_error&) {  // from std::thread
    return Outcome::out_of_memory;
  } catch (...) {
    return Outcome::wrong;
  }
}

struct Attempt {
  Outcome outcome;
  bool happened;  ///< whether an allocation failed
};
/// Runs f() with a failure of the allocation after n more.
template <class F>
Attempt outcome_of_failing(std::int64_t n, bool once, const F& f) {
  bool happened = false;
  const Outcome outcome = outcome_of([&] {
    const MemoryFailure failure(n, once);
    try {
      f();
    } catch (...) {
      happened = MemoryFailure::happened();
      MemoryFailure::end();
      throw;
    }
    happened = MemoryFailure::happened();
  });
  return {outcome, happened};
}

/// Whether LOCUS_FUZZ_SEED is unset: a single allocation may cause no failure.
bool tries_many() { return fuzz_seed(all_of_them) == all_of_them; }

/// Calls try_one(n, once) for allocations n = 0, step, 2 step, ... until it returns false, because f makes at most n;
/// or only for the allocation LOCUS_FUZZ_SEED.
template <class F>
void for_each_allocation(std::int64_t wanted, std::int64_t total, const F& try_one) {
  const std::uint64_t only = fuzz_seed(all_of_them);
  const std::int64_t count = fuzz_count(wanted);
  const std::int64_t step = count < 0 || count >= total ? 1 : total / std::max<std::int64_t>(count, 1);
  for (const bool once : {true, false}) {
    CAPTURE(once);
    if (only != all_of_them) {
      (void)try_one(static_cast<std::int64_t>(only), once);
      continue;
    }
    for (std::int64_t n = 0; try_one(n, once); n += step) {}
  }
}

std::int64_t tensor_bytes() { return Backend<Cpu>::memory_stats({}).allocated_bytes; }

struct TwoThreads {
  int before = cpu::max_threads();
  TwoThreads() { cpu::set_max_threads(2); }
  ~TwoThreads() { cpu::set_max_threads(before); }
};

}  // namespace

TEST_CASE("training meets an allocation that fails, lets go of everything, and goes on") {
  const TwoThreads two;
  const auto expected = train_in_thread();
  REQUIRE(train_in_thread() == expected);
  const std::int64_t total = allocations_of(train_in_thread), bytes = tensor_bytes();
  std::int64_t failures = 0;
  // Without a leak, the number of live blocks after a round stops growing. A thread may get its first share of some
  // work late and then keeps its working memory; a leak would show in every round. A sanitizer finds leaks itself.
  constexpr int most = LOCUS_TEST_FAILING_MALLOC ? 6 : 1;
  std::int64_t alive = 0, last = -1;
  for (int round = 0; round < most && (round < 3 || alive != last); ++round) {
    for_each_allocation(150, total, [&](std::int64_t n, bool once) {
      CAPTURE(n);
      std::vector<double> values;
      const auto [outcome, happened] = outcome_of_failing(n, once, [&] { values = train_in_thread(); });
      CHECK(outcome != Outcome::wrong);
      CHECK((happened || outcome == Outcome::done));
      if (outcome == Outcome::done) CHECK(values == expected);
      CHECK(tensor_bytes() == bytes);
      failures += outcome == Outcome::out_of_memory;
      return happened;
    });
    CHECK(train_in_thread() == expected);
    last = alive;
    alive = failing_memory.alive.load();
  }
  if (tries_many()) CHECK(failures > 0);
  if (most > 1) CHECK(alive == last);
}

namespace {
/// A model, its optimizer and a batch, equal in every object.
struct Trained {
  nn::Sequential<float, Cpu> model = seeded_model();
  optim::Sgd<float, Cpu> optimizer{model.parameters(), {.lr = 0.01, .momentum = 0.9}};
  data::Batch<float, Cpu> batch{randn({20, 1, 3, 4}), zeros<std::int64_t>({20})};

  static nn::Sequential<float, Cpu> seeded_model() {
    manual_seed(6);
    return some_model();
  }
  void step() { (void)train_step(model, optimizer, batch); }
  [[nodiscard]] std::vector<float> weights() const {
    std::vector<float> numbers;
    for (const auto& parameter : model.parameters()) {
      const auto value = parameter.value().contiguous();
      numbers.insert(numbers.end(), value.data(), value.data() + value.elements());
    }
    return numbers;
  }
};
}  // namespace

TEST_CASE("a step that ran out of memory changes nothing, and the next one is like any other") {
  const TwoThreads two;
  Trained tried, other;
  tried.step(), other.step();
  REQUIRE(tried.weights() == other.weights());
  const std::int64_t total = allocations_of([&] { tried.step(); });
  other.step();
  for_each_allocation(-1, total, [&](std::int64_t n, bool once) {
    CAPTURE(n);
    const auto [outcome, happened] = outcome_of_failing(n, once, [&] { tried.step(); });
    CHECK(outcome != Outcome::wrong);
    if (outcome == Outcome::done) other.step();
    CHECK(tried.weights() == other.weights());
    CHECK_NOTHROW(tried.step());
    other.step();
    CHECK(tried.weights() == other.weights());
    return happened;
  });
}

TEST_CASE("parameters that ran out of memory on their way to flat memory can be trained") {
  bool failed = true;
  for (std::int64_t successes = 0; failed; ++successes) {
    CAPTURE(successes);
    REQUIRE(successes < 1000);
    const Parameter a(ones({2})), b(ones({2}));
    const auto give = [](const Parameter<float>& parameter, float size) {
      Traced(trace(parameter) * 1.f).backward(full({2}, size));
    };
    (void)flatten(std::vector{a});
    optim::Sgd of_a{std::vector{a}, {.lr = 1}};
    give(a, 3), give(b, 5);
    const std::vector both{a, b};
    try {
      const MemoryFailure failure(successes, true);
      (void)flatten(both);
    } catch (const std::bad_alloc&) {}
    failed = MemoryFailure::happened();
    CHECK(a.grad()(0) == 3);
    CHECK(b.grad()(0) == 5);
    of_a.step();
    CHECK(a.value()(0) == -2);
    optim::Sgd of_b{std::vector{b}, {.lr = 1}};
    of_b.step();
    CHECK(b.value()(0) == -4);
    a.zero_grad();
    give(a, 1);
    of_a.step();
    CHECK(a.value()(0) == -3);
  }
}

TEST_CASE("the first use of everything meets an allocation that fails") {
  // Each try needs a new process, as the pools and threads of this one exist already.
  const char* const program = "/proc/self/exe";
  std::int64_t failures = 0;
  for_each_allocation(60, 6000, [&](std::int64_t n, bool once) {
    CAPTURE(n);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      setenv("LOCUS_TEST_FAILS_AT", join(once ? "" : "-", n + 1).c_str(), 1);
      execl(program, program, "--test-case=*fails as the environment says*", "--no-skip", nullptr);
      _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    CHECK_MESSAGE((code == 40 || code == 41 || code == 42), "exit status ", code);
    failures += code == 42;
    return code == 41 || code == 42;
  });
  if (tries_many()) CHECK(failures > 0);
}

/// 40: no allocation failed; 41: training was done nevertheless; 42: it ran out of memory.
TEST_CASE("an allocation fails as the environment says" * doctest::skip()) {
  const char* const text = std::getenv("LOCUS_TEST_FAILS_AT");
  if (!text) return;
  const std::int64_t n = std::strtoll(text, nullptr, 10);
  cpu::set_max_threads(2);
  Outcome outcome{};
  {
    const MemoryFailure failure((n < 0 ? -n : n) - 1, n > 0);
    outcome = outcome_of([] { (void)train(); });
    MemoryFailure::end();
  }
  const bool happened = MemoryFailure::happened();
  if (outcome == Outcome::wrong || outcome_of([] { (void)train(); }) != Outcome::done) _exit(43);
  _exit(!happened ? 40 : outcome == Outcome::done ? 41 : 42);
}
