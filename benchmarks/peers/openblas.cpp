// The products of ../cpu_gemm.cpp by OpenBLAS. Threads share a batch of small products; each product runs on one
// thread, as users of OpenBLAS do it.
//
// OpenBLAS 0.3.21 does not know recent processors: OPENBLAS_CORETYPE=SkylakeX for those with AVX-512, Haswell for those
// with AVX2 alone.

#include "../support/host_server.hpp"

#include <cblas.h>
#include <omp.h>

namespace {
using bench::Prepared;
using bench::Work;

Prepared product(const Work& w, CBLAS_TRANSPOSE a_transposition, CBLAS_TRANSPOSE b_transposition) {
  const auto m = static_cast<int>(w.size(0)), n = static_cast<int>(w.size(1)), k = static_cast<int>(w.size(2));
  const std::int64_t count = w.size(3);
  const auto a = w.operand(0, count * m * k), b = w.operand(1, count * k * n), c = bench::memory(count * m * n);
  const auto multiply = [=](std::int64_t i) {
    cblas_sgemm(CblasRowMajor, a_transposition, b_transposition, m, n, k, 1.f, a->data() + i * m * k,
                a_transposition == CblasTrans ? m : k, b->data() + i * k * n, b_transposition == CblasTrans ? k : n,
                0.f, c->data() + i * m * n, n);
  };
  openblas_set_num_threads(count > 1 ? 1 : omp_get_max_threads());
  const auto run = [=] {
    if (count == 1) return multiply(0);
#pragma omp parallel for
    for (std::int64_t i = 0; i < count; ++i) multiply(i);
  };
  return {run, [=] { return c->copy(); }};
}

}  // namespace

int main() {
  const std::string version = openblas_get_config();
  return bench::serve(version.substr(0, version.find(' ', 9)) + " (" + openblas_get_corename() + ")",
                      {{"gemm_nn", [](const Work& w) { return product(w, CblasNoTrans, CblasNoTrans); }},
                       {"gemm_nt", [](const Work& w) { return product(w, CblasNoTrans, CblasTrans); }},
                       {"gemm_tn", [](const Work& w) { return product(w, CblasTrans, CblasNoTrans); }}});
}
