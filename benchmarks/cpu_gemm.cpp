// Matrix products on the host, ours and, where the build has a CBLAS (LOCUS_BENCHMARK_CBLAS), the other one.
//
//   cpu_gemm --benchmark_filter=locus        ours
//   cpu_gemm --benchmark_filter=cblas        the other; in a process of its own, as idle OpenBLAS threads spin
//
// LOCUS_NUM_THREADS and OPENBLAS_NUM_THREADS set the threads. OpenBLAS 0.3.21 does not know recent processors: compare
// with OPENBLAS_CORETYPE=SkylakeX on those with AVX-512, Haswell on those without.

#include <benchmark/benchmark.h>

#include <locus/device/cpu/gemm.hpp>
#include <string>
#include <vector>

#if defined(LOCUS_BENCHMARK_CBLAS)
#include <cblas.h>
#endif

namespace {
using namespace locus;

struct Identity {
  static constexpr bool is_identity = true;
  template <class X>
  LOCUS_FN X operator()(X x) const {
    return x;
  }
};
struct Relu {
  template <class X>
  LOCUS_FN X operator()(X x) const {
    return x > X(0) ? x : X(0);
  }
};

/// (m, k) times (k, n); a transposed operand has its columns contiguous.
struct Case {
  const char* what;
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
};
constexpr Case cases[] = {{"forward 784-32", 100, 32, 784, false, true},
                          {"dw 784-32", 32, 784, 100, true, false},
                          {"forward 32-10", 100, 10, 32, false, true},
                          {"dx 32-10", 100, 32, 10, false, false},
                          {"dw 32-10", 10, 32, 100, true, false},
                          {"forward 784-128", 64, 128, 784, false, true},
                          {"dw 784-128", 128, 784, 64, true, false},
                          {"one image 784-32", 1, 32, 784, false, true},
                          {"square", 32, 32, 32, false, false},
                          {"square", 100, 100, 100, false, false},
                          {"square", 128, 128, 128, false, false},
                          {"square", 256, 256, 256, false, false},
                          {"square", 511, 511, 511, false, false},
                          {"square", 512, 512, 512, false, false},
                          {"square nt", 512, 512, 512, false, true},
                          {"square tn", 512, 512, 512, true, false},
                          {"square", 1024, 1024, 1024, false, false},
                          {"square", 2048, 2048, 2048, false, false},
                          {"tall", 4096, 64, 1024, false, true},
                          {"wide", 64, 4096, 1024, false, false},
                          {"matrix x vector", 1000, 1, 1000, false, false}};

std::vector<float> random_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) * 0x1p-23f - 1;
  }
  return numbers;
}

MatrixRef<const float> matrix(const std::vector<float>& data, std::int64_t rows, std::int64_t cols, bool transposed) {
  return transposed ? MatrixRef<const float>{data.data(), rows, cols, 1, rows}
                    : MatrixRef<const float>{data.data(), rows, cols, cols, 1};
}

struct Operands {
  explicit Operands(const Case& s)
      : a(random_numbers(s.m * s.k, 1)),
        b(random_numbers(s.k * s.n, 2)),
        bias(random_numbers(s.n, 3)),
        c(static_cast<std::size_t>(s.m * s.n)) {}
  std::vector<float> a, b, bias, c;
};

template <class Product>
void measure(benchmark::State& state, const Case& s, const Product& product) {
  Operands x(s);
  for (auto _ : state) {
    product(x);
    benchmark::ClobberMemory();
  }
  const auto flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

template <class Activation>
void ours(benchmark::State& state, const Case& s, bool with_bias) {
  measure(state, s, [&](Operands& x) {
    cpu::gemm(matrix(x.a, s.m, s.k, s.a_transposed), matrix(x.b, s.k, s.n, s.b_transposed),
              MatrixRef<float>{x.c.data(), s.m, s.n, s.n, 1},
              Epilogue<float, Activation>{with_bias ? x.bias.data() : nullptr});
  });
}

#if defined(LOCUS_BENCHMARK_CBLAS)
void cblas(benchmark::State& state, const Case& s) {
  const auto transposition = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(s.k);
  measure(state, s, [&](Operands& x) {
    cblas_sgemm(CblasRowMajor, transposition(s.a_transposed), transposition(s.b_transposed), m, n, k, 1.f, x.a.data(),
                s.a_transposed ? m : k, x.b.data(), s.b_transposed ? k : n, 0.f, x.c.data(), n);
  });
}
#endif
}  // namespace

int main(int argc, char** argv) {
  for (const Case& s : cases) {
    const std::string name = join(s.what, ' ', s.m, 'x', s.n, 'x', s.k);
    benchmark::RegisterBenchmark(("locus/" + name).c_str(), ours<Identity>, s, false)->UseRealTime();
    benchmark::RegisterBenchmark(("locus+bias+relu/" + name).c_str(), ours<Relu>, s, true)->UseRealTime();
#if defined(LOCUS_BENCHMARK_CBLAS)
    benchmark::RegisterBenchmark(("cblas/" + name).c_str(), cblas, s)->UseRealTime();
#endif
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
