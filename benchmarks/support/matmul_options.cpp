#include "matmul_options.hpp"

#include "device_option.hpp"
#include "output_file.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

MatmulOptions::MatmulOptions(int argc, char** argv) {
  CLI::App app(
      "Measures products of square matrices on the CPU and on the GPU, side by side, and finds the size from which on "
      "the "
      "GPU is faster. Every product is checked before its time counts.");
  app.add_option("--sizes", sizes, "rows and columns of the matrices, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
      ->capture_default_str();
  app.add_option("--dtype", dtypes, "f32, tf32 (f32 rounded to 10 bits in the multipliers of GPUs), bf16, f64")
      ->delimiter(',')
      ->check(CLI::IsMember({"f32", "tf32", "bf16", "f64"}))
      ->capture_default_str();
  app.add_option("--device", device, "auto and both: the CPU, and a GPU if there is one; cpu; cuda; cuda:N")
      ->check(check_device)
      ->capture_default_str();
  app.add_option("--min-time", min_seconds, "seconds to measure each product for")
      ->check(CLI::Range(0.001, 600.0))
      ->capture_default_str();
  app.add_option("--threads", threads, "threads on the CPU (default: one per core)")->check(CLI::Range(1, 256));
  app.add_option("--from", from, "show the results of this file, written by --json or by scripts/gpu; measures nothing")
      ->check(CLI::ExistingFile);
  app.add_option("--json", json, "write environment and measurements to this file")->check(check_target);
  app.add_option("--plot", plot, "write GFLOP/s over the size to this SVG file")->check(check_target);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<std::string> each;  // in the order given
  for (const auto& dtype : dtypes)
    if (std::find(each.begin(), each.end(), dtype) == each.end()) each.push_back(dtype);
  dtypes = each;
}
