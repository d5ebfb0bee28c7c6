// Compares the results of the GPU with those on the host, once for every kind of work in Locus.
//
//     self_check [--device cuda|cuda:N]
//
// Prints the GPU, its driver and the libraries, then a line for each part, with the reason if it fails. Exits with 0 if
// all parts passed, 1 if one failed, 2 for wrong arguments, and 77 if this program cannot use a GPU.

#include <locus/cuda/versions.hpp>
#include <locus/locus.hpp>
#include <locus/ops/sort.hpp>
#include <locus/tensor/copy_async.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace locus;

namespace {

constexpr int passed = 0, failed = 1, wrong_arguments = 2, no_gpu = 77;

using Results = std::vector<Tensor<float, Cpu>>;

/// The same normal numbers on every device.
template <Device D>
Tensor<float, D> numbers(const Shape& shape, std::uint64_t seed, D device) {
  Generator<Cpu> generator{seed};
  return randn<float>(shape, generator).to(device);
}

// The parts. Each computes on the given device, and copies the results to the host.

struct Copy {
  template <Device D> Results operator()(D device) const { return {numbers({1000, 3}, 1, device).template to<Cpu>()}; }
};
struct AsynchronousCopy {
  Results operator()(Cpu device) const { return {numbers({1000}, 2, device)}; }
  Results operator()(Cuda device) const {
    auto source = numbers({1000}, 2, Cpu{}).to<Pinned>();
    const Tensor x = copy_async(std::move(source), device).ordered();
    return {copy_async(x, Pinned{}).wait().to<Cpu>()};
  }
};
struct MapContiguous {
  template <Device D>
  Results operator()(D device) const {
    const auto a = numbers({4099}, 3, device), b = numbers({4099}, 4, device);
    return {(tanh(a * b) + exp(a)).eval().template to<Cpu>()};
  }
};
struct MapStrided {
  template <Device D>
  Results operator()(D device) const {
    const auto a = numbers({70, 90}, 5, device), b = numbers({90, 70}, 6, device);
    return {(a.transpose(0, 1) * 2.f - b).eval().template to<Cpu>()};
  }
};
struct MapBroadcast {
  template <Device D>
  Results operator()(D device) const {
    const auto row = numbers({1, 129}, 7, device), column = numbers({65, 1}, 8, device);
    return {(row * column + row).eval().template to<Cpu>()};
  }
};
struct RandomNumbers {
  template <Device D>
  Results operator()(D device) const {
    Generator<D> generator{9};
    return {rand<float>({1000}, generator, device).template to<Cpu>()};
  }
};
struct Rows {
  std::int64_t rows, cols;
  template <Device D>
  Results operator()(D device) const {
    const auto x = numbers({rows, cols}, 10, device);
    return {(softmax(x, 1) * static_cast<float>(cols)).eval().template to<Cpu>()};
  }
};
struct Reduce {
  ReduceAxes axes;
  template <Device D>
  Results operator()(D device) const {
    const auto x = numbers({300, 500}, 11, device);
    return {sum(square(x), axes).template to<Cpu>()};
  }
};
template <class T>
struct Product {
  template <Device D>
  Results operator()(D device) const {
    const auto a = numbers({65, 72}, 12, device).template as<T>().eval();
    const auto b = numbers({72, 40}, 13, device).template as<T>().eval();
    return {matmul(a, b).template as<float>().eval().template to<Cpu>()};
  }
};
struct Sort {
  template <Device D>
  Results operator()(D device) const {
    return {sort(numbers({7, 1000}, 14, device)).values.template to<Cpu>()};
  }
};

template <Device D>
nn::Sequential<float, D> network(D device) {
  manual_seed(15);
  return {nn::Linear<float, D>{24, 16, true, device}, nn::ReLU{}, nn::Linear<float, D>{16, 5, true, device}};
}
template <Device D>
Tensor<std::int64_t, D> labels(D device) {
  Generator<Cpu> generator{16};
  return randint<std::int64_t>(0, 5, {32}, generator).to(device);
}
struct LinearLayers {
  template <Device D>
  Results operator()(D device) const {
    const auto model = network(device);
    const auto x = variable(numbers({32, 24}, 17, device));
    const auto loss = nn::cross_entropy(model(x), labels(device));
    loss.backward();
    Results results{loss.value().template to<Cpu>(), x.grad().template to<Cpu>()};
    for (const auto& parameter : model.parameters()) results.push_back(parameter.grad().template to<Cpu>());
    return results;
  }
};
struct CapturedStep {
  template <Device D>
  Results operator()(D device) const {
    const auto model = network(device);
    optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
    const data::Batch<float, D> batch{numbers({32, 24}, 18, device), labels(device)};
    auto step = capture([&] { return train_step(model, optimizer, batch); }, device);
    Results results;
    for (int i = 0; i < 6; ++i) results.push_back(step().template to<Cpu>().clone());
    return results;
  }
};

/// The largest |got - expected| / max(1, |expected|); NaN if an element of either is NaN.
double error_of(const Results& got, const Results& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i >= got.size() || got[i].shape() != expected[i].shape()) return NAN;
    const auto a = got[i].contiguous(), b = expected[i].contiguous();
    for (std::int64_t j = 0; j < b.elements(); ++j) {
      const double wanted = b.data()[j], error = std::abs(a.data()[j] - wanted) / std::max(1.0, std::abs(wanted));
      if (!(error <= largest)) largest = error;
      if (largest != largest) return largest;
    }
  }
  return largest;
}

/// Runs parts on a GPU and on the host, and counts those that differ.
class SelfCheck {
 public:
  explicit SelfCheck(Cuda device) : device_(device) {}

  /// Prints the name before the part runs, so that a crash shows its part.
  template <class Part>
  void run(const char* name, double tolerance, const Part& part) {
    if (gave_up_) return;
    std::printf("%-36s ", name);
    std::fflush(stdout);
    try {
      const double error = error_of(part(device_), part(Cpu{}));
      const bool agrees = error <= tolerance;
      failures_ += !agrees;
      std::printf(agrees ? "ok      error %.1e of %.0e allowed\n" : "FAILED  error %.1e; at most %.0e was expected\n",
                  error, tolerance);
    } catch (const CudaUnavailable&) {
      std::printf("not possible\n");
      std::fflush(stdout);
      throw;
    } catch (const std::exception& error) {
      ++failures_;
      std::printf("FAILED  %s\n", error.what());
      gave_up_ = !answers();
      if (gave_up_) std::printf("The GPU no longer answers this program: the parts after this one did not run.\n");
    }
    std::fflush(stdout);
  }

  [[nodiscard]] int failures() const { return failures_; }

 private:
  /// After some errors, such as an illegal address, every later call fails.
  [[nodiscard]] bool answers() const try {
    Backend<Cuda>::synchronize(device_);
    return true;
  } catch (const Error&) {
    return false;
  }

  Cuda device_;
  int failures_ = 0;
  bool gave_up_ = false;
};

/// Runs all parts; returns the number of failures. throws CudaUnavailable
int check(Cuda device) {
  SelfCheck parts(device);
  parts.run("copy", 0, Copy{});
  parts.run("asynchronous copy", 0, AsynchronousCopy{});
  parts.run("map, contiguous", 1e-5, MapContiguous{});
  parts.run("map, strided", 1e-6, MapStrided{});
  parts.run("map, broadcast", 1e-6, MapBroadcast{});
  parts.run("map, random numbers", 1e-6, RandomNumbers{});
  parts.run("for_each_row, short rows", 1e-5, Rows{100, 30});
  parts.run("for_each_row, long rows", 1e-4, Rows{2, 50000});
  parts.run("reduce, full", 1e-5, Reduce{{0, 1}});
  parts.run("reduce, inner axis", 1e-5, Reduce{{1}});
  parts.run("reduce, outer axis", 1e-5, Reduce{{0}});
  parts.run("gemm, float32", 1e-4, Product<float>{});
  parts.run("gemm, float16", 2e-3, Product<half>{});
  parts.run("gemm, bfloat16", 2e-2, Product<bfloat16>{});
  parts.run("sort", 0, Sort{});
  parts.run("linear layers, forward and backward", 1e-4, LinearLayers{});
  parts.run("a captured training step, replayed", 1e-4, CapturedStep{});
  return parts.failures();
}

/// Prints the architectures of the compiled kernels; newer GPUs compile them from PTX when the program starts.
void print_architectures() {
#if defined(__CUDA_ARCH_LIST__)
  std::printf("compiled for");
  for (const int architecture : {__CUDA_ARCH_LIST__}) std::printf(" sm_%d", architecture / 10);
  std::printf("\n");
#endif
  std::fflush(stdout);
}

/// throws ArgumentError
AnyDevice gpu_from(int argc, char** argv) {
  const std::string_view option = argc > 1 ? argv[1] : "";
  const bool has_value = option == "--device";
  if (argc > (has_value ? 3 : 2) || (argc == 2 && !option.starts_with("--device=")))
    fail<ArgumentError>({"expected no arguments but --device cuda or --device cuda:N"});
  AnyDevice device{AnyDevice::Kind::cuda, 0};
  if (argc > 1) device = device_from(argc, argv);
  if (device.kind != AnyDevice::Kind::cuda)
    fail<ArgumentError>({"--device ", to_string(device), ": expected cuda or cuda:N, a GPU to compare with the host"});
  return device;
}

}  // namespace

int main(int argc, char** argv) try {
  const AnyDevice chosen = gpu_from(argc, argv);
  std::printf("%s\n", locus::cuda::versions(chosen.ordinal).c_str());
  print_architectures();
  int failures = 0;
  with_device(chosen, [&]<Device D>(D device) {
    if constexpr (std::is_same_v<D, Cuda>) failures = check(device);
  });
  if (failures > 0) {
    std::printf("%d %s failed: %s does not compute what the host computes\n", failures,
                failures == 1 ? "part" : "parts", to_string(chosen).c_str());
    return failed;
  }
  std::printf("all parts passed\n");
  return passed;
} catch (const CudaUnavailable& error) {
  std::fprintf(stderr, "self_check: no usable GPU: %s\n", error.what());
  return no_gpu;
} catch (const Error& error) {
  std::fprintf(stderr, "self_check: %s\n", error.what());
  return wrong_arguments;
}
