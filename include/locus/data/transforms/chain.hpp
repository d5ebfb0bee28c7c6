#pragma once
// A chain of transforms: each pixel of the result reads back through them. Row functors compute images, or lines.

#include <locus/core/generator.hpp>
#include <locus/core/std/pack.hpp>
#include <locus/data/transforms/transforms.hpp>
#include <locus/device/row_team.hpp>
#include <locus/ops/fold.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// A transform that needs the whole image before it: observe(team, read, drawn, in) adds to its random values, by folds
/// of the team.
template <class F>
concept Observes = requires { requires F::observes; };
template <class F>
concept NeedsImage = Observes<F> || requires(const F& f) { f.averages(); };
/// A transform that reads pixels several times, so that the image before it is better kept in memory.
template <class F>
concept RereadsImage = requires { requires F::rereads; };

/// The mean of f(y, x) over an image, by a team whose row may have another number of columns.
template <class R, class Team, class F>
[[nodiscard]] LOCUS_FN R mean_over(Team& team, const ImageExtents& extents, const F& f) {
  const PixelIndex width = extents.width, count = extents.height * width;
  const auto columns = static_cast<PixelIndex>(team.cols());
  const R sum = team.reduce(fold::SumOfSlow<R>{}, [=](std::int64_t column) LOCUS_INLINED {
    R part = 0;
    for (auto i = static_cast<PixelIndex>(column); i < count; i += columns) part += f(i / width, i % width);
    return part;
  });
  return sum / static_cast<R>(count);
}
/// The largest f(y, x) of an image.
template <class R, class Team, class F>
[[nodiscard]] LOCUS_FN R largest_over(Team& team, const ImageExtents& extents, const F& f) {
  const PixelIndex width = extents.width, count = extents.height * width;
  const auto columns = static_cast<PixelIndex>(team.cols());
  return team.reduce(fold::Max<R>{}, [=](std::int64_t column) LOCUS_INLINED {
    const PixelIndex first = column < count ? static_cast<PixelIndex>(column) : 0;  // columns beyond repeat a pixel
    R most = f(first / width, first % width);
    for (PixelIndex i = first + columns; i < count; i += columns) {
      const R next = f(i / width, i % width);
      most = next > most ? next : most;
    }
    return most;
  });
}

/// The pixels of an image before transform number `stage`.
template <class Chain, int stage>
struct Before {
  const Chain& chain;
  [[nodiscard]] LOCUS_FN auto operator()(PixelIndex c, PixelIndex y, PixelIndex x) const {
    return chain.template pixel<stage>(c, y, x);
  }
};

/// Images of U in dense memory, times a scale.
template <class R, class U>
struct DenseImages {
  const U* image = nullptr;
  R scale = 1;
  ImageExtents extents = {};
  LOCUS_FN void move_to(std::int64_t n) { image += n * extents.channels * extents.height * extents.width; }
  [[nodiscard]] LOCUS_FN R operator()(PixelIndex c, PixelIndex y, PixelIndex x) const {
    return static_cast<R>(load_as_register(image[(c * extents.height + y) * extents.width + x])) * scale;
  }
};

/// An image of a source and the random values drawn for it: each pixel of the result reads back through the transforms.
template <class R, class Source, class... F>
struct Chain {
  static constexpr int stages = sizeof...(F);
  Pack<F...> transforms;
  ImageExtents extents[stages + 1] = {};  ///< before each transform, and after the last
  Source source{};
  int first_stage = 0;  ///< the number of the first transform, for its random numbers
  Pack<typename F::template Drawn<R>...> drawn{};

  template <int stage>
  [[nodiscard]] LOCUS_FN R pixel(PixelIndex c, PixelIndex y, PixelIndex x) const {
    if constexpr (stage == 0) {
      return source(c, y, x);
    } else {
      return get<stage - 1>(transforms)
          .template pixel<R>(Before<Chain, stage - 1>{*this}, get<stage - 1>(drawn), extents[stage - 1], c, y, x);
    }
  }

  /// Draws the random values of a sample, and computes the means that transforms need.
  template <int stage = 0, class Team>
  LOCUS_FN void draw(std::uint64_t key, std::uint64_t sample, Team& team) {
    if constexpr (stage < stages) {
      const auto& transform = get<stage>(transforms);
      auto& mine = get<stage>(drawn);
      const auto number = static_cast<std::uint64_t>(first_stage + stage);
      mine = transform.template draw<R>(random_block(key, number, sample), extents[stage]);
      if constexpr (requires { transform.averages(); }) {
        if (transform.averages()) mine.mean = mean_before<stage>(team);
      }
      if constexpr (Observes<std::remove_cvref_t<decltype(transform)>>) {
        const Chain self = *this;
        transform.template observe<R>(team, Before<Chain, stage>{self}, mine, extents[stage]);
      }
      draw<stage + 1>(key, sample, team);
    }
  }

 private:
  template <int stage, class Team>
  [[nodiscard]] LOCUS_FN R mean_before(Team& team) const {
    const Chain self = *this;
    return mean_over<R>(team, extents[stage], [=](PixelIndex y, PixelIndex x) LOCUS_INLINED {
      return get<stage>(self.transforms)
          .template averaged<R>(Before<Chain, stage>{self}, get<stage>(self.drawn), self.extents[stage], y, x);
    });
  }
};

/// Numbers of a launch: its images draw by key and by the numbers of their samples.
struct DrawnSamples {
  std::uint64_t key = 0;
  const std::int64_t* samples = nullptr;  ///< null: first, first + 1, ...
  std::int64_t first = 0;
  [[nodiscard]] LOCUS_FN std::uint64_t operator()(std::int64_t n) const {
    return static_cast<std::uint64_t>(samples ? samples[n] : first + n);
  }
};

/// Row functor: a row is an image of the result, of T.
template <class T, class Source, class... F>
struct TransformRow {
  static constexpr bool is_image = true;
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  using R = compute_t<T>;
  Chain<R, Source, F...> chain;
  DrawnSamples samples;
  T* out;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    constexpr int stages = sizeof...(F);
    auto mine = chain;
    mine.source.move_to(row);
    mine.draw(samples.key, samples(row), team);
    team.store(RowOutput<T>{out + row * team.cols()}, [=](std::int64_t column) LOCUS_INLINED {
      const ImageExtents& extents = mine.extents[stages];
      const auto at = static_cast<PixelIndex>(column);
      const PixelIndex line = at / extents.width, c = line / extents.height;
      return mine.template pixel<stages>(c, line - c * extents.height, at - line * extents.width);
    });
  }
};

/// Row functor: a row is a line of an image of the result, of T. For transforms that need nothing of the whole image.
template <class T, class Source, class... F>
struct TransformLine {
  static constexpr bool is_image = false;
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  using R = compute_t<T>;
  Chain<R, Source, F...> chain;
  DrawnSamples samples;
  T* out;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    constexpr int stages = sizeof...(F);
    auto mine = chain;
    const ImageExtents& extents = chain.extents[stages];
    const std::int64_t lines = std::int64_t{extents.channels} * extents.height, n = row / lines;
    const auto line = static_cast<PixelIndex>(row - n * lines);
    const PixelIndex c = line / extents.height, y = line - c * extents.height;
    mine.source.move_to(n);
    mine.draw(samples.key, samples(n), team);
    team.store(RowOutput<T>{out + row * team.cols()}, [=](std::int64_t column) LOCUS_INLINED {
      return mine.template pixel<stages>(c, y, static_cast<PixelIndex>(column));
    });
  }
};

}}}  // namespace locus::LOCUS_ABI::data::detail
