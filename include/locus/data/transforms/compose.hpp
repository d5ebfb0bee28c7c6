#pragma once
// Composition of transforms: one launch applies them to a batch on its device; three, if they resample.

#include <locus/data/transforms/color_jitter.hpp>
#include <locus/data/transforms/passes.hpp>
#include <locus/data/transforms/resize.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
struct ReadsNothing {
  float operator()(PixelIndex, PixelIndex, PixelIndex) const;
};
}  // namespace detail

/// A transform of images: a class of data/transforms/transforms.hpp, or your own class with these members, all const
/// and, except the first, LOCUS_FN. The class is trivially copyable, as it is passed to the GPU:
///
///     data::ImageExtents extents_of(const data::ImageExtents& in) const;   // of the result; may refuse: ShapeError
///     template <class R> struct Drawn { ... };                             // random values of a sample
///     template <class R> Drawn<R> draw(const PhiloxBlock& random, const data::ImageExtents& in) const;
///     template <class R, class Read>                                       // a pixel of the result, of R
///     R pixel(const Read& read, const Drawn<R>&, const data::ImageExtents& in, data::PixelIndex c, y, x) const;
///
/// `random` holds four random numbers of the sample for this transform alone; read(c, y, x) is a pixel of the input
/// image.
template <class F>
concept ImageTransform =
    std::is_trivially_copyable_v<F> && requires(const F& f, const ImageExtents& in, const PhiloxBlock& random) {
      { f.extents_of(in) } -> std::same_as<ImageExtents>;
      { f.template draw<float>(random, in) } -> std::same_as<typename F::template Drawn<float>>;
      {
        f.template pixel<float>(detail::ReadsNothing{}, f.template draw<float>(random, in), in, 0, 0, 0)
      } -> std::same_as<float>;
    };

namespace detail {

/// The key of an epoch's random numbers for one purpose: each purpose has its own stream, so that equal seeds give
/// different numbers.
[[nodiscard]] inline std::uint64_t epoch_key(std::uint64_t seed, std::uint64_t epoch,
                                             locus::detail::RandomStream purpose) {
  const PhiloxBlock mixed = random_block(seed, epoch, purpose);
  return std::uint64_t{mixed.x} << 32 | mixed.y;
}
[[nodiscard]] inline std::uint64_t transform_key(std::uint64_t seed, std::uint64_t epoch) {
  return epoch_key(seed, epoch, locus::detail::stream_of_transforms);
}

/// Source and destination of the images of a launch: dense memory of a device.
template <class T, class U>
struct ImagesToTransform {
  const U* from;
  double scale;
  std::uint64_t key;
  const std::int64_t* samples;
  std::int64_t first, count;
  T* to;
};

}  // namespace detail

/// Transforms one after another, as few launches. Made by compose().
template <ImageTransform... F>
class Composed {
 public:
  explicit Composed(const F&... transforms) : transforms_(transforms...) {}

  /// Shape of the result for an image, (channels, height, width). throws ShapeError where a transform does not take it
  [[nodiscard]] Shape shape_of(const Shape& image) const {
    const ImageExtents out = extents_from(detail::image_extents("compose", image)).last;
    return detail::shape_of(out);
  }

  /// The images of a batch transformed on its device, where image n draws as sample n of a data set does in epoch 0:
  /// see transformed(). Take another seed for every batch. shape: (n, channels, height, width) -> (n, ...shape_of())
  /// cost: one launch; a transform that resamples takes three, into the last of which those after it are fused. One
  /// more
  ///       for the transforms before it, or before one that reads its image several times
  /// throws ShapeError naming the transform that does not take the images
  template <FloatingDType T, class D>
  [[nodiscard]] Tensor<T, D> operator()(const Tensor<T, D>& images, std::uint64_t seed) const {
    if (images.rank() != 4)
      fail<ShapeError>({"compose: images of shape ", images.shape(), "; expected (n, channels, height, width)"});
    Shape shape = shape_of({images.size(1), images.size(2), images.size(3)});
    shape.insert(0, images.size(0));
    const auto dense = images.contiguous();
    Tensor<T, D> result(shape, images.device());
    launch(images.device(), {images.size(1), images.size(2), images.size(3)},
           detail::ImagesToTransform<T, T>{dense.data(), 1, detail::transform_key(seed, 0), nullptr, 0, images.size(0),
                                           result.data()});
    return result;
  }

  /// The launches on a device, for images of a checked shape.
  template <class T, class U, class D>
  void launch(D device, const Shape& image, const detail::ImagesToTransform<T, U>& images) const {
    const auto extents = extents_from(detail::image_extents("compose", image));
    if (elements(detail::shape_of(extents.last)) == 0) return;
    using R = compute_t<T>;
    const detail::Passes<T, D, F...> passes{
        transforms_, extents.of, device, images.count, {images.key, images.samples, images.first}, images.to};
    passes.template run<0>(detail::DenseImages<R, U>{images.from, static_cast<R>(images.scale), extents.of[0]});
  }

  [[nodiscard]] const Pack<F...>& transforms() const { return transforms_; }

 private:
  struct AllExtents {
    ImageExtents of[sizeof...(F) + 1], last;
  };
  [[nodiscard]] AllExtents extents_from(const ImageExtents& first) const {
    AllExtents all;
    all.of[0] = first;
    static_for<static_cast<int>(sizeof...(F))>([&]<int I>() {
      all.of[I + 1] = get<I>(transforms_).extents_of(all.of[I]);
      (void)detail::image_extents("compose", detail::shape_of(all.of[I + 1]));
    });
    all.last = all.of[sizeof...(F)];
    return all;
  }

  Pack<F...> transforms_;
};

namespace detail {
template <class X>
inline constexpr bool is_composed = false;
template <class... F>
inline constexpr bool is_composed<Composed<F...>> = true;
template <class X>
concept Transforms = is_composed<X> || ImageTransform<X>;

template <class F>
[[nodiscard]] Pack<F> pack_of(const F& transform) {
  return Pack<F>(transform);
}
template <class... F>
[[nodiscard]] Pack<F...> pack_of(const Composed<F...>& transforms) {
  return transforms.transforms();
}
template <class... F>
[[nodiscard]] Composed<F...> composed_of(const Pack<F...>& all) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return Composed<F...>(get<I>(all)...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(F))>{});
}
template <class... A, class... B, class... Rest>
[[nodiscard]] auto composed_of(const Pack<A...>& a, const Pack<B...>& b, const Rest&... rest) {
  return [&]<int... I, int... J>(std::integer_sequence<int, I...>, std::integer_sequence<int, J...>) {
    return composed_of(Pack<A..., B...>(get<I>(a)..., get<J>(b)...), rest...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{},
         std::make_integer_sequence<int, static_cast<int>(sizeof...(B))>{});
}
}  // namespace detail

/// Composes transforms, applied one after another; a composition among them is flattened.
///
///     auto augment = data::compose(data::RandomCrop{{.padding = 4}}, data::RandomHorizontalFlip{},
///                                  data::Normalize{0.5, 0.25}, data::Cutout{{.size = 8}});
///     auto changed = augment(images, seed);
template <detail::Transforms... F>
  requires(sizeof...(F) > 0)
[[nodiscard]] auto compose(const F&... transforms) {
  return detail::composed_of(detail::pack_of(transforms)...);
}

}}}  // namespace locus::LOCUS_ABI::data
