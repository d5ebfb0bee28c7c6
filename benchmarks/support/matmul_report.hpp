#pragma once
// Results of the matmul benchmark: as a table, as JSON, as a plot.

#include "environment.hpp"
#include "sampling.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The product of two matrices of size x size elements.
struct Product {
  std::string device, dtype;
  std::int64_t size = 0;
  Quantiles time;       ///< of the product, with operands on its device
  Quantiles to_device;  ///< both operands, from the host's memory; no samples on the host
  Quantiles to_host;    ///< the result
  double error = 0;     ///< largest of the checked elements, relative to the rounding bound; above 1 the time is void
  std::string problem;  ///< why there is no time

  [[nodiscard]] bool counts() const { return problem.empty(); }
  [[nodiscard]] bool on_host() const { return device == "cpu"; }
  [[nodiscard]] double seconds_with_transfer() const { return to_device.median + time.median + to_host.median; }
  /// Floating-point operations per second, in 10^9.
  [[nodiscard]] double gflops(double seconds) const {
    const auto n = static_cast<double>(size);
    return 2e-9 * n * n * n / seconds;
  }
};

void print_environment(const Environment& environment);
/// A line per product, and the size from which the GPU is faster.
void print_table(const std::vector<Product>& products);

struct MatmulResults {
  Environment environment;
  std::vector<Product> products;
};
/// Reads a file of write_json, or of scripts/gpu, whose member "matmul" is one. throws DataError
[[nodiscard]] MatmulResults read_results(const std::string& path);
void write_json(const std::string& path, const Environment& environment, const std::vector<Product>& products);
void plot_rates(const std::string& path, const Environment& environment, const std::vector<Product>& products);
