// Matrix products on the host: gemm_nn, gemm_nt and gemm_tn with sizes m, n, k and how many there are. The letters say
// which operand is given transposed. gemm_bfloat16_nn and its like are of bfloat16. cpu.py runs this in turns with
// peers.

#include "support/host_server.hpp"

#include <locus/cpu/gemm/gemm.hpp>

namespace {
using namespace locus;
using bench::Prepared;
using bench::Work;

struct Identity {
  static constexpr bool is_identity = true;
  template <class X> LOCUS_FN X operator()(X x) const { return x; }
};

template <class T>
MatrixRef<T> matrix(T* data, std::int64_t rows, std::int64_t cols, bool transposed) {
  return transposed ? MatrixRef<T>{data, rows, cols, 1, rows} : MatrixRef<T>{data, rows, cols, cols, 1};
}

Prepared product(const Work& w, bool a_transposed, bool b_transposed) {
  const std::int64_t m = w.size(0), n = w.size(1), k = w.size(2), count = w.size(3);
  const auto a = w.operand(0, count * m * k), b = w.operand(1, count * k * n), c = bench::memory(count * m * n);
  const GemmBatch batch{count, m * k, k * n, m * n};
  return {[=] {
            cpu::gemm(batch, matrix<const float>(a->data(), m, k, a_transposed),
                      matrix<const float>(b->data(), k, n, b_transposed), matrix(c->data(), m, n, false),
                      Epilogue<float, Identity>{});
          },
          [=] { return c->copy(); }};
}

/// The same in bfloat16.
Prepared short_product(const Work& w, bool a_transposed, bool b_transposed) {
  using Shorts = std::vector<bfloat16>;
  const std::int64_t m = w.size(0), n = w.size(1), k = w.size(2), count = w.size(3);
  const auto shorts = [](const bench::Memory& x) {
    const auto copy = std::make_shared<Shorts>();
    for (std::int64_t i = 0; i < x->size(); ++i) copy->push_back(bfloat16((*x)[i]));
    return copy;
  };
  const auto a = shorts(w.operand(0, count * m * k)), b = shorts(w.operand(1, count * k * n));
  const auto c = std::make_shared<Shorts>(static_cast<std::size_t>(count * m * n));
  const GemmBatch batch{count, m * k, k * n, m * n};
  return {[=] {
            cpu::gemm(batch, matrix<const bfloat16>(a->data(), m, k, a_transposed),
                      matrix<const bfloat16>(b->data(), k, n, b_transposed), matrix(c->data(), m, n, false),
                      Epilogue<bfloat16, Identity>{});
          },
          [=] {
            std::vector<float> values;
            for (const bfloat16 x : *c) values.push_back(static_cast<float>(x));
            return values;
          }};
}

}  // namespace

int main() {
  return bench::serve("Locus", {{"gemm_nn", [](const Work& w) { return product(w, false, false); }},
                                {"gemm_nt", [](const Work& w) { return product(w, false, true); }},
                                {"gemm_tn", [](const Work& w) { return product(w, true, false); }},
                                {"gemm_bfloat16_nn", [](const Work& w) { return short_product(w, false, false); }},
                                {"gemm_bfloat16_nt", [](const Work& w) { return short_product(w, false, true); }},
                                {"gemm_bfloat16_tn", [](const Work& w) { return short_product(w, true, false); }}});
}
