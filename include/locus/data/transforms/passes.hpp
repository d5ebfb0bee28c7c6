#pragma once
// The launches of a composition. Transforms that resample are separable: each line of the result is a weighted sum of
// lines of the image, and each pixel one of pixels of that line. They take a launch for lines, one for the weights of
// columns, and one for columns, into which later transforms are fused.

#include <locus/data/transforms/chain.hpp>
#include <locus/device/place_queries.hpp>
#include <locus/tensor/tensor.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// throws ShapeError unless it is (channels, height, width) of less than 2^30 elements: with a padding, too, a
/// PixelIndex counts its rows and columns
[[nodiscard]] LOCUS_OUT_OF_LINE inline ImageExtents image_extents(const char* caller, const Shape& shape) {
  std::int64_t all = 1;
  if (shape.rank() == 3)
    all = locus::detail::product_or_most(shape[0], locus::detail::product_or_most(shape[1], shape[2]));
  if (shape.rank() != 3 || all >= 1 << 30)
    fail<ShapeError>(
        {caller, ": images of shape ", shape, "; expected (channels, height, width), of less than 2^30 elements"});
  return {static_cast<PixelIndex>(shape[0]), static_cast<PixelIndex>(shape[1]), static_cast<PixelIndex>(shape[2])};
}
[[nodiscard]] inline Shape shape_of(const ImageExtents& extents) {
  return {extents.channels, extents.height, extents.width};
}

/// A transform that resamples: row() and column() give, for a line or a column of the result, the elements [begin, end)
/// of the image and their weight(i), up to a factor; most_taps() bounds their number.
template <class F>
concept Separable = requires(const F& f, const typename F::template Drawn<float>& drawn, const ImageExtents& in) {
  { f.template row<float>(drawn, in, 0).weight(0) } -> std::same_as<float>;
  { f.template column<float>(drawn, in, 0).begin } -> std::convertible_to<PixelIndex>;
  { f.most_taps(in) } -> std::same_as<PixelIndex>;  // of columns
};
/// A pixel of a separable transform on its own.
template <class R, class F, class Read>
[[nodiscard]] LOCUS_FN R separable_pixel(const F& f, const Read& read, const typename F::template Drawn<R>& drawn,
                                         const ImageExtents& in, PixelIndex c, PixelIndex y, PixelIndex x) {
  const auto row = f.template row<R>(drawn, in, y);
  const auto column = f.template column<R>(drawn, in, x);
  R sum = 0, weights = 0;
  for (PixelIndex i = row.begin; i < row.end; ++i) {
    for (PixelIndex j = column.begin; j < column.end; ++j) {
      const R weight = row.weight(i) * column.weight(j);
      sum += weight * read(c, i, j);
      weights += weight;
    }
  }
  return sum / weights;
}

/// Row functor: a row is a line of the result, of all columns of the image.
template <class R, class U, class F>
struct WeighLines {
  static constexpr int fragments = 1;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(U) + sizeof(R);
  F transform;
  std::uint64_t stage;
  DenseImages<R, U> source;
  PixelIndex height;  ///< of the result
  DrawnSamples samples;
  R* out;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const ImageExtents& in = source.extents;
    const std::int64_t plane = row / height, n = plane / in.channels;
    const auto drawn = transform.template draw<R>(random_block(samples.key, stage, samples(n)), in);
    const auto line = transform.template row<R>(drawn, in, static_cast<PixelIndex>(row - plane * height));
    const U* const image = source.image + plane * in.height * in.width;
    auto sum = team.load(RowInput<R>{});
    R total = 0;
    for (PixelIndex i = line.begin; i < line.end; i += 4) {
      R weight[4];
      const U* from[4];
      for (PixelIndex k = 0; k < 4; ++k) {
        const PixelIndex at = i + k < line.end ? i + k : line.end - 1;
        weight[k] = i + k < line.end ? line.weight(at) : R(0);
        from[k] = image + std::int64_t{at} * in.width;
        total += weight[k];
      }
      const R a = weight[0], b = weight[1], c = weight[2], d = weight[3];
      const U *const p = from[0], *const q = from[1], *const r = from[2], *const s = from[3];
      team.update(
          [=](R value, std::int64_t x) LOCUS_INLINED {
            return value + a * static_cast<R>(load_as_register(p[x])) + b * static_cast<R>(load_as_register(q[x])) +
                   c * static_cast<R>(load_as_register(r[x])) + d * static_cast<R>(load_as_register(s[x]));
          },
          sum);
    }
    const R scale = source.scale / total;
    team.store(
        RowOutput<R>{out + row * in.width}, [=](R value, std::int64_t) LOCUS_INLINED { return value * scale; }, sum);
  }
};

/// Weights of columns: of column x of image n, those of `taps` elements from begins[n * width + x] on, times its
/// factor.
template <class R>
struct ColumnWeights {
  PixelIndex width = 0, taps = 0;
  std::int32_t* begins = nullptr;
  R *weights = nullptr, *factors = nullptr;
};
/// Row functor: a row is the columns of an image.
template <class R, class F>
struct FindWeights {
  static constexpr int fragments = 0;
  F transform;
  std::uint64_t stage;
  ImageExtents in;
  DrawnSamples samples;
  ColumnWeights<R> to;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t n, Team& team) const {
    const auto drawn = transform.template draw<R>(random_block(samples.key, stage, samples(n)), in);
    const F f = transform;
    const ImageExtents extents = in;
    const PixelIndex last = in.width - to.taps;
    const auto begin_of = [=](const auto& column) LOCUS_INLINED { return column.begin < last ? column.begin : last; };
    team.store(RowOutput<std::int32_t>{to.begins + n * to.width}, [=](std::int64_t x) LOCUS_INLINED {
      return begin_of(f.template column<R>(drawn, extents, static_cast<PixelIndex>(x)));
    });
    for (PixelIndex t = 0; t < to.taps; ++t) {
      team.store(RowOutput<R>{to.weights + (n * to.taps + t) * to.width}, [=](std::int64_t x) LOCUS_INLINED {
        const auto column = f.template column<R>(drawn, extents, static_cast<PixelIndex>(x));
        const PixelIndex i = begin_of(column) + t;
        return i >= column.begin && i < column.end ? column.weight(i) : R(0);
      });
    }
    team.store(RowOutput<R>{to.factors + n * to.width}, [=](std::int64_t x) LOCUS_INLINED {
      const auto column = f.template column<R>(drawn, extents, static_cast<PixelIndex>(x));
      R total = 0;
      for (PixelIndex i = column.begin; i < column.end; ++i) total += column.weight(i);
      return R(1) / total;
    });
  }
};
/// Lines whose columns are weighed when they are read. most: the number of taps, so that loops over them are unrolled;
/// 0: any number.
template <class R, int most>
struct WeighedColumns {
  const R* lines = nullptr;
  std::int64_t elements = 0;  ///< of the lines of an image
  PixelIndex height = 0, line = 0;
  ColumnWeights<R> weights;
  LOCUS_FN void move_to(std::int64_t n) {
    lines += n * elements;
    weights.begins += n * weights.width;
    weights.weights += n * weights.width * weights.taps;
    weights.factors += n * weights.width;
  }
  [[nodiscard]] LOCUS_FN R operator()(PixelIndex c, PixelIndex y, PixelIndex x) const {
    const R* const from = lines + (c * height + y) * line + weights.begins[x];
    const R* const weight = weights.weights + x;
    const std::int64_t width = weights.width;
    if constexpr (most > 0)
      return weights.factors[x] * sum(from, weight, width, std::make_integer_sequence<int, most>{});
    R total = 0;
    for (PixelIndex t = 0; t < weights.taps; ++t) total += weight[t * width] * from[t];
    return total * weights.factors[x];
  }

 private:
  template <int... t>
  [[nodiscard]] LOCUS_FN static R sum(const R* from, const R* weight, std::int64_t width,
                                      std::integer_sequence<int, t...>) {
    return (R(0) + ... + (weight[t * width] * from[t]));
  }
};

/// The launches of transforms F..., for images that become T.
template <class T, class D, class... F>
struct Passes {
  static constexpr int all = sizeof...(F);
  static constexpr int unrolled = 6;  ///< taps
  using R = compute_t<T>;
  const Pack<F...>& transforms;
  const ImageExtents* extents;  ///< before each transform, and after the last
  D device;
  std::int64_t count;
  DrawnSamples samples;
  T* to;

  /// Transforms [at, all), of a source.
  template <int at, class Source>
  void run(const Source& source) const {
    if constexpr (Separable<transform<at>>) {
      resample<at>(source);
    } else {
      constexpr int end = first_of<at + 1, false>();
      if constexpr (end == all) {
        transformed<at, all>(source, to);
      } else {
        const Tensor<R, D> before = images_before(end);
        transformed<at, end>(source, before.data());
        run<end>(DenseImages<R, R>{before.data(), R(1), extents[end]});
      }
    }
  }

 private:
  template <int i>
  using transform = std::remove_cvref_t<decltype(get<i>(std::declval<const Pack<F...>&>()))>;
  /// The first transform from `at` on that resamples or rereads, or, of lines, that needs the whole image.
  template <int at, bool of_lines>
  [[nodiscard]] static constexpr int first_of() {
    if constexpr (at == all) {
      return all;
    } else {
      using Own = transform<at>;
      if constexpr (Separable<Own> || RereadsImage<Own> || (of_lines && NeedsImage<Own>)) return at;
      else return first_of<at + 1, of_lines>();
    }
  }
  [[nodiscard]] Tensor<R, D> images_before(int at) const {
    const ImageExtents& e = extents[at];
    return Tensor<R, D>({count, e.channels, e.height, e.width}, device);
  }

  template <int at, int end>
  [[nodiscard]] static constexpr bool need_image() {
    return []<int... i>(std::integer_sequence<int, i...>) {
      return (false || ... || NeedsImage<transform<at + i>>);
    }(std::make_integer_sequence<int, end - at>{});
  }
  /// Transforms [at, end) in lines where the host computes, which saves divisions; otherwise in images, of which each
  /// draws once.
  template <int at, int end, class Source, class To>
  void transformed(const Source& source, To* out) const {
    if constexpr (need_image<at, end>() || !HostAccessible<D>) fused<TransformRow, at, end>(source, out);
    else fused<TransformLine, at, end>(source, out);
  }
  /// Transforms [at, end) as one launch.
  template <template <class, class, class...> class Row, int at, int end, class Source, class To>
  void fused(const Source& source, To* out) const {
    [&]<int... i>(std::integer_sequence<int, i...>) {
      using Each = Row<To, Source, transform<at + i>...>;
      Each row{{Pack<transform<at + i>...>(get<at + i>(transforms)...), {}, source, at}, samples, out};
      for (int k = 0; k <= end - at; ++k) row.chain.extents[k] = extents[at + k];
      const ImageExtents& last = extents[end];
      const std::int64_t lines = std::int64_t{last.channels} * last.height;
      if constexpr (Each::is_image) Backend<D>::for_each_row(device, count, lines * last.width, row);
      else Backend<D>::for_each_row(device, count * lines, last.width, row);
    }(std::make_integer_sequence<int, end - at>{});
  }

  template <int at, class U>
  void resample(const DenseImages<R, U>& source) const {
    using Own = transform<at>;
    const Own& own = get<at>(transforms);
    const ImageExtents &in = extents[at], &out = extents[at + 1];
    (void)image_extents("compose: lines of scaled", shape_of({in.channels, out.height, in.width}));
    const Tensor<R, D> lines({count, in.channels, out.height, in.width}, device);
    Backend<D>::for_each_row(device, count * in.channels * out.height, in.width,
                             WeighLines<R, U, Own>{own, at, source, out.height, samples, lines.data()});

    const PixelIndex most = own.most_taps(in) < in.width ? own.most_taps(in) : in.width;
    const bool unrolls = most <= unrolled && in.width >= unrolled;
    const PixelIndex taps = unrolls ? unrolled : most;
    const Tensor<std::int32_t, D> begins({count, out.width}, device);
    const Tensor<R, D> weights({count, taps + 1, out.width}, device);
    const ColumnWeights<R> columns{out.width, taps, begins.data(), weights.data(),
                                   weights.data() + count * taps * out.width};
    Backend<D>::for_each_row(device, count, out.width, FindWeights<R, Own>{own, at, in, samples, columns});

    const std::int64_t of_an_image = std::int64_t{in.channels} * out.height * in.width;
    if (unrolls) finish<at>(WeighedColumns<R, unrolled>{lines.data(), of_an_image, out.height, in.width, columns});
    else finish<at>(WeighedColumns<R, 0>{lines.data(), of_an_image, out.height, in.width, columns});
  }
  /// The columns of transform `at`, and transforms after it.
  template <int at, class Source>
  void finish(const Source& columns) const {
    constexpr int next = first_of<at + 1, true>();
    if constexpr (next == all) {
      fused<TransformLine, at + 1, all>(columns, to);
    } else {
      const Tensor<R, D> before = images_before(next);
      fused<TransformLine, at + 1, next>(columns, before.data());
      run<next>(DenseImages<R, R>{before.data(), R(1), extents[next]});
    }
  }
};

}}}  // namespace locus::LOCUS_ABI::data::detail
