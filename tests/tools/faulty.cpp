// Proves that the sanitizers of this build see faults: each must end the program with a failure.
#include <locus/locus.hpp>

#include <climits>
#include <string_view>

using namespace locus;

int main(int argc, char** argv) {
  const std::string_view fault = argc > 1 ? argv[1] : "";
  if (fault == "freed") {
    const float* elements = nullptr;
    {
      const auto x = ones({20});
      elements = x.data();
    }
    return static_cast<int>(elements[0]);
  }
  if (fault == "beyond") {
    const auto x = ones({17});
    return static_cast<int>(x.data()[17]);
  }
  if (fault == "undefined") {
    volatile int value = INT_MAX;
    value = value + argc;
  }
}
