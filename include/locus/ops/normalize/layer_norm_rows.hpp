#pragma once
// The launches of layer_norm and rms_norm: one row per element of the leading dimensions, and the gradients of their
// weights.

#include <locus/ops/moment_folds.hpp>
#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// An element's distance from the mean of its row. The mean is kept as the row's first element and an offset from it: a
/// sum of the elements themselves, and the mean itself, would round at the size of an offset common to all.
template <class R, bool centers>
struct FromMean {
  R first, offset;
  LOCUS_FN R operator()(R v) const {
    if constexpr (centers) return (v - first) - offset;
    else return v;
  }
};

/// The moments of every row: 1 / sqrt(variance + eps), and for layer_norm the offset of its mean. R is const where they
/// are read.
template <class R>
struct RowMoments {
  R *rstds, *offsets;
};
template <class R, class T, class D>
[[nodiscard]] RowMoments<R> moments_of(const Tensor<T, D>& moments) {
  return {moments.data(), moments.data() + moments.size(1)};
}

/// normalized * weight + bias; null pointers stand for 1 and 0
template <class T>
struct Affine {
  using R = compute_t<T>;
  const T *weight, *bias;
  LOCUS_FN R operator()(R normalized, std::int64_t c) const {
    const R scaled = weight ? normalized * load_as_register(weight[c]) : normalized;
    return bias ? scaled + load_as_register(bias[c]) : scaled;
  }

  [[nodiscard]] LOCUS_FN const Affine& of_row(std::int64_t) const { return *this; }

  /// use(f), where f is *this without its null pointers. Each case is a loop of its own: g++ does not unswitch a loop
  /// that converts halves.
  template <class Use>
  LOCUS_FN void choose(const Use& use) const {
    const T *const w = weight, *const b = bias;
    if (w && b)
      use([=](R v, std::int64_t c) LOCUS_INLINED { return v * load_as_register(w[c]) + load_as_register(b[c]); });
    else if (w) use([=](R v, std::int64_t c) LOCUS_INLINED { return v * load_as_register(w[c]); });
    else if (b) use([=](R v, std::int64_t c) LOCUS_INLINED { return v + load_as_register(b[c]); });
    else use([](R v, std::int64_t) LOCUS_INLINED { return v; });
  }
};

/// y = (x - mean) * rstd * weight + bias, where the mean of rms_norm is 0
template <class T, bool centers>
struct LayerNormRow {
  using R = compute_t<T>;
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr int resident_blocks = 2;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Rows<const T> x;
  Affine<T> affine;
  R eps;
  RowMoments<R> moments;
  Rows<T> y;  ///< without memory: only the moments are wanted

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(x.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const auto values = team.load(x.input(row));
    const R count = static_cast<R>(team.cols());
    R first = 0, offset = 0;
    if constexpr (centers) {
      first = load_as_register(*x.row(row));
      const R start = first;
      offset = team.reduce(
                   fold::Sum<T>{}, [=](R v, std::int64_t) LOCUS_INLINED { return v - start; }, values) /
               count;
      team.write(moments.offsets + row, offset);
    }
    const FromMean<R, centers> from_mean{first, offset};
    const R squares = team.reduce(
        fold::Sum<T>{}, [=](R v, std::int64_t) LOCUS_INLINED { return from_mean(v) * from_mean(v); }, values);
    const R variance = squares / count + eps;
    R rstd = R(1) / math::sqrt(variance);
    if (!fold::ScalesFor<R>::fits(variance)) [[unlikely]] {  // all threads of the team agree
      const R scale = fold::ScalesFor<R>::for_squares(variance);
      const auto scaled = [=](R v, std::int64_t)
                              LOCUS_INLINED { return (from_mean(v) * scale) * (from_mean(v) * scale); };
      rstd = scale / math::sqrt(team.reduce(fold::Sum<T>{}, scaled, values) / count + eps * scale * scale);
    }
    team.write(moments.rstds + row, rstd);
    if (!y.data) return;
    if constexpr (StoresInputs<Team>) {
      const R lacking = affine.weight ? R(0) : R(1);  // null rows read as 0: no comparisons per element
      team.store(
          y.output(row),
          [=](R v, R w, R b, std::int64_t) LOCUS_INLINED { return from_mean(v) * rstd * (w + lacking) + b; }, values,
          RowInput<T>{affine.weight}, RowInput<T>{affine.bias});
    } else {
      affine.choose([&](const auto& scaled) LOCUS_INLINED {
        const auto f = scaled;
        team.store(
            y.output(row), [=](R v, std::int64_t c) LOCUS_INLINED { return f(from_mean(v) * rstd, c); }, values);
      });
    }
  }
};

/// With n the normalized row and d = g * weight: dx = rstd (d - mean(d) - n mean(d n)), for rms_norm without mean(d).
/// `Weight` multiplies the elements of a row.
template <class T, bool centers, class Weight = Affine<T>>
struct LayerNormRowBackward {
  using R = compute_t<T>;
  static constexpr int fragments = 2;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 3 * sizeof(T);
  Rows<const T> x, g;
  Weight affine;
  RowMoments<const R> moments;
  Rows<T> dx;
  bool accumulate;

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(x.input(row));
    visit(g.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const auto values = team.load(x.input(row));
    auto gradients = team.load(g.input(row));
    const R count = static_cast<R>(team.cols()), rstd = moments.rstds[row];
    const FromMean<R, centers> centered = from_mean(row);
    const Weight a = affine.of_row(row);
    if (a.weight) team.update([=](R dy, std::int64_t c) LOCUS_INLINED { return a(dy, c); }, gradients);
    const R share = team.reduce(
                        fold::Sum<T>{},
                        [=](R d, R v, std::int64_t)
                            LOCUS_INLINED { return times_slope<LayerNormRowBackward>(d, centered(v) * rstd); },
                        gradients, values) /
                    count;
    R mean = 0;
    if constexpr (centers) {
      mean = team.reduce(
                 fold::Sum<T>{}, [](R d, std::int64_t) LOCUS_INLINED { return d; }, gradients) /
             count;
    }
    const R level = mean;
    choose(rstd, share, [&](const auto& of_element) LOCUS_INLINED {
      const auto f = of_element;
      team.store(
          dx.output(row, accumulate),
          [=](R d, R v, std::int64_t) LOCUS_INLINED { return f(d - level, centered(v) * rstd); }, gradients, values);
    });
  }

  /// use(f), where f(d - mean(d), n) is an element of dx. A row whose adjoint is 0 throughout has share and mean 0, and
  /// contributes nothing whatever it holds. With another share the plain formula gives an equal result (only the sign
  /// of a zero may differ), since an infinite rstd makes n and dx NaN. So the host skips the comparisons then.
  template <class Use>
  LOCUS_FN static void choose(R rstd, R share, const Use& use) {
#if !LOCUS_ON_DEVICE
    if (!is_zero(share)) return use([=](R from_level, R n) LOCUS_INLINED { return (from_level - share * n) * rstd; });
#endif
    use([=](R from_level, R n) LOCUS_INLINED {
      return times_slope<LayerNormRowBackward>(from_level - times_slope<LayerNormRowBackward>(share, n), rstd);
    });
  }
  [[nodiscard]] LOCUS_FN FromMean<R, centers> from_mean(std::int64_t row) const {
    if constexpr (centers) return {load_as_register(*x.row(row)), moments.offsets[row]};
    else return {};
  }
};

/// The same if dx has memory, and the gradients of weight and bias on a device that SumsColumns: the sums of g n and of
/// g over the rows.
template <class T, bool centers>
struct LayerNormRowGradients {
  using R = compute_t<T>;
  static constexpr int fragments = 3;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 3 * sizeof(T);
  static constexpr bool waits_for_memory = true;
  using Backward = LayerNormRowBackward<T, centers>;
  Backward of_x;

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    of_x.for_each_input(row, visit);
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const auto values = team.load(of_x.x.input(row));
    const auto gradients = team.load(of_x.g.input(row));
    const R count = static_cast<R>(team.cols()), rstd = of_x.moments.rstds[row];
    const FromMean<R, centers> centered = of_x.from_mean(row);
    auto weights = team.load(RowInput<T>{of_x.affine.weight});
    if (!of_x.affine.weight) team.update([](R, std::int64_t) LOCUS_INLINED { return R(1); }, weights);
    const auto totals = team.add(
        [=](R dy, R v, R w, std::int64_t) LOCUS_INLINED {
          const R n = centered(v) * rstd, d = dy * w;
          return Addends<R>{{times_slope<LayerNormRowGradients>(dy, n), dy},
                            {times_slope<LayerNormRowGradients>(d, n), d}};
        },
        gradients, values, weights);
    if (!of_x.dx.data) return;
    const R share = totals.first / count, level = centers ? totals.second / count : R(0);
    Backward::choose(rstd, share, [&](const auto& of_element) LOCUS_INLINED {
      const auto f = of_element;
      team.store(
          of_x.dx.output(row, of_x.accumulate),
          [=](R dy, R v, R w, std::int64_t) LOCUS_INLINED { return f(dy * w - level, centered(v) * rstd); }, gradients,
          values, weights);
    });
  }
};

/// A row's contribution to the gradient of the weight: g times the normalized element.
struct TimesNormalized {
  template <class R> LOCUS_FN R operator()(R g, R x, R rstd) const { return times_slope<TimesNormalized>(g, x * rstd); }
  template <class R>
  LOCUS_FN R operator()(R g, R x, R rstd, R first, R offset) const {
    return times_slope<TimesNormalized>(g, FromMean<R, true>{first, offset}(x)*rstd);
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
