// Runs on: cuda (tensors).
// The checker of stream order: each rule of docs/copies-and-streams.md broken, and each correct order accepted. Sorting
// is in sorting_test.cpp, since CUB's names disturb other tests.

#include <locus/autograd/expression.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/cuda/streams.hpp>
#include <locus/device/capture.hpp>
#include <locus/expr/expr.hpp>
#include <locus/expr/functions.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/copy_async.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <support/skip.hpp>
#include <support/thrown.hpp>
#include <thread>

using namespace locus;
using namespace locus_test;

namespace {
using Matrix = Tensor<float, Cuda>;

/// The checker is on during a test.
struct Checked {
  bool before = cuda::streams_are_checked();
  Checked() { cuda::check_streams(true); }
  ~Checked() { cuda::check_streams(before); }
};
[[nodiscard]] Stream<Cuda> here() { return Stream<Cuda>::current(); }
[[nodiscard]] Matrix twice(const Matrix& x) { return x * 2.f; }

/// A function of a matrix of eight columns.
struct Operation {
  const char* name;
  bool is_refused;  ///< in tests of wrong orders; each error takes a second for its lines
  Matrix (*apply)(const Matrix& x);
};
/// 7, 6, ... 0
[[nodiscard]] const Tensor<std::int64_t, Cuda>& columns() {
  static const auto indices = (7 - arange<std::int64_t, Cuda>(0, 8)).eval();
  return indices;
}
template <class F>
[[nodiscard]] Matrix gradient(const Matrix& x, const F& f) {
  const auto v = variable(x);
  sum(f(v)).backward();
  return v.grad();
}
/// Operations whose launches tell operands by the pointers in a functor.
const Operation operations[] = {
    {"log_softmax", true, [](const Matrix& x) { return Matrix(log_softmax(x, 1)); }},
    {"log_softmax of columns", false, [](const Matrix& x) { return Matrix(log_softmax(x, 0)); }},
    {"gradient of softmax", false,
     [](const Matrix& x) { return gradient(x, [](auto v) { return square(softmax(v, 1)); }); }},
    {"gradient of layer_norm", false,
     [](const Matrix& x) { return gradient(x, [](auto v) { return layer_norm(v, {8}); }); }},
    {"attention", true,
     [](const Matrix& x) {
       const auto heads = x.reshape({1, 1, x.size(0), 8});
       return Matrix(scaled_dot_product_attention(heads, heads, heads).reshape(x.shape()));
     }},
    {"gradient of attention", false,
     [](const Matrix& x) {
       return gradient(x, [](auto v) {
         const auto heads = v.reshape({1, 1, v.size(0), 8});
         return square(scaled_dot_product_attention(heads, heads, heads));
       });
     }},
    {"gather", true,
     [](const Matrix& x) {
       return Matrix(gather(x, 1, columns().reshape({1, 8}).expand({x.size(0), 8})));
     }},
    {"index_select", true, [](const Matrix& x) { return Matrix(index_select(x, 1, columns())); }},
    {"gradient of index_select", false,
     [](const Matrix& x) { return gradient(x, [](auto v) { return index_select(v, 1, columns()); }); }},
};
}  // namespace

TEST_CASE("a stream that reads a tensor of another stream, and did not wait") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  const Matrix x = twice(ones<float, Cuda>({3, 4}));
  [[maybe_unused]] const int line = __LINE__ + 1;
  const std::string error = message_of<StreamError>([&] { (void)with_stream(side, [&] { return (x * 2.f).eval(); }); });
  INFO(error);
  CHECK(contains(error, "map of x0 * c over (12,) in stream "));
  CHECK(contains(error, " reads memory that map of x0 * c over (12,) in stream "));
  CHECK(contains(error, " writes, and nothing orders the two: before it, let stream "));
  CHECK(contains(error, " wait, stream.wait(other.record()), or the host, other.synchronize()\n  stream "));
#if LOCUS_SIMULATED_CUDA  // compiled with lines
  CHECK(contains(error, join("stream_order_test.cpp:", line).c_str()));
#endif
  SUBCASE("the stream waits") { side.wait(here().record()); }
  SUBCASE("the host waits for the stream") { here().synchronize(); }
  SUBCASE("the host waits for an event") { here().record().wait(); }
  SUBCASE("another thread waits, and lets this one go on") {
    const Event<Cuda> done = here().record();
    std::thread([&] { done.wait(); }).join();
  }
  SUBCASE("a third stream passes the order on") {
    const Stream<Cuda> third;
    third.wait(here().record());
    side.wait(third.record());
  }
  SUBCASE("the host reads a later result of the stream") { (void)sum(x).item(); }
  const Matrix y = with_stream(side, [&] { return twice(x); });
  CHECK_THROWS_AS((void)twice(y), StreamError);
  here().wait(side.record());
  CHECK(sum(y).item() == 48.f);
}

TEST_CASE("an event that was recorded before the tensor was computed orders nothing") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  Matrix x = ones<float, Cuda>({4});
  side.wait(here().record());
  x.fill_(3.f);
  CHECK_THROWS_AS((void)with_stream(side, [&] { return twice(x); }), StreamError);
  side.wait(here().record());
  CHECK_NOTHROW((void)with_stream(side, [&] { return twice(x); }));
  here().wait(side.record());
}

TEST_CASE("a write after another stream's read") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  const Matrix x = ones<float, Cuda>({2, 3});
  side.wait(here().record());
  const Matrix y = with_stream(side, [&] { return twice(x); });
  CHECK_NOTHROW((void)twice(x));  // two readers
  const std::string error = message_of<StreamError>([&] { x.fill_(2.f); });
  INFO(error);
  CHECK(contains(error, " writes memory that map of x0 * c over (6,) in stream "));
  CHECK(contains(error, " reads, and nothing orders the two"));
  here().wait(side.record());
  CHECK_NOTHROW(x.fill_(2.f));
}

TEST_CASE("products, reductions and copies are checked as maps are") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  const Matrix x = ones<float, Cuda>({4, 4}), w = ones<float, Cuda>({4, 4});
  with_stream(side, [&] {
    CHECK_THROWS_AS((void)matmul(x, w), StreamError);
    CHECK_THROWS_AS((void)sum(x), StreamError);
    CHECK_THROWS_AS((void)x.to<Cpu>(), StreamError);
    CHECK_THROWS_AS((void)x.clone(), StreamError);
    CHECK_THROWS_AS(x.copy_(ones({4, 4}).to<Cuda>()), StreamError);
    side.wait(Event<Cuda>());
  });
  side.wait(here().record());
  with_stream(side, [&] { CHECK(sum(matmul(x, w)).item() == 64.f); });
}

TEST_CASE("operations on rows, attention and lookups are checked as maps are") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  (void)columns();
  for (const Operation& operation : operations) {
    CAPTURE(operation.name);
    const Matrix x = twice(ones<float, Cuda>({4, 8}));
    if (operation.is_refused) CHECK_THROWS_AS((void)with_stream(side, [&] { return operation.apply(x); }), StreamError);
    side.wait(here().record());
    const Matrix y = with_stream(side, [&] { return operation.apply(x); });
    here().wait(side.record());
    CHECK_NOTHROW((void)operation.apply(y));
    CHECK_NOTHROW(x.fill_(1.f));
  }
}

TEST_CASE("two streams read parts of a tensor, whichever operations wrote it and read it") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  (void)columns();
  for (const Operation& writing : operations) {
    const Matrix y = writing.apply(ones<float, Cuda>({4, 8}));
    const Matrix part = y.slice(0, 2, 4);
    side.wait(here().record());
    for (const Operation& reading : operations) {
      CAPTURE(writing.name);
      CAPTURE(reading.name);
      CHECK_NOTHROW((void)with_stream(side, [&] { return reading.apply(part); }));
      CHECK_NOTHROW((void)reading.apply(part));
      CHECK_NOTHROW((void)reading.apply(y));
    }
    here().wait(side.record());
  }
}

TEST_CASE("a replay reads and writes as its launches") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  (void)columns();
  for (const Operation& operation : operations) {
    if (!operation.is_refused) continue;
    CAPTURE(operation.name);
    const Matrix x = ones<float, Cuda>({4, 8});
    Matrix y;
    auto step = capture<Cuda>([&] { y = operation.apply(x); });
    for (int i = 0; i < 3; ++i) step();
    side.wait(here().record());
    (void)with_stream(side, [&] { return twice(y); });
    CHECK_THROWS_AS(step(), StreamError);  // overwrites y
    here().wait(side.record());
    CHECK_NOTHROW(step());
    CHECK_THROWS_AS((void)with_stream(side, [&] { return twice(y); }), StreamError);
    side.wait(here().record());
    with_stream(side, [&] { x.fill_(3.f); });
    CHECK_THROWS_AS(step(), StreamError);  // reads x
    here().wait(side.record());
    CHECK_NOTHROW(step());
  }
}

TEST_CASE("a replay that is refused uses no memory") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  const Matrix a = zeros<float, Cuda>({8}), b = zeros<float, Cuda>({8});
  auto step = capture<Cuda>([&] { a += 1.f, b.fill_(2.f); });
  for (int i = 0; i < 3; ++i) step();
  side.wait(here().record());
  (void)with_stream(side, [&] { return twice(b); });
  CHECK_THROWS_AS(step(), StreamError);
  CHECK_NOTHROW((void)with_stream(side, [&] { return twice(a); }));
  here().wait(side.record());
  CHECK(sum(a).item() == 24.f);
}

TEST_CASE("streams may use different parts of one tensor") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  const Matrix x = zeros<float, Cuda>({4, 6});
  side.wait(here().record());
  with_stream(side, [&] {
    x.slice(0, 0, 2).fill_(1.f);
    x.slice(0, 2, 4).slice(1, 0, 3).fill_(1.f);
  });
  x.slice(0, 2, 4).slice(1, 3, 6).fill_(2.f);
  CHECK_THROWS_AS(x.slice(0, 1, 2).fill_(3.f), StreamError);
  here().wait(side.record());
  CHECK(sum(x).item() == 30.f);
}

TEST_CASE("a tensor that is released while another stream uses it") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  std::optional<Matrix> x = ones<float, Cuda>({8});
  side.wait(here().record());
  const Matrix y = with_stream(side, [&] { return twice(*x); });
  SUBCASE("") {
    x.reset();
    const std::string error = message_of<StreamError>([&] { here().synchronize(); });
    INFO(error);
    CHECK(contains(error, "a tensor was released in stream "));
    CHECK(contains(error, " while map of x0 * c over (8,) in stream "));
    CHECK(contains(error, ": released from "));
    CHECK_NOTHROW(here().synchronize());  // thrown once
  }
  SUBCASE("the streams are ordered") {
    here().wait(side.record());
    x.reset();
    CHECK_NOTHROW(here().synchronize());
  }
  SUBCASE("the host has waited") {
    side.synchronize();
    x.reset();
    CHECK_NOTHROW(here().synchronize());
  }
  SUBCASE("by the stream that uses it") {
    with_stream(side, [&] { x.reset(); });
    CHECK_NOTHROW(here().synchronize());
  }
  here().wait(side.record());
}

TEST_CASE("a release that breaks the rule is thrown once, by a call that can throw") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  std::optional<Matrix> x = ones<float, Cuda>({8});
  const Matrix z = ones<float, Cuda>({4});
  side.wait(here().record());
  (void)with_stream(side, [&] { return twice(*x); });
  SUBCASE("not by a copy to pinned memory that is dropped, which waits in its destructor") {
    {
      const auto back = copy_async(z, Pinned{});
      x.reset();
    }
    CHECK_THROWS_AS(here().synchronize(), StreamError);
  }
  SUBCASE("nor after the checker was switched off") {
    x.reset();
    cuda::check_streams(false);
    cuda::check_streams(true);
    CHECK_NOTHROW(here().synchronize());
  }
  here().wait(side.record());
  CHECK_NOTHROW(here().synchronize());
}

TEST_CASE("asynchronous copies: the type demands an order, and the checker sees it") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> copies;
  const Matrix x = copy_async(ones({3, 3}).to<Pinned>(), copies).ordered();
  CHECK(sum(x).item() == 9.f);
  const Matrix y = twice(x);
  auto back = copy_async(y, Pinned{});  // waits for this thread's stream
  CHECK(sum(std::move(back).wait().to<Cpu>()).item() == 18.f);
}

TEST_CASE("threads: each has its stream") {
  NEEDS_CUDA();
  const Checked checked;
  const Matrix x = twice(ones<float, Cuda>({5}));
  const Event<Cuda> ready = here().record();
  std::string error;
  std::thread([&] {
    error = message_of<StreamError>([&] { (void)twice(x); });
    here().wait(ready);
    CHECK(sum(x).item() == 10.f);
  }).join();
  CHECK(contains(error, " reads memory that "));
}

TEST_CASE("memory that one stream has released, and another one uses") {
  NEEDS_CUDA();
  const Checked checked;
  const Stream<Cuda> side;
  for (int i = 0; i < 3; ++i) {
    Matrix y = with_stream(side, [&] { return twice(ones<float, Cuda>({64})); });
    here().wait(side.record());
    CHECK(sum(y).item() == 128.f);
  }
}

TEST_CASE("without the checker, nothing is refused") {
  NEEDS_CUDA();
  const bool before = cuda::streams_are_checked();
  cuda::check_streams(false);
  const Stream<Cuda> side;
  const Matrix x = twice(ones<float, Cuda>({3}));
  CHECK_NOTHROW((void)with_stream(side, [&] { return twice(x); }));
  cuda::check_streams(true);  // knows nothing of uses before
  CHECK_NOTHROW(x.fill_(2.f));
  here().wait(side.record());
  here().synchronize();
  cuda::check_streams(before);
}
