// Indices elsewhere than the table.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> table = ones({4, 2});
  Tensor<std::int64_t, Other> rows = from<std::int64_t>({0, 3}).to<Other>();
  Tensor y = index_select(table, 0, rows);
  passed();
  return verdict(sum(y).item() == 4);
}
