// Folds on the host: of all elements of ROWS COLS, of each row, of each column. cpu.py runs this in turns with peers.

#include "support/host_tensors.hpp"

#include <locus/expr/operators.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/reduce.hpp>

using bench::computing, bench::tensor, bench::Work;

namespace {

template <class F>
auto fold(const F& f) {
  return [=](const Work& w) { return computing([f, x = tensor(w, 0, {w.rows(), w.cols()})] { return f(x); }); };
}

bench::Prepared squared_distance(const Work& w) {
  const auto a = tensor(w, 0, {w.elements()}), b = tensor(w, 1, {w.elements()});
  return computing([=] { return sum(square(a - b)); });
}

}  // namespace

int main() {
  return bench::serve("Locus", {{"sum", fold([](auto& x) { return sum(x); })},
                                {"sum_rows", fold([](auto& x) { return sum(x, 1); })},
                                {"sum_columns", fold([](auto& x) { return sum(x, 0); })},
                                {"max", fold([](auto& x) { return max(x); })},
                                {"max_rows", fold([](auto& x) { return max(x, 1); })},
                                {"argmax_rows", fold([](auto& x) { return argmax(x, 1); })},
                                {"norm", fold([](auto& x) { return norm(x); })},
                                {"var_rows", fold([](auto& x) { return var(x, 1, {.correction = 0}); })},
                                {"var_columns", fold([](auto& x) { return var(x, 0, {.correction = 0}); })},
                                {"squared_distance", squared_distance}});
}
