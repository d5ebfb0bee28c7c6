#pragma once
// Discrete Fourier transforms on the host, of any length, without a library. Loops run over transforms side by side:
// those of a batch, or the columns and then the rows of one transform as a matrix. Threads share them.

#include <locus/core/system/out_of_memory.hpp>
#include <locus/cpu/fft/plan.hpp>
#include <locus/cpu/fft/stages.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cpu/threads/scratch.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {

/// From so many elements on, threads share the work.
inline constexpr std::int64_t shared_fft_elements = 1 << 14;

struct FftScratch {
  Scratch lanes, matrix, padded;
};

/// Transforms side by side: lane l of element j lies at data[j * step + offset(l)].
template <class R>
struct LaneBlock {
  static constexpr std::int64_t most = 64 / static_cast<std::int64_t>(sizeof(R));
  std::int64_t count = 0, step = 1;
  std::int64_t offset[most];
  bool is_dense = false;  ///< neighbouring lanes lie side by side

  /// Lanes first ... first + n - 1, of which lane t begins at (t / inner) * outer_step + t % inner.
  LaneBlock(std::int64_t first, std::int64_t n, std::int64_t inner, std::int64_t outer_step, std::int64_t element_step)
      : count(n), step(element_step), is_dense(first % inner + n <= inner) {
    for (std::int64_t l = 0; l < n; ++l) offset[l] = (first + l) / inner * outer_step + (first + l) % inner;
  }
};

/// A forward transform with real and imaginary parts exchanged is a backward one: an exchange on the way in, and one on
/// the way out.
template <class R>
struct Parts {
  R *real, *imag;
  [[nodiscard]] Parts exchanged(bool exchange) const { return exchange ? Parts{imag, real} : *this; }
};

template <class R>
struct LaneCopy {
  Complex<R>* data;
  const LaneBlock<R>* lanes;
  Parts<R> parts;
  std::int64_t n;
  R scale = 1;
  const Complex<R>* turns = nullptr;  ///< factors of each element and lane, `turns_step` between elements
  std::int64_t turns_step = 0;
  bool exchanges = false;
};
template <class R>
LOCUS_FN void load_lanes_loops(const LaneCopy<R>& c) {
  const std::int64_t count = c.lanes->count;
  R* real = c.parts.real;
  R* imag = c.parts.imag;
  for (std::int64_t j = 0; j < c.n; ++j, real += count, imag += count) {
    const R* const from = reinterpret_cast<const R*>(c.data + j * c.lanes->step);
    if (c.lanes->is_dense) {
      const R* const dense = from + 2 * c.lanes->offset[0];
      LOCUS_IVDEP
      for (std::int64_t l = 0; l < count; ++l) real[l] = dense[2 * l], imag[l] = dense[2 * l + 1];
    } else {
      for (std::int64_t l = 0; l < count; ++l) {
        real[l] = from[2 * c.lanes->offset[l]];
        imag[l] = from[2 * c.lanes->offset[l] + 1];
      }
    }
  }
}
template <class R>
LOCUS_FN void store_lanes_loops(const LaneCopy<R>& c) {
  const std::int64_t count = c.lanes->count;
  const R *real = c.parts.real, *imag = c.parts.imag;
  const R scale = c.scale, sign = c.exchanges ? R(-1) : R(1);
  for (std::int64_t j = 0; j < c.n; ++j, real += count, imag += count) {
    R* const to = reinterpret_cast<R*>(c.data + j * c.lanes->step);
    if (c.turns) {  // of dense lanes
      const R* const w = reinterpret_cast<const R*>(c.turns + j * c.turns_step);
      R* const dense = to + 2 * c.lanes->offset[0];
      LOCUS_IVDEP
      for (std::int64_t l = 0; l < count; ++l) {
        const R a = w[2 * l], b = sign * w[2 * l + 1];
        dense[2 * l] = real[l] * a - imag[l] * b;
        dense[2 * l + 1] = real[l] * b + imag[l] * a;
      }
    } else if (c.lanes->is_dense) {
      R* const dense = to + 2 * c.lanes->offset[0];
      LOCUS_IVDEP
      for (std::int64_t l = 0; l < count; ++l) dense[2 * l] = scale * real[l], dense[2 * l + 1] = scale * imag[l];
    } else {
      for (std::int64_t l = 0; l < count; ++l) {
        to[2 * c.lanes->offset[l]] = scale * real[l];
        to[2 * c.lanes->offset[l] + 1] = scale * imag[l];
      }
    }
  }
}

/// The transforms of a block of lanes, from `in` to `out`, which may be the same memory.
template <class R>
void transform_lanes(const BlockPlan<R>& plan, const LaneBlock<R>& from, const Complex<R>* in, const LaneBlock<R>& to,
                     Complex<R>* out, bool inverse, R scale, const Complex<R>* turns = nullptr,
                     std::int64_t turns_step = 0) {
  const std::int64_t size = plan.n * from.count;
  R* const memory = of_this_thread<FftScratch>().lanes.template reserve<R>(4 * size);
  Parts<R> x{memory, memory + size}, y{memory + 2 * size, memory + 3 * size};
  const LaneCopy<R> load{const_cast<Complex<R>*>(in), &from, x.exchanged(inverse), plan.n};
  Versions<&load_lanes_loops<R>>::call(load);
  std::int64_t done = 1;
  for (const auto& stage : plan.stages) {
    fft_stage(FftStage<R>{x.real, x.imag, y.real, y.imag, plan.tables.data() + stage.twiddles,
                          plan.tables.data() + stage.roots, stage.turns, done * from.count, stage.radix});
    std::swap(x, y);
    done *= stage.radix;
  }
  const LaneCopy<R> store{out, &to, x.exchanged(inverse), plan.n, scale, turns, turns_step, inverse};
  Versions<&store_lanes_loops<R>>::call(store);
}

/// Runs f(first lane, number of lanes) for blocks of lanes; threads share them where the work is worth it.
template <class R, class F>
void for_each_block(std::int64_t lanes, std::int64_t elements, const F& f) {
  constexpr std::int64_t most = LaneBlock<R>::most;
  const std::int64_t blocks = (lanes + most - 1) / most;
  const auto run = [&](std::int64_t block) {
    f(block * most, lanes - block * most < most ? lanes - block * most : most);
  };
  if (lanes * elements >= shared_fft_elements) return parallel_for(blocks, run);
  for (std::int64_t block = 0; block < blocks; ++block) run(block);
}

}  // namespace detail

/// Transforms of length n in dense memory: `outer` times `inner` of them, `inner` apart from element to element. Steps
/// of `in_step` and `out_step` elements lead to the next outer index.
struct FftLayout {
  std::int64_t outer, n, inner, in_step, out_step;
};

namespace detail {

/// One transform in two steps.
template <class R>
void transform_in_two_steps(const FftPlan<R>& plan, const Complex<R>* in, Complex<R>* out, std::int64_t step,
                            bool inverse, R scale) {
  Complex<R>* const matrix = of_this_thread<FftScratch>().matrix.template reserve<Complex<R>>(plan.n);
  const std::int64_t n1 = plan.n1, n2 = plan.n2;
  for_each_block<R>(n2, n1, [&](std::int64_t first, std::int64_t count) {
    LaneBlock<R> from(first, count, n2, 0, n2 * step), to(first, count, n2, 0, n2);
    for (std::int64_t l = 0; l < count; ++l) from.offset[l] *= step;
    from.is_dense = step == 1;
    transform_lanes(plan.columns, from, in, to, matrix, inverse, R(1), plan.turns.data() + first, n2);
  });
  for_each_block<R>(n1, n2, [&](std::int64_t first, std::int64_t count) {
    LaneBlock<R> from(first, count, 1, n2, 1), to(first, count, n1, 0, n1 * step);
    for (std::int64_t l = 0; l < count; ++l) to.offset[l] *= step;
    to.is_dense = step == 1;
    transform_lanes(plan.rows, from, static_cast<const Complex<R>*>(matrix), to, out, inverse, scale);
  });
}

/// Runs f(offset of the first input, of the first output) for each transform; threads share them where it pays.
template <class F>
void for_each_transform(const FftLayout& at, const F& f) {
  const auto run = [&](std::int64_t lane) {
    const std::int64_t outer = lane / at.inner, inner = lane % at.inner;
    f(outer * at.in_step + inner, outer * at.out_step + inner);
  };
  const std::int64_t count = at.outer * at.inner;
  if (count * at.n >= shared_fft_elements) return parallel_for(count, run);
  for (std::int64_t lane = 0; lane < count; ++lane) run(lane);
}

/// Whether transforms run side by side rather than one after the other. The elements of rows lie apart in a block of
/// rows, and gathering them takes as long as the transform: long rows are matrices of their own.
template <class R>
[[nodiscard]] bool prefers_block(const FftLayout& at) {
  constexpr std::int64_t longest_row = 256;
  return 2 * at.outer * at.inner > LaneBlock<R>::most && (at.inner > 1 || at.n < longest_row);
}

/// The transforms by a smooth plan.
template <class R>
void transform_by_blocks(const FftPlan<R>& plan, const FftLayout& at, const Complex<R>* in, Complex<R>* out,
                         bool inverse, R scale) {
  const std::int64_t lanes = at.outer * at.inner;
  if (plan.has_block() && (!plan.has_two_steps() || prefers_block<R>(at))) {
    return for_each_block<R>(lanes, at.n, [&](std::int64_t first, std::int64_t count) {
      const LaneBlock<R> from(first, count, at.inner, at.in_step, at.inner);
      const LaneBlock<R> to(first, count, at.inner, at.out_step, at.inner);
      transform_lanes(plan.block, from, in, to, out, inverse, scale);
    });
  }
  for_each_transform(at, [&](std::int64_t from, std::int64_t to) {
    transform_in_two_steps(plan, in + from, out + to, at.inner, inverse, scale);
  });
}

/// One transform as a convolution with a chirp: j k = (j^2 + k^2 - (k - j)^2) / 2.
template <class R>
void transform_by_chirp(const FftPlan<R>& plan, const Complex<R>* in, Complex<R>* out, std::int64_t step, bool inverse,
                        R scale) {
  const FftPlan<R>& padded = *plan.padded;
  const std::int64_t n = plan.n, m = padded.n;
  const FftLayout one{1, m, 1, m, m};
  Complex<R>* const work = of_this_thread<FftScratch>().padded.template reserve<Complex<R>>(m);
  for (std::int64_t j = 0; j < n; ++j) {
    const Complex<R> z = in[j * step];
    work[j] = (inverse ? Complex<R>(z.imag, z.real) : z) * plan.chirp[static_cast<std::size_t>(j)];
  }
  for (std::int64_t j = n; j < m; ++j) work[j] = Complex<R>(0);
  transform_by_blocks(padded, one, work, work, false, R(1));
  for (std::int64_t j = 0; j < m; ++j) work[j] *= plan.kernel[static_cast<std::size_t>(j)];
  transform_by_blocks(padded, one, work, work, true, R(1));
  for (std::int64_t k = 0; k < n; ++k) {
    const Complex<R> z = scale * (work[k] * plan.chirp[static_cast<std::size_t>(k)]);
    out[k * step] = inverse ? Complex<R>(z.imag, z.real) : z;
  }
}

/// The transform of the conjugate chirp, with the scale of the convolution.
template <class R>
void make_kernel(FftPlan<R>& plan) {
  if (!plan.padded) return;
  const std::int64_t n = plan.n, m = plan.padded->n;
  plan.kernel.assign(static_cast<std::size_t>(m), Complex<R>(0));
  for (std::int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<std::size_t>(j), mirrored = static_cast<std::size_t>(j == 0 ? 0 : m - j);
    plan.kernel[at] = plan.kernel[mirrored] = locus::detail::conjugate(plan.chirp[at]);
  }
  const FftLayout one{1, m, 1, m, m};
  transform_by_blocks(*plan.padded, one, plan.kernel.data(), plan.kernel.data(), false, R(1) / static_cast<R>(m));
}

/// One transform of neighbouring elements.
template <class R>
void transform_row(const FftPlan<R>& plan, const Complex<R>* in, Complex<R>* out, bool inverse, R scale) {
  if (plan.padded) return transform_by_chirp(plan, in, out, 1, inverse, scale);
  transform_by_blocks(plan, FftLayout{1, plan.n, 1, plan.n, plan.n}, in, out, inverse, scale);
}

/// The plans that this thread used last.
template <class R>
[[nodiscard]] Shared<const FftPlan<R>> fft_plan(std::int64_t n) {
  struct Kept {
    std::vector<Shared<const FftPlan<R>>> plans;
  };
  constexpr std::size_t most = 16;
  auto& plans = of_this_thread<Kept>().plans;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i]->n != n) continue;
    for (; i > 0; --i) std::swap(plans[i], plans[i - 1]);
    return plans[0];
  }
  return locus::detail::or_out_of_memory({"fft: out of host memory for the tables of length ", n}, [&] {
    auto* const made = new FftPlan<R>(n);
    Shared<const FftPlan<R>> plan(made);
    make_kernel(*made);
    if (plans.size() == most) plans.pop_back();
    plans.insert(plans.begin(), plan);
    return plan;
  });
}

}  // namespace detail

/// out[k] = scale * sum over j of in[j] e^(-2 pi i j k / n); with `inverse`, of e^(+2 pi i j k / n). in and out may be
/// the same memory if their steps are equal.
template <class R>
void fourier_transform(const FftLayout& at, const Complex<R>* in, Complex<R>* out, bool inverse, R scale) {
  if (at.outer * at.inner == 0) return;
  const auto plan = detail::fft_plan<R>(at.n);
  if (!plan->padded) return detail::transform_by_blocks(*plan, at, in, out, inverse, scale);
  detail::for_each_transform(at, [&](std::int64_t from, std::int64_t to) {
    detail::transform_by_chirp(*plan, in + from, out + to, at.inner, inverse, scale);
  });
}

}}}  // namespace locus::LOCUS_ABI::cpu
