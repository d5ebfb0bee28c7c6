#pragma once
// A data set whose images are transformed when they are loaded: on the threads that prepare batches, or on a device
// that the host does not write.

#include <locus/data/sets/labelled_images.hpp>
#include <locus/data/transforms/compose.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {

template <class L>
struct ImageFields;
template <FloatingDType T, class... Rest>
struct ImageFields<Fields<T, Rest...>> {
  using Value = T;
};
/// A data set whose samples begin with an image of floating-point numbers.
template <class S>
concept HasImages = Dataset<S> && requires { typename ImageFields<fields_t<S>>::Value; };

/// Source of the images before the transforms: the data set itself, whose images are numbers.
template <class S>
struct ImageSource {
  using Dataset = S;
  static constexpr double scale = 1;
  [[nodiscard]] static const S& of(const S& dataset) { return dataset; }
};
/// For a data set with images as bytes, such as LabelledImages: the bytes.
template <class S>
  requires requires { S::Bytes::unit; }
struct ImageSource<S> {
  using Dataset = typename S::Bytes;
  static constexpr double scale = Dataset::unit;
  [[nodiscard]] static Dataset of(const S& images) { return images.compact(); }
};

template <class U, class... Rest>
[[nodiscard]] U first_of(const Fields<U, Rest...>&);
}  // namespace detail

/// A data set whose first tensor is an image, with transforms applied to the image.
template <detail::HasImages S, ImageTransform... F>
class Transformed : public detail::NamesOf<S> {
  using T = typename detail::ImageFields<detail::fields_t<S>>::Value;
  using Source = detail::ImageSource<S>;
  using U = decltype(detail::first_of(std::declval<typename Source::Dataset>().fields()));

 public:
  Transformed(const S& dataset, const Composed<F...>& transforms, std::uint64_t seed)
      : fields_(dataset.fields()),
        image_(fields_.shapes[0]),
        source_(detail::hold(typename Source::Dataset(Source::of(dataset)))),
        transforms_(transforms),
        seed_(seed),
        key_(detail::transform_key(seed, 0)) {
    fields_.shapes[0] = transforms.shape_of(image_);
  }

  [[nodiscard]] std::int64_t size() const { return source_->dataset.size(); }
  [[nodiscard]] detail::fields_t<S> fields() const {
    (void)*source_;  // throws where the data set was moved from
    return fields_;
  }
  [[nodiscard]] Transformed at_epoch(std::uint64_t epoch) const {
    (void)*source_;
    Transformed same = *this;
    same.key_ = detail::transform_key(seed_, epoch);
    if constexpr (detail::HasEpochs<typename Source::Dataset>) same.source_ = detail::at_epoch(source_, epoch);
    return same;
  }
  template <class... Rest>
  void write(std::int64_t i, Span<T> image, Span<Rest>... rest) const {
    const Tensor<U, Cpu> source(image_, Cpu{});
    const std::int64_t list[] = {i};
    detail::write_samples(source_->dataset, Span(list), {},
                          Span<U>(source.data(), static_cast<std::size_t>(source.elements())), rest...);
    transforms_.launch(
        Cpu{}, image_,
        detail::ImagesToTransform<T, U>{source.data(), Source::scale, key_, nullptr, i, 1, image.data()});
  }

  /// Form copied to a device that the host does not write: untransformed images, with the number of each sample. One
  /// launch transforms them there.
  struct Untransformed {
    Transformed all;

    [[nodiscard]] std::int64_t size() const { return all.size(); }
    [[nodiscard]] auto fields() const { return with_number(all.source_->dataset.fields()); }
    [[nodiscard]] Untransformed at_epoch(std::uint64_t epoch) const { return {all.at_epoch(epoch)}; }
    template <class... Rest>
    void write(Span<const std::int64_t> list, Span<const std::int64_t> next, Span<U> images, Span<std::int64_t> samples,
               Span<Rest>... rest) const {
      for (std::size_t i = 0; i < list.size(); ++i) samples[i] = list[i];
      detail::write_samples(all.source_->dataset, list, next, images, rest...);
    }
    template <class D, class... Rest>
    [[nodiscard]] detail::batch_t<Transformed, D> expand(const Tensor<U, D>& images,
                                                         const Tensor<std::int64_t, D>& samples,
                                                         const Tensor<Rest, D>&... rest) const {
      Shape shape = all.fields_.shapes[0];
      shape.insert(0, images.size(0));
      const Tensor<T, D> result(shape, images.device());
      all.transforms_.launch(images.device(), all.image_,
                             detail::ImagesToTransform<T, U>{images.data(), Source::scale, all.key_, samples.data(), 0,
                                                             images.size(0), result.data()});
      return {result, rest...};
    }

   private:
    template <class... Rest>
    [[nodiscard]] static Fields<U, std::int64_t, Rest...> with_number(const Fields<U, Rest...>& fields) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return Fields<U, std::int64_t, Rest...>{fields.shapes[0], Shape{}, fields.shapes[I + 1]...};
      }(std::index_sequence_for<Rest...>{});
    }
  };
  [[nodiscard]] Untransformed compact() const {
    (void)*source_;
    return {*this};
  }

 private:
  detail::fields_t<S> fields_;
  Shape image_;  ///< before the transforms
  Shared<const detail::Held<typename Source::Dataset>> source_;
  Composed<F...> transforms_;
  std::uint64_t seed_, key_;
};

namespace detail {
template <class S, class... F>
[[nodiscard]] Transformed<S, F...> transformed_by(const S& dataset, const Composed<F...>& transforms,
                                                  std::uint64_t seed) {
  return {dataset, transforms, seed};
}
}  // namespace detail

/// The samples of a data set with their first tensor, an image (channels, height, width), transformed whenever it is
/// loaded. Random values of sample i in epoch e depend on (seed, e, i) alone, whatever the order, the number of workers
/// and of ranks; the loader counts epochs. On Cuda, images are transformed on the GPU, in one launch per batch; images
/// of LabelledImages are copied as bytes. Split a data set before: otherwise both parts are transformed. To transform a
/// transformed data set again, pass another seed, since equal seeds draw equal numbers.
/// throws ShapeError where a transform does not take the images
///
///     auto train = data::transformed(images, data::compose(data::RandomCrop{{.padding = 4}},
///                                                          data::RandomHorizontalFlip{}, data::Normalize{0.5, 0.25}));
template <detail::HasImages S, detail::Transforms F>
[[nodiscard]] auto transformed(const S& dataset, const F& transforms, std::uint64_t seed = 0) {
  return detail::transformed_by(dataset, compose(transforms), seed);
}

#include <locus/refuse/data/transforms/transformed.inc>

}}}  // namespace locus::LOCUS_ABI::data
