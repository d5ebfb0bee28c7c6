// Formulas of elements on the host: of COUNT elements, or of ROWS COLS. cpu.py runs this in turns with peers.

#include "support/host_tensors.hpp"

#include <locus/expr/elementwise.hpp>
#include <locus/expr/operators.hpp>

using bench::computing, bench::tensor, bench::Work;
using locus::Shape;

namespace {

template <class F>
auto of_one(const F& f) {
  return [=](const Work& w) {
    const auto a = tensor(w, 0, {w.elements()});
    return computing([=] { return bench::Tensor(f(a)); });
  };
}
template <class F>
auto of_two(const F& f) {
  return [=](const Work& w) {
    const auto a = tensor(w, 0, {w.elements()}), b = tensor(w, 1, {w.elements()});
    return computing([=] { return bench::Tensor(f(a, b)); });
  };
}

bench::Prepared add_vector(const Work& w, const Shape& of_vector) {
  const auto x = tensor(w, 0, {w.rows(), w.cols()}), v = tensor(w, 1, of_vector);
  return computing([=] { return bench::Tensor(x + v); });
}

}  // namespace

int main() {
  return bench::serve("Locus", {{"chain", of_two([](auto& a, auto& b) { return relu((a + b) * a - b) * 0.5f; })},
                                {"add", of_two([](auto& a, auto& b) { return a + b; })},
                                {"scaled_add", of_two([](auto& a, auto& b) { return a + b * 1.5f; })},
                                {"relu", of_one([](auto& a) { return relu(a); })},
                                {"exp", of_one([](auto& a) { return exp(a); })},
                                {"tanh", of_one([](auto& a) { return tanh(a); })},
                                {"sigmoid", of_one([](auto& a) { return sigmoid(a); })},
                                {"gelu", of_one([](auto& a) { return gelu(a); })},
                                {"add_row", [](const Work& w) { return add_vector(w, {w.cols()}); }},
                                {"add_column",
                                 [](const Work& w) {
                                   return add_vector(w, {w.rows(), 1});
                                 }},
                                {"add_transposed",
                                 [](const Work& w) {
                                   const auto x = tensor(w, 0, {w.rows(), w.cols()});
                                   const auto z = tensor(w, 1, {w.cols(), w.rows()});
                                   return computing([=] { return bench::Tensor(x + z.transpose()); });
                                 }},
                                {"transpose", [](const Work& w) {
                                   const auto x = tensor(w, 0, {w.rows(), w.cols()});
                                   return computing([=] { return x.transpose().contiguous(); });
                                 }}});
}
