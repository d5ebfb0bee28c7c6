#pragma once
// Refuses functions of headers that locus.hpp does not include, and names the header. Once the header is included, its
// functions match better, even through a conversion of a path: an ellipsis is the worst match, see refuse/usage.inc.

#include <locus/refuse/mistake.hpp>

#pragma GCC system_header

namespace locus { inline namespace LOCUS_ABI {

/// Found by argument-dependent lookup alone, since OtherNames, the base of tensors, is in this namespace: a program's
/// own `median` or `mode` beside `using namespace locus` is not ambiguous.
namespace detail {

// clang-format off
#include <locus/refuse/other_headers/functions.inc>

}  // namespace detail

namespace linalg {
#include <locus/refuse/other_headers/linalg.inc>
}  // namespace linalg

namespace fft {
#include <locus/refuse/other_headers/fft.inc>
}  // namespace fft

namespace distributions {
#include <locus/refuse/other_headers/distributions.inc>
}  // namespace distributions

namespace io {
#include <locus/refuse/other_headers/io.inc>
}  // namespace io

namespace data {
#include <locus/refuse/other_headers/data.inc>
}  // namespace data

namespace nn {
#include <locus/refuse/other_headers/nn.inc>
}  // namespace nn

namespace detail {
/// Whether Options is not defined, because the header of the called function is missing. T delays the check to the
/// call.
template <class T, class Options>
concept NotIncluded = !requires { sizeof(std::conditional_t<std::is_void_v<T>, T, Options>); };
}  // namespace detail
namespace models {
// These functions have overloads without arguments, with which an ellipsis is ambiguous: dropped if the header is
// included.
struct ResNetOptions;
struct GPT2Options;
struct LlamaOptions;
struct LeNet5Options;
template <class T, class D>
struct MlpOptions;
#include <locus/refuse/other_headers/models.inc>
}  // namespace models
// clang-format on

}}  // namespace locus::LOCUS_ABI
