#include <cstdio>
#include <locus/locus.hpp>

int main() {
  const auto x = locus::variable(locus::from({1, -2, 3}));
  locus::sum(locus::square(x)).backward();
  const bool right = locus::sum(locus::abs(x.grad() - locus::from({2, -4, 6}))).item() == 0;
  std::printf("Locus %s: the gradient is %s\n", LOCUS_VERSION, right ? "right" : "wrong");
  return right ? 0 : 1;
}
