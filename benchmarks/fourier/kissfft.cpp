// Times KissFFT as locus.cpp times Locus: for each line `kind batch n` of stdin, the microseconds of some runs, in a
// line.
#include "timing.hpp"

#include <kissfft/kiss_fftnd.h>
#include <kissfft/kiss_fftr.h>

#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

int main() {
  std::string kind;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (long batch = 0, n = 0; std::cin >> kind >> batch >> n;) {
    const auto elements = static_cast<std::size_t>(batch * n);
    const int length = static_cast<int>(n), dims[] = {static_cast<int>(batch), length};
    std::vector<kiss_fft_cpx> z(elements), result(elements + static_cast<std::size_t>(batch));
    std::vector<float> x(elements);
    for (auto& number : z) number = {normal(generator), normal(generator)};
    for (float& number : x) number = normal(generator);
    kiss_fft_cfg rows = nullptr;
    kiss_fftr_cfg real_rows = nullptr;
    kiss_fftnd_cfg matrix = nullptr;
    std::function<void()> run;
    if (kind == "fft") {
      rows = kiss_fft_alloc(length, 0, nullptr, nullptr);
      run = [&] {
        for (long i = 0; i < batch; ++i)
          kiss_fft(rows, &z[static_cast<std::size_t>(i * n)], &result[static_cast<std::size_t>(i * n)]);
      };
    } else if (kind == "rfft") {
      real_rows = kiss_fftr_alloc(length, 0, nullptr, nullptr);
      run = [&] {
        for (long i = 0; i < batch; ++i)
          kiss_fftr(real_rows, &x[static_cast<std::size_t>(i * n)], &result[static_cast<std::size_t>(i * (n / 2 + 1))]);
      };
    } else {
      matrix = kiss_fftnd_alloc(dims, 2, 0, nullptr, nullptr);
      run = [&] { kiss_fftnd(matrix, z.data(), result.data()); };
    }
    print_times(run);
    kiss_fft_free(rows), kiss_fft_free(real_rows), kiss_fft_free(matrix);
  }
}
