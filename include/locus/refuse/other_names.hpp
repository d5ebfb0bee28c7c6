#pragma once
// Refuses members of other libraries' tensors and models, and names their equivalent in Locus. A base, so that no class
// of tensors or of layers repeats the declarations. `which` gives a class and its first member different bases: two
// empty bases of one type may not share an address.

#include <locus/fwd.hpp>
#include <locus/refuse/mistake.hpp>

#include <initializer_list>

#pragma GCC system_header

namespace locus { inline namespace LOCUS_ABI { namespace detail {

#if !LOCUS_CLANG_REFUSES
/// The type of a data member that refuses its name, as in x.T.
template <class Why>
struct Unusable {
  Unusable(const Unusable&) = delete;
};
#endif

// clang-format off
template <class D, int which>
struct OtherNames {
#if LOCUS_CLANG_REFUSES
  static int T __attribute__((unavailable(".T: two dimensions are exchanged by x.transpose()")));
#else
  static Unusable<error::not_possible<error::another_name, error::say_x_transpose>> T;
#endif
#include <locus/refuse/other_names/tensor.inc>
};

struct OtherNamesOfModels {
#include <locus/refuse/other_names/model.inc>
};
// clang-format on

}}}  // namespace locus::LOCUS_ABI::detail
