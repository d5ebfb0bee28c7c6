// Products of square matrices, CPU against GPU: the time of matmul(a, b), and of the copies of a, b and the result.
//
//   matmul --sizes 256,1024,4096 --dtype f32,bf16 --device both --json rates.json --plot rates.svg
//   matmul --from rates.json --plot rates.svg
//
// All variants are measured in turns. On a machine without a GPU, only the CPU is measured.

#include "support/matmul_options.hpp"
#include "support/matmul_report.hpp"
#include "support/places.hpp"
#include "support/precision.hpp"
#include "support/sampling.hpp"

#include <locus/ops/matmul.hpp>
#include <locus/tensor/copy.hpp>
#include <locus/tensor/random.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include <unistd.h>

using namespace locus;

namespace {

template <class T>
struct Operands {
  Tensor<T, Cpu> a, b;
};

class Candidate {
 public:
  virtual ~Candidate() = default;
  virtual std::vector<Timed*> timed() = 0;
  virtual Product judged(const std::vector<Quantiles>& times) = 0;
};

template <class T, class D>
class Multiplication final : public Candidate {
 public:
  Multiplication(const Operands<T>& host, std::string dtype, D device)
      : host_(host),
        dtype_(std::move(dtype)),
        device_(device),
        a_(host.a.template to<D>(device)),
        b_(host.b.template to<D>(device)) {}

  std::vector<Timed*> timed() override {
    if constexpr (std::is_same_v<D, Cpu>) return {&multiply_};
    else return {&multiply_, &send_, &fetch_};
  }

  Product judged(const std::vector<Quantiles>& times) override {
    Product product{to_string(device_), dtype_, a_.size(0), times[0], {}, {}, 0, ""};
    if (times.size() > 1) product.to_device = times[1], product.to_host = times[2];
    product.error = error_of(host_.a, host_.b, c_.template to<Cpu>(), rounding_of(dtype_));
    if (!(product.error <= 1))
      product.problem = join("wrong: an element is off by ", product.error, " times what rounding allows");
    return product;
  }

 private:
  struct Multiply final : Timed {
    Multiplication& all;
    explicit Multiply(Multiplication& m) : all(m) {}
    void run(std::int64_t times) override {
      const Tf32Guard tf32(all.dtype_ == "tf32");
      for (std::int64_t i = 0; i < times; ++i) all.c_ = matmul(all.a_, all.b_);
      Backend<D>::synchronize(all.device_);
    }
  };
  struct Send final : Timed {
    Multiplication& all;
    explicit Send(Multiplication& m) : all(m) {}
    void run(std::int64_t times) override {
      for (std::int64_t i = 0; i < times; ++i) {
        all.a_ = all.host_.a.template to<D>(all.device_);
        all.b_ = all.host_.b.template to<D>(all.device_);
      }
      Backend<D>::synchronize(all.device_);
    }
  };
  struct Fetch final : Timed {
    Multiplication& all;
    explicit Fetch(Multiplication& m) : all(m) {}
    void run(std::int64_t times) override {
      for (std::int64_t i = 0; i < times; ++i) (void)all.c_.template to<Cpu>();
    }
  };

  Operands<T> host_;
  std::string dtype_;
  D device_;
  Tensor<T, D> a_, b_, c_;
  Multiply multiply_{*this};
  Send send_{*this};
  Fetch fetch_{*this};
};

class Benchmark {
 public:
  Benchmark(const MatmulOptions& options, const Places& places) : options_(options), places_(places) {}

  std::vector<Product> run() {
    for (std::int64_t size : options_.sizes) {
      if (isatty(2)) std::cerr << "\rmeasuring size " << size << " ... " << std::flush;
      for (const auto& dtype : options_.dtypes) prepare(dtype, size);
      measure();
    }
    if (isatty(2)) std::cerr << "\r\033[K" << std::flush;
    return std::move(products_);
  }

 private:
  void prepare(const std::string& dtype, std::int64_t size) {
    if (dtype == "f32") prepare<float>(dtype, size);
    else if (dtype == "tf32" && places_.cuda) prepare<float>(dtype, size);
    else if (dtype == "bf16") prepare<bfloat16>(dtype, size);
    else if (dtype == "f64") prepare<double>(dtype, size);
  }

  template <class T>
  void prepare(const std::string& dtype, std::int64_t size) {
    Generator<Cpu> random{static_cast<std::uint64_t>(size)};
    const auto host = attempt("host", dtype, size, [&] {
      return std::optional(Operands<T>{randn<T>({size, size}, random), randn<T>({size, size}, random)});
    });
    if (!host) return;
    if (places_.cpu && dtype != "tf32") add<T>(*host, dtype, Cpu{});
    if (places_.cuda) add<T>(*host, dtype, *places_.cuda);
  }

  template <class T, class D>
  void add(const Operands<T>& host, const std::string& dtype, D device) {
    auto candidate = attempt(to_string(device), dtype, host.a.size(0), [&]() -> std::unique_ptr<Candidate> {
      return std::make_unique<Multiplication<T, D>>(host, dtype, device);
    });
    if (candidate) candidates_.push_back(std::move(candidate));
  }

  /// Returns f(); if memory runs out, an empty result, and adds a row to the table that says so.
  template <class F>
  auto attempt(const std::string& device, const std::string& dtype, std::int64_t size, const F& f) -> decltype(f()) {
    try {
      return f();
    } catch (const OutOfMemory&) {
      products_.push_back({device, dtype, size, {}, {}, {}, 0, "out of memory"});
      return {};
    }
  }

  void measure() {
    std::vector<Timed*> timed;
    for (const auto& candidate : candidates_)
      for (Timed* t : candidate->timed()) timed.push_back(t);
    const auto times = measure_in_turns(timed, options_.min_seconds);
    std::size_t first = 0;
    for (const auto& candidate : candidates_) {
      const std::size_t count = candidate->timed().size();
      products_.push_back(candidate->judged({times.begin() + static_cast<std::ptrdiff_t>(first),
                                             times.begin() + static_cast<std::ptrdiff_t>(first + count)}));
      first += count;
    }
    candidates_.clear();
  }

  MatmulOptions options_;
  Places places_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::vector<Product> products_;
};

MatmulResults measured(const MatmulOptions& options) {
  if (options.threads) cpu::set_max_threads(options.threads);
  const Places places = places_from(options.device);
  if (!places.no_gpu.empty()) std::cout << "There is no GPU to measure: " << places.no_gpu << "\n";
  if (options.dtypes == std::vector<std::string>{"tf32"} && !places.cuda) {
    fail<ArgumentError>({"--dtype tf32: only GPUs have it; choose f32, bf16 or f64 for the CPU"});
  }
  return {environment_of(places), Benchmark(options, places).run()};
}

}  // namespace

int main(int argc, char** argv) try {
  const MatmulOptions options(argc, argv);
  if (options.finished) return options.exit_code;
  const MatmulResults results = options.from.empty() ? measured(options) : read_results(options.from);
  const auto& [environment, products] = results;
  print_environment(environment);
  print_table(products);
  if (!options.json.empty()) {
    write_json(options.json, environment, products);
    std::printf("measurements: %s\n", options.json.c_str());
  }
  if (!options.plot.empty()) {
    plot_rates(options.plot, environment, products);
    std::printf("plot: %s\n", options.plot.c_str());
  }
  for (const Product& product : products)
    if (product.problem.starts_with("wrong")) return 1;
} catch (const Error& error) {
  std::cerr << "matmul: " << error.what() << "\n";
  return 1;
}
