#pragma once
// Declarations for headers that only name Locus types. Costs next to nothing to include.

#include <locus/core/config.hpp>

namespace locus {
struct Cpu;
struct Cuda;
struct Pinned;
}  // namespace locus

namespace locus { inline namespace LOCUS_ABI {

class Dims;
template <class T, class D>
class Tensor;
template <class T, class D>
class Traced;
template <class T, class D>
class Parameter;
class History;

namespace nn {
template <class T, class D, class In = T>
class Module;
template <class T, class D, class In = T>
class Sequential;
template <class T, class D>
class Buffer;
template <class T, class D>
class Linear;
template <class T, class D>
class LayerNorm;
template <class T, class D>
class RMSNorm;
}  // namespace nn

namespace optim {
template <class T, class D>
class Sgd;
template <class T, class D>
class Adam;
template <class T, class D>
class AdamW;
template <class T, class D>
class RMSprop;
template <class T, class D>
class Adadelta;
template <class T, class D>
class Adagrad;
template <class T, class D>
class Lion;
}  // namespace optim

namespace data {
template <class T>
class LabelledImagesAs;
using LabelledImages = LabelledImagesAs<float>;
struct Mnist;
template <class S, class D>
class Loader;
}  // namespace data

}}  // namespace locus::LOCUS_ABI
