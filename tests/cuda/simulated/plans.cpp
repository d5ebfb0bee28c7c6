// How products are computed, the storage of such choices, and the effects of cuBLASLt's refusals. Every case runs in
// processes of its own: a process keeps its findings about a form for good.

#include <locus/autograd/traced.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/ops/linear.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <support/fused_relu.hpp>
#include <thread>

#include "process.hpp"

using namespace locus;
using namespace locus_test;
using simulated::Environment;
using simulated::in_new_process;
namespace fs = std::filesystem;

namespace {
/// The observed effects of a product.
struct Seen {
  int asked = 0, products = 0;  ///< of cuBLASLt: for algorithms, and to compute
  std::uint64_t algorithm = 0;
  int epilogue = 0;
  std::int64_t launches = 0;
  bool is_right = false;
};

/// An array of the simulated GPU, filled with small numbers.
template <class T>
class Array {
 public:
  Array(std::size_t size, int seed)
      : data_(static_cast<T*>(Backend<Cuda>::allocate({}, size * sizeof(T)))), size_(size) {
    for (std::size_t i = 0; i < size; ++i)
      data_[i] = static_cast<T>(static_cast<float>((i * 7 + i / 5 + seed) % 9) - 4);
  }
  Array(const Array&) = delete;
  ~Array() { Backend<Cuda>::deallocate({}, data_, size_ * sizeof(T)); }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::vector<T> copy() const { return std::vector<T>(data_, data_ + size_); }

 private:
  T* data_;
  std::size_t size_;
};

/// c(m, n) = activation(a(m, k) b(k, n) + bias) (+ c), where the rows of c stand `gap` apart, against Cpu's.
template <class T = float, class Activation = functor::Identity>
Seen multiply(std::int64_t m, std::int64_t n, bool has_bias = false, bool accumulate = false, std::int64_t gap = 0,
              std::int64_t k = 7) {
  const std::int64_t ld = n + gap;
  const Array<T> a(m * k, 1), b(k * n, 2), c(m * ld, 3), bias(n, 4);
  const auto a_data = a.copy(), b_data = b.copy(), bias_data = bias.copy();
  auto expected = c.copy();
  const MatrixRef<const T> left{a_data.data(), m, k, k, 1}, right{b_data.data(), k, n, n, 1};
  Backend<Cpu>::gemm({}, GemmBatch{}, left, right, MatrixRef<T>{expected.data(), m, n, ld, 1},
                     Epilogue<T, Activation>{has_bias ? bias_data.data() : nullptr, accumulate, {}});
  const auto before = simulated::blas;
  const LaunchLog log;
  Backend<Cuda>::gemm({}, GemmBatch{}, MatrixRef<const T>{a.data(), m, k, k, 1},
                      MatrixRef<const T>{b.data(), k, n, n, 1}, MatrixRef<T>{c.data(), m, n, ld, 1},
                      Epilogue<T, Activation>{has_bias ? bias.data() : nullptr, accumulate, {}});
  const std::int64_t launches = log.launches();
  bool is_right = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    is_right &= std::fabs(static_cast<float>(c.data()[i]) - static_cast<float>(expected[i])) <=
                (sizeof(T) == 2 ? 0.01f + 0.01f * std::fabs(static_cast<float>(expected[i])) : 0.f);
  }
  return {simulated::blas.asked - before.asked,
          simulated::blas.products - before.products,
          simulated::blas.algorithm,
          simulated::blas.epilogue,
          launches,
          is_right};
}
/// A launch on the stream that is timed.
const auto kernel = [] {
  cuda::Context& context = cuda::Context::current(0);
  reinterpret_cast<simulated::Stream*>(context.stream())->clock += simulated::kernel_milliseconds;
};
/// c(m, n) = a(m, k) b(k, n) (+ c) with the sums of a's rows, against Cpu's; a is stored transposed, as gradients are.
/// Effects are observed if cuBLASLt made both; `launches` is 0 if it did not.
template <class T = float>
Seen multiply_and_sum(std::int64_t m, std::int64_t k, std::int64_t n, bool accumulate = false, int shift = 0) {
  const Array<T> a(m * k, 1), b(k * n, 2), c(m * n, 3), sums(m + 1, 4);
  const auto a_data = a.copy(), b_data = b.copy();
  auto expected = c.copy();
  std::vector<T> expected_sums;
  for (std::int64_t i = 0; i < m; ++i) {
    float sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += static_cast<float>(a_data[static_cast<std::size_t>(l * m + i)]);
    expected_sums.push_back(static_cast<T>(sum));
  }
  Backend<Cpu>::gemm({}, GemmBatch{}, MatrixRef<const T>{a_data.data(), m, k, 1, m},
                     MatrixRef<const T>{b_data.data(), k, n, n, 1}, MatrixRef<T>{expected.data(), m, n, n, 1},
                     Epilogue<T, functor::Identity>{nullptr, accumulate, {}});
  const auto before = simulated::blas;
  const LaunchLog log;
  const bool both = LinearFusion<Cuda>::gemm_and_sums(
      {}, MatrixRef<const T>{a.data(), m, k, 1, m}, MatrixRef<const T>{b.data(), k, n, n, 1},
      MatrixRef<T>{c.data(), m, n, n, 1}, accumulate, sums.data() + shift, kernel);
  bool is_right = !both || std::equal(expected_sums.begin(), expected_sums.end(), sums.data() + shift);
  for (std::size_t i = 0; both && i < expected.size(); ++i) is_right &= c.data()[i] == expected[i];
  return {simulated::blas.asked - before.asked,
          simulated::blas.products - before.products,
          simulated::blas.algorithm,
          simulated::blas.epilogue,
          log.launches(),
          is_right && log.launches() == both};
}

/// y(m, n) = activation(a b + bias), and then dz(m, n) = (g w) activation', with the sums of its columns, from the
/// matrix that the first product kept. Against Cpu's; effects are the second product's, `epilogue` both products'.
template <class T, class Activation, std::int64_t k = 7>
struct ThereAndBack {
  std::int64_t m, n;
  Array<T> a{static_cast<std::size_t>(m * k), 1}, w{static_cast<std::size_t>(k * n), 2},
      bias{static_cast<std::size_t>(n), 4}, y{static_cast<std::size_t>(m * n), 3},
      dz{static_cast<std::size_t>(m * n), 5}, sums{static_cast<std::size_t>(n), 6};
  std::int64_t kept_columns = LinearFusion<Cuda>::kept_columns<T>(Activation{}, n);
  Array<T> kept{static_cast<std::size_t>(m * kept_columns + 8), 7};
  std::vector<T> z = std::vector<T>(y.copy()), expected_y = z, expected_dz = z;

  ThereAndBack(std::int64_t rows, std::int64_t cols) : m(rows), n(cols) {
    const auto a_data = a.copy(), w_data = w.copy(), bias_data = bias.copy();
    const MatrixRef<const T> host_a{a_data.data(), m, k, k, 1}, host_w{w_data.data(), k, n, n, 1};
    Backend<Cpu>::gemm({}, {}, host_a, host_w, on_host(z), Epilogue<T, functor::Identity>{bias_data.data(), false, {}});
    Backend<Cpu>::gemm({}, {}, host_a, host_w, on_host(expected_y),
                       Epilogue<T, Activation>{bias_data.data(), false, {}});
    const auto& value = locus::detail::DerivedByOutput<Activation, compute_t<T>> ? expected_y : z;
    Backend<Cpu>::gemm({}, {}, host_a, host_w, on_host(expected_dz),
                       DerivativeEpilogue<T, Activation>{{}, value.data(), n});
  }
  [[nodiscard]] MatrixRef<T> on_host(std::vector<T>& data) const { return {data.data(), m, n, n, 1}; }
  [[nodiscard]] static bool are_close(const T* found, const std::vector<T>& expected) {
    bool is_right = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      is_right &= std::fabs(static_cast<float>(found[i]) - static_cast<float>(expected[i])) <=
                  (sizeof(T) == 2 ? 0.02f + 0.01f * std::fabs(static_cast<float>(expected[i])) : 1e-4f);
    }
    return is_right;
  }

  /// `launches` is 0 if this cannot be done in one launch.
  Seen there() {
    const Epilogue<T, Activation> epilogue{bias.data(), false, {}};
    return seen(
        [&] {
          return LinearFusion<Cuda>::gemm_and_keep({}, left(), right(), MatrixRef<T>{y.data(), m, n, n, 1}, epilogue,
                                                   kept.data());
        },
        [&] { return are_close(y.data(), expected_y); });
  }
  Seen back(int shift = 0) {
    return seen(
        [&] {
          return LinearFusion<Cuda>::gemm_and_column_sums({}, left(), right(), result(), derivative(),
                                                          sums.data() + shift, kernel);
        },
        [&] {
          std::vector<T> expected;
          for (std::int64_t j = 0; j < n; ++j) {
            float sum = 0;
            for (std::int64_t i = 0; i < m; ++i)
              sum += static_cast<float>(expected_dz[static_cast<std::size_t>(i * n + j)]);
            expected.push_back(static_cast<T>(sum));
          }
          return are_close(dz.data(), expected_dz) && are_close(sums.data(), expected);
        });
  }
  /// The second product without the sums, in as many launches as it takes.
  Seen back_without_sums() {
    const auto multiply = [&] {
      Backend<Cuda>::gemm({}, GemmBatch{}, left(), right(), result(), derivative());
      return true;
    };
    return seen(multiply, [&] { return are_close(dz.data(), expected_dz); });
  }

 private:
  [[nodiscard]] MatrixRef<const T> left() const { return {a.data(), m, k, k, 1}; }
  [[nodiscard]] MatrixRef<const T> right() const { return {w.data(), k, n, n, 1}; }
  [[nodiscard]] MatrixRef<T> result() const { return {dz.data(), m, n, n, 1}; }
  [[nodiscard]] DerivativeEpilogue<T, Activation> derivative() const {
    if (locus::detail::DerivedByOutput<Activation, compute_t<T>>) return {{}, y.data(), n, kept.data()};
    return {{}, kept.data(), kept_columns, kept.data()};
  }

  template <class Use, class Check>
  static Seen seen(const Use& use, const Check& is_right) {
    const auto before = simulated::blas;
    const LaunchLog log;
    const bool is_made = use();
    return {simulated::blas.asked - before.asked,
            simulated::blas.products - before.products,
            simulated::blas.algorithm,
            simulated::blas.epilogue,
            log.launches(),
            (log.launches() > 0) == is_made && (!is_made || is_right())};
  }
};
Seen plain() { return multiply(5, 9); }
Seen with_relu() { return multiply<float, functor::Relu>(5, 9, true); }
/// Right at once, in the expected way.
bool is_untimed(const Seen& seen, std::uint64_t algorithm) {
  return seen.is_right && seen.products == 1 && seen.algorithm == algorithm;
}
bool is_timed(const Seen& seen, std::uint64_t algorithm) {
  return seen.is_right && seen.products > 8 && seen.algorithm == algorithm;
}

/// An imaginary GPU, on which the fourth of eight algorithms is the fastest and an epilogue takes no time.
void fourth_is_fastest() {
  simulated::blas.algorithms = 8;
  for (int i = 0; i < 8; ++i) {
    simulated::blas.milliseconds[i] = simulated::blas.fused_milliseconds[i] = 1 + 0.1 * std::abs(i - 3);
  }
  simulated::kernel_milliseconds = 1;
}

/// The result of `use` in a new process with this environment, where the fourth algorithm is the fastest and relu may
/// be an epilogue.
template <class Use>
auto in_process(const Environment& environment, const Use& use, std::string* said = nullptr) {
  const auto prepared = [&] {
    fourth_is_fastest();
    cuda::allow_fused_relu(true);
    return use();
  };
  return in_new_process(environment, prepared, said);
}
const Environment autotuned{{"LOCUS_AUTOTUNE", "1"}};
Environment kept_in(const std::string& file, bool autotune) {
  return {{"LOCUS_PLANS", file}, {"LOCUS_AUTOTUNE", autotune ? "1" : "0"}};
}
/// How many plans a file holds.
std::size_t plans_in(const std::string& file) { return cuda::detail::parse_plans(content_of(file)).lines.size(); }
}  // namespace

TEST_CASE("cuBLASLt's first answer serves, unless products are timed") {
  CHECK(is_untimed(in_process({}, plain), 0));
  CHECK(is_untimed(in_process({{"LOCUS_AUTOTUNE", "0"}}, plain), 0));
  CHECK(is_timed(in_process(autotuned, plain), 3));
  CHECK(in_process({}, [] {
    const bool first = is_untimed(plain(), 0) && is_untimed(plain(), 0) && !cuda::gemm_is_autotuned();
    cuda::autotune_gemm(true);
    const bool second = is_timed(plain(), 3) && cuda::gemm_is_autotuned();
    cuda::autotune_gemm(false);
    return first && second && is_untimed(plain(), 3) && is_untimed(multiply(6, 9), 0);
  }));
}

TEST_CASE("an answer that divides few summands among many blocks comes last") {
  const auto with_parts = [](std::int32_t first, std::int32_t others) {
    return in_process({}, [=] {
      for (std::int32_t& parts : simulated::blas.parts) parts = others;
      simulated::blas.parts[0] = first;
      return plain();  // of 7 summands
    });
  };
  CHECK(is_untimed(with_parts(1, 1), 0));
  CHECK(is_untimed(with_parts(2, 1), 1));
  CHECK(is_untimed(with_parts(2, 2), 0));
}

TEST_CASE("a form is timed once, by one thread for all") {
  CHECK(in_process(autotuned, [] {
    bool others = true;
    const bool first = is_timed(plain(), 3) && plain().asked == 0;
    simulated::blas.milliseconds[0] = 0.5;
    std::thread([&] { others = is_untimed(plain(), 3) && is_timed(multiply(5, 10), 0); }).join();
    return first && others && is_untimed(multiply(5, 10), 0);
  }));
}

TEST_CASE("of algorithms that are about equal the first is kept; one that fails is passed over") {
  CHECK(in_process(autotuned, [] {
    for (int i = 0; i < 8; ++i) simulated::blas.milliseconds[i] = 1 - 0.002 * i;
    const bool kept = plain().algorithm == 0;
    simulated::blas.refused = 1;
    const Seen other = multiply(6, 9);
    return kept && other.is_right && other.algorithm == 1;
  }));
}

TEST_CASE("an epilogue is fused where that is faster, and otherwise launched after the product") {
  const auto both = [](double kernel, double fused) {
    return in_process(autotuned, [&] {
      simulated::kernel_milliseconds = kernel;
      for (double& milliseconds : simulated::blas.fused_milliseconds) milliseconds += fused;
      const Seen first = with_relu(), second = with_relu();
      const bool same = first.is_right && second.is_right && first.epilogue == second.epilogue &&
                        first.launches == second.launches && second.products == 1;
      return same ? second : Seen{};
    });
  };
  CHECK(both(1, 0.5).launches == 1);
  CHECK(both(1, 0.5).epilogue == CUBLASLT_EPILOGUE_RELU_BIAS);
  CHECK(both(1, 1.5).launches == 2);
  CHECK(both(1, 1.5).epilogue == CUBLASLT_EPILOGUE_DEFAULT);
  CHECK(both(1, 1.5).algorithm == 3);
  CHECK(both(1, 1).launches == 1);
}

TEST_CASE("what is timed changes nothing but the result") {
  const auto seen = in_process(autotuned, [] {
    // Added to the previous c once; a gap between rows untouched; an epilogue of its own after the product.
    return std::array<Seen, 5>{multiply(5, 9, false, true), multiply(5, 9, true, true, 3),
                               multiply(5, 9, true, false, 3), multiply<double, functor::Relu>(5, 9, true),
                               multiply<float, functor::Tanh>(5, 9, true)};
  });
  for (const Seen& one : seen) CHECK(one.is_right);
  for (int i = 0; i < 3; ++i) CHECK(is_timed(seen[static_cast<std::size_t>(i)], 3));
  const auto onto_itself = [] {
    const Array<float> x(64, 1), y(64, 2);
    const MatrixRef<float> target{x.data(), 8, 8, 8, 1};
    Backend<Cuda>::gemm({}, GemmBatch{}, MatrixRef<const float>{x.data(), 8, 8, 8, 1},
                        MatrixRef<const float>{y.data(), 8, 8, 8, 1}, target, Epilogue<float, functor::Identity>{});
    std::array<float, 64> values;
    for (std::size_t i = 0; i < 64; ++i) values[i] = x.data()[i];
    return values;
  };
  CHECK(in_process(autotuned, onto_itself) == in_process({}, onto_itself));
}

TEST_CASE("without memory for a copy the first answer serves for good") {
  CHECK(in_process(autotuned, [] {
    (void)multiply(40, 40);  // whose memory serves the next ones
    (void)plain();
    simulated::most_memory = 4096;
    const bool first = is_untimed(multiply(40, 40, false, true), 0);
    simulated::most_memory = std::size_t{1} << 34;
    return first && is_untimed(multiply(40, 40, false, true), 0);
  }));
}

TEST_CASE("nothing is timed while a stream is captured, nor with LOCUS_SYNC") {
  CHECK(in_process(autotuned, [] {
    const bool before = is_timed(plain(), 3);
    simulated::captured = true;
    const bool known = is_untimed(plain(), 3), unknown = is_untimed(multiply(6, 9), 0),
               fused = is_untimed(with_relu(), 0);
    simulated::captured = false;
    return before && known && unknown && fused && is_untimed(multiply(6, 9), 0) && is_untimed(with_relu(), 0);
  }));
  CHECK(is_untimed(in_process({{"LOCUS_AUTOTUNE", "1"}, {"LOCUS_SYNC", "1"}}, plain), 0));
}

TEST_CASE("a file keeps what was timed for the next process, which asks nothing") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  const auto use = [] {
    for (double& milliseconds : simulated::blas.fused_milliseconds) milliseconds += 2;
    return std::array<Seen, 2>{plain(), with_relu()};
  };
  const auto first = in_process(kept_in(file, true), use);
  CHECK(is_timed(first[0], 3));
  CHECK(first[1].launches == 2);
  CHECK(plans_in(file) == 2);  // the product before relu is the first one's
  const std::string written = content_of(file);
  for (const bool autotune : {false, true}) {
    const auto second = in_process(kept_in(file, autotune), use);
    CHECK(is_untimed(second[0], 3));
    CHECK(second[1].launches == 2);
    CHECK(second[1].is_right);
    CHECK(second[0].asked + second[1].asked == 0);
  }
  CHECK(content_of(file) == written);
  CHECK(folder.entries() == 1);
}

TEST_CASE("plans of other GPUs and libraries are kept, but not used") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  (void)in_process(kept_in(file, true), plain);
  const auto on_another = [](const char* name, std::size_t version) {
    return [=] {
      simulated::gpu_name = name;
      simulated::blas.version = version;
      return plain();
    };
  };
  CHECK(is_untimed(in_process(kept_in(file, false), on_another("Another GPU", 130100)), 0));
  CHECK(is_untimed(in_process(kept_in(file, false), on_another("Simulated GPU", 130200)), 0));
  CHECK(is_timed(in_process(kept_in(file, true), on_another("Another\nGPU", 130100)), 3));
  CHECK(is_timed(in_process(kept_in(file, true), on_another("Simulated GPU", 130200)), 3));
  CHECK(plans_in(file) == 3);
  CHECK(is_untimed(in_process(kept_in(file, false), plain), 3));
}

TEST_CASE("processes add to a file; one that is deleted meanwhile is written whole") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  CHECK(in_process(kept_in(file, true), [&] {
    (void)plain();  // reads the file, which is not there
    const bool other = is_timed(in_process(kept_in(file, true), [] { return multiply(6, 9); }), 3);
    return other && is_timed(multiply(7, 9), 3);
  }));
  CHECK(plans_in(file) == 3);
  CHECK(in_process(kept_in(file, true), [&] {
    const bool known = is_untimed(plain(), 3) && is_untimed(multiply(6, 9), 3) && is_untimed(multiply(7, 9), 3);
    fs::remove(file);
    return known && is_timed(multiply(8, 9), 3);
  }));
  CHECK(plans_in(file) == 4);
}

TEST_CASE("a file that is damaged anywhere costs its plan at most") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  (void)in_process(kept_in(file, true), plain);
  const std::string whole = content_of(file);
  const std::size_t head = cuda::detail::plan_file_head.size() + 1;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const bool is_cut : {true, false}) {
      std::string damaged = is_cut ? whole.substr(0, at) : whole;
      if (!is_cut) damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      (void)folder.write("plans", damaged);
      std::string said;
      const Seen seen = in_process(kept_in(file, false), plain, &said);
      INFO((is_cut ? "cut at " : "changed at "), at);
      const bool survives = is_cut ? at + 1 == whole.size() : at < head - 1;
      CHECK(is_untimed(seen, survives ? 3 : 0));
      const bool is_whole = is_cut && (at == 0 || at == head - 1 || at == head || at + 1 == whole.size());
      CHECK(std::count(said.begin(), said.end(), '\n') == (is_whole ? 0 : 1));
      CHECK(content_of(file) == damaged);
    }
  }
  (void)folder.write("plans", whole.substr(0, whole.size() / 2));
  std::string said;
  CHECK(is_timed(in_process(kept_in(file, true), plain, &said), 3));
  CHECK(said.find("has 1 damaged lines") != std::string::npos);
  CHECK(content_of(file) == whole);
}

TEST_CASE("an algorithm that cuBLASLt does not take is found anew") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  (void)in_process(kept_in(file, true), plain);
  const std::string whole = content_of(file);
  auto plans = cuda::detail::parse_plans(whole).lines;
  for (const int wrong : {0, 1}) {
    auto line = plans.at(0);
    if (wrong == 0) line.choice.algorithm[4] = 1'000'000;
    else line.choice.fused = false;  // of a product that has no epilogue
    (void)folder.write("plans", join(cuda::detail::plan_file_head, "\n", to_text(line)));
    CHECK(is_untimed(in_process(kept_in(file, false), plain), 0));
    CHECK(is_timed(in_process(kept_in(file, true), plain), 3));
    CHECK(content_of(file) == whole);
  }
}

TEST_CASE("a file that cannot be written is told of once, and products go on") {
  const TemporaryFolder folder;
  std::string said;
  CHECK(in_process(
      kept_in(folder.path / "none" / "plans", true), [] { return is_timed(plain(), 3) && is_timed(multiply(6, 9), 3); },
      &said));
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  CHECK(said.find("there is no folder") != std::string::npos);
}

namespace {
/// The error of a product in a process after prepare().
template <class Prepare>
std::string refusal(const Prepare& prepare) {
  const auto text = in_process({}, [&] {
    prepare();
    std::array<char, 400> what{};
    try {
      (void)plain();
    } catch (const CudaError& error) {
      std::snprintf(what.data(), what.size(), "CudaError %s", error.what());
    } catch (const OutOfMemory& error) {
      std::snprintf(what.data(), what.size(), "OutOfMemory %s", error.what());
    }
    return what;
  });
  return std::string(text.data());
}
}  // namespace

TEST_CASE("an algorithm that is refused when it is used is not used again: the next one is") {
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE,
                                      CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_INTERNAL_ERROR}) {
    CHECK(in_process({}, [&] {
      simulated::blas.refusal = status;
      simulated::blas.refused = 0b1011;
      const Seen first = plain();
      return first.is_right && first.algorithm == 2 && first.products == 3 && cudaGetLastError() == cudaSuccess &&
             is_untimed(plain(), 2) && plain().asked == 0;
    }));
  }
}

TEST_CASE("an epilogue that is refused when it is used is a launch of its own from then on") {
  for (const Environment& environment : {Environment{}, autotuned}) {
    CHECK(in_process(environment, [] {
      simulated::blas.refuses_epilogues = true;
      const Seen first = with_relu(), second = with_relu();
      bool is_right = first.is_right && first.launches == 2 && is_untimed(second, second.algorithm) &&
                      second.launches == 2 && second.asked == 0;
      for (int i = 0; i < 2; ++i) {
        ThereAndBack<half, functor::GeluTanh> products(5, 9);
        const Seen there = products.there(), back = products.back(), sums = multiply_and_sum(5, 7, 9);
        for (const Seen& one : {there, back, sums}) is_right &= one.is_right && one.launches == 0;
      }
      return is_right;
    }));
  }
}

TEST_CASE("with products timed, algorithms and ways that are refused are passed over, and nothing of them is kept") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  CHECK(in_process(kept_in(file, true), [] {
    simulated::blas.refused = 0b1001;
    const Seen first = plain();
    return first.is_right && first.algorithm == 2 && is_untimed(plain(), 2);
  }));
  CHECK(plans_in(file) == 1);
  CHECK(in_process(kept_in(file, false), [] {  // the file's algorithm is refused here
    simulated::blas.refused = 0b111;
    const Seen first = plain();
    return first.is_right && first.algorithm == 3 && is_untimed(plain(), 3);
  }));
  fs::remove(file);
  CHECK(in_process(kept_in(file, true), [] {
    simulated::blas.refused = 0xff;
    bool is_refused = false;
    try {
      (void)plain();
    } catch (const CudaError&) {
      is_refused = true;
    }
    return is_refused;
  }));
  CHECK(content_of(file).empty());
}

TEST_CASE("matrices for which cuBLASLt has no algorithm as they lie are copied to rows that are aligned") {
  for (const Environment& environment : {Environment{}, autotuned}) {
    const auto seen = in_process(environment, [] {
      simulated::blas.least_alignment = 16;
      return std::array<Seen, 6>{multiply(5, 9),
                                 multiply<half>(5, 9, true),
                                 multiply<bfloat16, functor::Tanh>(5, 3, true, true, 1),
                                 multiply<float, functor::Relu>(6, 9, true),
                                 multiply<double>(1, 1, false, true),
                                 multiply(5, 9)};
    });
    for (const Seen& one : seen) {
      CHECK(one.is_right);
      CHECK(one.launches <= 4);  // two copies, the product, and its end
      CHECK(one.launches >= 2);
    }
    CHECK(seen[5].asked == 0);
    CHECK(seen[5].products == 1);
  }
  const auto batch = in_process({}, [] {
    simulated::blas.least_alignment = 16;
    const auto number = [](const auto& shape, auto device) {
      return arange<float, decltype(device)>(elements(shape)).reshape(shape);
    };
    const Shape left{3, 2, 5}, right{5, 7};
    const Tensor expected = matmul(number(left, Cpu{}), number(right, Cpu{}));
    const Tensor found = matmul(number(left, Cuda{}), number(right, Cuda{})).to<Cpu>();
    return std::equal(found.data(), found.data() + found.elements(), expected.data());
  });
  CHECK(batch);
}

TEST_CASE("an error that an earlier launch left is not taken for a refusal") {
  CHECK(refusal([] {
          simulated::blas.refused = 0xff;
          simulated::lasting_error = cudaErrorIllegalAddress;
        }).find("CudaError gemm: cudaErrorIllegalAddress, simulated error; an earlier launch may be the cause") == 0);
}

TEST_CASE("cuBLASLt's relu makes NaN 0 and has slope 1 at 0; Locus's keeps NaN and has slope 0 there") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto there_and_back = [&](bool fused) {
    return in_process({}, [&] {
      cuda::allow_fused_relu(fused);
      const Tensor<float, Cuda> w({3, 2}), v({2, 3});  // v: more than one output
      w.fill_(0);
      v.fill_(1);
      const auto x = variable(from<float, Cuda>({1, 2}).reshape({1, 2})), b = variable(from<float, Cuda>({0, nan, 3}));
      const auto y = linear(x, w, b, functor::Relu{});
      const auto z = linear(y, v);
      z.backward(full<float, Cuda>({1, 2}, 1));
      std::array<float, 6> answer;
      for (int i = 0; i < 3; ++i) {
        answer[static_cast<std::size_t>(i)] = y.value().data()[i];
        answer[static_cast<std::size_t>(3 + i)] = b.grad().data()[i];
      }
      return answer;
    });
  };
  CHECK(there_and_back(true) == std::array<float, 6>{0, 0, 3, 2, 0, 2});
  const auto own = there_and_back(false);
  CHECK(std::isnan(own[1]));
  CHECK(own[0] == 0);
  CHECK(own[2] == 3);
  CHECK(own[3] == 0);
  CHECK(own[4] == 2);
  CHECK(own[5] == 2);
}

TEST_CASE("a derivative is no epilogue of a product over one element") {
  const auto seen = in_process({}, [] {
    ThereAndBack<half, functor::GeluTanh, 1> gelu(5, 9);
    ThereAndBack<float, functor::Relu, 1> relu(5, 9);
    return std::array<Seen, 6>{gelu.there(), gelu.back(), gelu.back_without_sums(),
                               relu.there(), relu.back(), relu.back_without_sums()};
  });
  for (const Seen& one : seen) CHECK(one.is_right);
  for (const std::size_t i : {1, 4}) CHECK(seen[i].launches == 0);
  for (const std::size_t i : {2, 5}) CHECK(seen[i].launches == 2);
}

TEST_CASE("a refusal of cuBLASLt names the product") {
  CHECK(refusal([] { simulated::blas.status = CUBLAS_STATUS_EXECUTION_FAILED; }) ==
        "CudaError gemm of 1 product (5, 7) x (7, 9) of float32: cublasLtMatmul: simulated status, simulated status");
  CHECK(refusal([] { simulated::blas.status = CUBLAS_STATUS_ALLOC_FAILED; }) ==
        "OutOfMemory gemm of 1 product (5, 7) x (7, 9) of float32: cublasLtMatmul: cuBLAS found no GPU memory");
  const std::string unknown =
      "CudaError gemm of 1 product (5, 7) x (7, 9) of float32: there is no algorithm for it with cublasLt 130100, "
      "sm_90, 4 multiprocessors, Simulated GPU; use a CUDA toolkit that knows this GPU, or smaller matrices";
  CHECK(refusal([] { simulated::blas.algorithms = 0; }) == unknown);
  CHECK(refusal([] {
          simulated::blas.algorithms = 0;
          cuda::autotune_gemm(true);
        }) == unknown);
  CHECK(
      refusal([] { simulated::blas.refuses_all = true; }) ==
      "CudaError gemm of 1 product (5, 7) x (7, 9) of float32: there is no algorithm for it with cublasLt 130100, "
      "sm_90, 4 multiprocessors, Simulated GPU (simulated status); use a CUDA toolkit that knows this GPU, or smaller "
      "matrices");
}

TEST_CASE("gelu is fused where cuBLASLt's approximation is as exact as the type") {
  const auto epilogue = [](const auto& use) {
    const Seen seen = in_process({}, use);
    CHECK(seen.is_right);
    CHECK(seen.launches == (seen.epilogue == CUBLASLT_EPILOGUE_DEFAULT ? 2 : 1));
    return seen.epilogue;
  };
  CHECK(epilogue([] { return multiply<half, functor::GeluTanh>(5, 9); }) == CUBLASLT_EPILOGUE_GELU);
  CHECK(epilogue([] { return multiply<bfloat16, functor::GeluTanh>(5, 9, true); }) == CUBLASLT_EPILOGUE_GELU_BIAS);
  CHECK(epilogue([] { return multiply<half, functor::GeluTanh>(5, 9, true, true); }) == CUBLASLT_EPILOGUE_DEFAULT);
  CHECK(epilogue([] { return multiply<half, functor::Gelu>(5, 9, true); }) == CUBLASLT_EPILOGUE_DEFAULT);
}

TEST_CASE("sums of a factor come with the product: in one launch where that pays") {
  const auto fused = [](const auto& use) {
    const Seen seen = in_process({}, use);
    CHECK(seen.is_right);
    CHECK((seen.launches == 0 || seen.epilogue == CUBLASLT_EPILOGUE_BGRADB));
    return seen.launches == 1;
  };
  CHECK(fused([] { return multiply_and_sum(5, 7, 9); }));
  CHECK(fused([] { return multiply_and_sum(5, 7, 9, true); }));
  CHECK(fused([] { return multiply_and_sum<half>(40, 3, 1); }));
  CHECK(
      fused([] { return multiply_and_sum<bfloat16>(1, 4, 8); }));  // cuBLASLt sums a factor that is stored transposed,
  CHECK(fused([] { return multiply_and_sum(9, 1, 8); }));          // as a row or a column is
  CHECK(fused([] { return multiply_and_sum(1, 1, 1); }));
  CHECK_FALSE(fused([] { return multiply_and_sum<double>(5, 7, 9); }));    // as if cuBLASLt knew no way
  CHECK_FALSE(fused([] { return multiply_and_sum(5, 7, 9, false, 1); }));  // sums that are not aligned
  CHECK_FALSE(fused([] { return multiply_and_sum(5, 0, 9); }));
  CHECK(cuda::detail::is_worth_fusing({.m = 1024, .n = 1024, .k = 256, .epilogue = CUBLASLT_EPILOGUE_BGRADB}));
  CHECK_FALSE(cuda::detail::is_worth_fusing({.m = 1024, .n = 1024, .k = 257, .epilogue = CUBLASLT_EPILOGUE_BGRADB}));
  CHECK(cuda::detail::is_worth_fusing({.m = 4096, .n = 4096, .k = 4096, .epilogue = CUBLASLT_EPILOGUE_RELU_BIAS}));
}

TEST_CASE("sums of a factor are timed against a launch of their own, and what won is kept") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  const auto launches = [&](double kernel, double fused) {
    return in_process(kept_in(file, true), [&] {
      simulated::kernel_milliseconds = kernel;
      for (double& milliseconds : simulated::blas.fused_milliseconds) milliseconds += fused;
      const Seen first = multiply_and_sum(5, 7, 9, true), second = multiply_and_sum(5, 7, 9, true);
      const bool same = first.is_right && second.is_right && first.launches == second.launches && second.asked == 0;
      return same ? second.launches : -1;
    });
  };
  CHECK(launches(1, 1.5) == 0);
  CHECK(launches(1, 0.5) == 0);  // the file says so
  fs::remove(file);
  CHECK(launches(1, 0.5) == 1);
  CHECK(launches(1, 1.5) == 1);
}

TEST_CASE("a product keeps what the derivative of its activation needs, and another one applies that and sums it") {
  const auto epilogues = [](const auto& use) {
    const auto seen = in_process({}, [&] {
      auto products = use();
      const Seen there = products.there();
      return std::array<Seen, 2>{there, products.back()};
    });
    for (const Seen& one : seen) CHECK(one.is_right);
    return std::pair(seen[0].launches ? seen[0].epilogue : 0, seen[1].launches ? seen[1].epilogue : 0);
  };
  const std::pair<int, int> relu(CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_DRELU_BGRAD),
      gelu(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU_BGRAD), nothing(0, 0);
  CHECK(epilogues([] { return ThereAndBack<float, functor::Relu>(5, 9); }) == relu);
  CHECK(epilogues([] { return ThereAndBack<half, functor::Relu>(40, 130); }) == relu);
  CHECK(epilogues([] { return ThereAndBack<half, functor::GeluTanh>(5, 9); }) == gelu);
  CHECK(epilogues([] { return ThereAndBack<bfloat16, functor::GeluTanh>(1, 16); }) == gelu);
  CHECK(epilogues([] { return ThereAndBack<double, functor::Relu>(5, 9); }) == nothing);  // as if there were no way
  CHECK(epilogues([] { return ThereAndBack<float, functor::GeluTanh>(5, 9); }) == nothing);
  CHECK(epilogues([] { return ThereAndBack<half, functor::Gelu>(5, 9); }) == nothing);
  CHECK(LinearFusion<Cuda>::kept_columns<float>(functor::GeluTanh{}, 9) == 0);
  CHECK(LinearFusion<Cuda>::kept_columns<half>(functor::GeluTanh{}, 9) == 16);
  CHECK(LinearFusion<Cuda>::kept_columns<float>(functor::ChosenActivation{functor::Activation::relu}, 129) == 0);
  {
    const locus_test::FusedRelu fused;
    CHECK(LinearFusion<Cuda>::kept_columns<float>(functor::ChosenActivation{functor::Activation::relu}, 129) == 8);
  }
  CHECK(LinearFusion<Cuda>::kept_columns<float>(functor::ChosenActivation{functor::Activation::tanh}, 129) == 0);
  CHECK(in_process({}, [] {
    ThereAndBack<float, functor::Relu> products(5, 9);
    (void)products.there();
    const Seen misaligned = products.back(1);
    return misaligned.is_right && misaligned.launches == 0;
  }));
  for (const auto epilogue : {CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_DGELU_BGRAD}) {
    CHECK(cuda::detail::is_worth_fusing({.m = 1024, .n = 1024, .k = 256, .epilogue = epilogue}));
    CHECK_FALSE(cuda::detail::is_worth_fusing({.m = 1024, .n = 1024, .k = 257, .epilogue = epilogue}));
  }
}

TEST_CASE("the plan of a product knows how what it keeps is aligned") {
  alignas(256) static unsigned char memory[512];
  cuda::BlasProduct one{.m = 8, .n = 8, .k = 8, .epilogue = CUBLASLT_EPILOGUE_GELU_AUX, .kept = memory}, other = one;
  CHECK(cuda::detail::key_of(one) == cuda::detail::key_of(other));
  other.kept = memory + 256;
  CHECK(cuda::detail::key_of(one) == cuda::detail::key_of(other));
  other.kept = memory + 16;
  CHECK_FALSE(cuda::detail::key_of(one) == cuda::detail::key_of(other));
}

TEST_CASE("how far matrices lie apart says how they are aligned, where there are several") {
  const auto alignment = [](const Shape& left, const Shape& right) {
    return in_process({}, [&] {
      const Tensor<float, Cuda> a(left), b(right);
      (void)matmul(a, b);
      return simulated::blas.alignment;
    });
  };
  CHECK(alignment({4, 8}, {8, 16}) == 256);
  CHECK(alignment({1, 4, 8}, {1, 8, 16}) == 256);
  CHECK(alignment({3, 4, 8}, {3, 8, 16}) == 4 * 8 * sizeof(float));
  CHECK(alignment({3, 1, 3}, {3, 3, 16}) == sizeof(float));
  const auto alignment_of_copy = [] {  // cuBLASLt would add before the activation
    const Seen seen = multiply<float, functor::Relu>(1, 9, false, true);
    return seen.is_right ? simulated::blas.alignment : 0;
  };
  CHECK(in_process({}, alignment_of_copy) == 256);
}

TEST_CASE("on tensor cores, matrices whose rows begin beside 16 bytes are copied where that pays") {
  const auto launches = [](auto element, std::int64_t m, std::int64_t n, std::int64_t k, bool accumulate = false) {
    return in_process({}, [=] {
      const Seen seen = multiply<decltype(element)>(m, n, false, accumulate, 0, k);
      return seen.is_right && seen.products == 1 ? seen.launches : -1;
    });
  };
  CHECK(launches(half(), 8, 160, 9) == 2);     // a is copied
  CHECK(launches(half(), 8, 152, 9) == 1);     // each byte would serve 38 multiply-adds
  CHECK(launches(half(), 8, 160, 16) == 1);    // all begin at multiples of 16 bytes
  CHECK(launches(half(), 1024, 9, 320) == 3);  // b is copied, and c
  CHECK(launches(half(), 1024, 9, 320, true) == 3);
  CHECK(launches(0.f, 8, 320, 9) == 1);
  CHECK(in_process({}, [] {
    cuda::allow_tf32(true);
    const Seen seen = multiply(8, 320, false, false, 0, 9);
    return seen.is_right && seen.launches == 2;
  }));
}

TEST_CASE("keeping gelu's input, and a derivative with and without sums, are timed against launches of their own") {
  const auto launches = [](double kernel_time, double fused) {
    return in_process(autotuned, [&] {
      simulated::kernel_milliseconds = kernel_time;
      for (double& milliseconds : simulated::blas.fused_milliseconds) milliseconds += fused;
      ThereAndBack<half, functor::GeluTanh> gelu(5, 9);
      ThereAndBack<float, functor::Relu> relu(5, 9);
      std::array<int, 6> seen{};
      for (const bool is_known : {false, true}) {
        const Seen all[] = {gelu.there(), gelu.back(), gelu.back_without_sums(),
                            relu.there(), relu.back(), relu.back_without_sums()};
        for (std::size_t i = 0; i < 6; ++i) {
          if (!all[i].is_right || (is_known && all[i].asked > 0)) return std::array<int, 6>{};
          seen[i] = static_cast<int>(all[i].launches);
        }
      }
      return seen;
    });
  };
  CHECK(launches(1, 0.5) == std::array<int, 6>{1, 1, 1, 1, 1, 1});
  CHECK(launches(1, 1.5) == std::array<int, 6>{0, 1, 2, 1, 1, 2});  // sums spare two launches behind the product
  CHECK(launches(1, 2.5) == std::array<int, 6>{0, 0, 2, 1, 0, 2});  // nothing else makes relu's bits
}

TEST_CASE("a product that has no algorithm is not refused for the reason of another one") {
  const std::string text = refusal([] {
    simulated::blas.refuses_all = true;
    const Tensor<float, Cuda> other({3, 3});
    other.fill_(1);
    CHECK_THROWS_WITH_AS((void)matmul(other, other), doctest::Contains("(simulated status)"), CudaError);
    simulated::blas.refuses_all = false;
    simulated::blas.algorithms = 0;
  });
  CHECK(text.find("there is no algorithm for it") != std::string::npos);
  CHECK(text.find("simulated status") == std::string::npos);
}
