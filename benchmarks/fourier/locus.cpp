// Times Fourier transforms: for each line `kind batch n` of stdin, the microseconds of some runs, in a line.
#include "timing.hpp"

#include <locus/fft/fft.hpp>
#include <locus/locus.hpp>

#include <iostream>
#include <vector>

using namespace locus;

int main() {
  std::string kind;
  for (std::int64_t batch = 0, n = 0; std::cin >> kind >> batch >> n;) {
    const auto z = randn<complex64>({batch, n});
    const auto x = randn({batch, n});
    const auto run = [&] {
      if (kind == "fft") (void)fft::fft(z);
      else if (kind == "rfft") (void)fft::rfft(x);
      else (void)fft::fft2(z);
    };
    print_times(run);
  }
}
