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
LOCUS_REFUSALS_BEGIN
#if LOCUS_CLANG_REFUSES
template <class why = void>
error::refused sort(...) __attribute__((diagnose_if(true, "sort: no such form of it, or #include <locus/ops/sort.hpp> is missing", "error")));
template <class why = void>
error::refused argsort(...) __attribute__((diagnose_if(true, "argsort: no such form of it, or #include <locus/ops/sort.hpp> is missing", "error")));
template <class why = void>
error::refused topk(...) __attribute__((diagnose_if(true, "topk: no such form of it, or #include <locus/ops/sort.hpp> is missing", "error")));
template <class why = void>
error::refused quantile(...) __attribute__((diagnose_if(true, "quantile: no such form of it, or #include <locus/ops/order_statistics.hpp> is missing", "error")));
template <class why = void>
error::refused median(...) __attribute__((diagnose_if(true, "median: no such form of it, or #include <locus/ops/order_statistics.hpp> is missing", "error")));
template <class why = void>
error::refused kthvalue(...) __attribute__((diagnose_if(true, "kthvalue: no such form of it, or #include <locus/ops/order_statistics.hpp> is missing", "error")));
template <class why = void>
error::refused mode(...) __attribute__((diagnose_if(true, "mode: no such form of it, or #include <locus/ops/order_statistics.hpp> is missing", "error")));
template <class why = void>
error::refused unique(...) __attribute__((diagnose_if(true, "unique: no such form of it, or #include <locus/ops/unique.hpp> is missing", "error")));
template <class why = void>
error::refused einsum(...) __attribute__((diagnose_if(true, "einsum: no such form of it, or #include <locus/ops/einsum.hpp> is missing", "error")));
template <class why = void>
error::refused histogram(...) __attribute__((diagnose_if(true, "histogram: no such form of it, or #include <locus/ops/histogram.hpp> is missing", "error")));
template <class why = void>
error::refused bincount(...) __attribute__((diagnose_if(true, "bincount: no such form of it, or #include <locus/ops/histogram.hpp> is missing", "error")));
template <class why = void>
error::refused cdist(...) __attribute__((diagnose_if(true, "cdist: no such form of it, or #include <locus/ops/cdist.hpp> is missing", "error")));
template <class why = void>
error::refused isin(...) __attribute__((diagnose_if(true, "isin: no such form of it, or #include <locus/ops/isin.hpp> is missing", "error")));
template <class why = void>
error::refused interp(...) __attribute__((diagnose_if(true, "interp: no such form of it, or #include <locus/ops/interp.hpp> is missing", "error")));
template <class why = void>
error::refused cross(...) __attribute__((diagnose_if(true, "cross: no such form of it, or #include <locus/ops/cross.hpp> is missing", "error")));
template <class why = void>
error::refused cov(...) __attribute__((diagnose_if(true, "cov: no such form of it, or #include <locus/ops/cov.hpp> is missing", "error")));
template <class why = void>
error::refused corrcoef(...) __attribute__((diagnose_if(true, "corrcoef: no such form of it, or #include <locus/ops/cov.hpp> is missing", "error")));
template <class why = void>
error::refused masked_select(...) __attribute__((diagnose_if(true, "masked_select: no such form of it, or #include <locus/ops/masked_select.hpp> is missing", "error")));
template <class why = void>
error::refused multinomial(...) __attribute__((diagnose_if(true, "multinomial: no such form of it, or #include <locus/ops/multinomial.hpp> is missing", "error")));
#else
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_sort_hpp>>
void sort(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_sort_hpp>>
void argsort(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_sort_hpp>>
void topk(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_order_statistics_hpp>>
void quantile(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_order_statistics_hpp>>
void median(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_order_statistics_hpp>>
void kthvalue(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_order_statistics_hpp>>
void mode(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_unique_hpp>>
void unique(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_einsum_hpp>>
void einsum(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_histogram_hpp>>
void histogram(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_histogram_hpp>>
void bincount(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_cdist_hpp>>
void cdist(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_isin_hpp>>
void isin(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_interp_hpp>>
void interp(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_cross_hpp>>
void cross(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_cov_hpp>>
void cov(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_cov_hpp>>
void corrcoef(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_masked_select_hpp>>
void masked_select(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_ops_multinomial_hpp>>
void multinomial(...) = delete;
#endif

}  // namespace detail

namespace linalg {
#if LOCUS_CLANG_REFUSES
template <class why = void>
error::refused solve(...) __attribute__((diagnose_if(true, "linalg::solve: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused inv(...) __attribute__((diagnose_if(true, "linalg::inv: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused det(...) __attribute__((diagnose_if(true, "linalg::det: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused slogdet(...) __attribute__((diagnose_if(true, "linalg::slogdet: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused cholesky(...) __attribute__((diagnose_if(true, "linalg::cholesky: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused eigh(...) __attribute__((diagnose_if(true, "linalg::eigh: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused qr(...) __attribute__((diagnose_if(true, "linalg::qr: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused svd(...) __attribute__((diagnose_if(true, "linalg::svd: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
template <class why = void>
error::refused lstsq(...) __attribute__((diagnose_if(true, "linalg::lstsq: no such form of it, or #include <locus/linalg/linalg.hpp> is missing", "error")));
#else
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void solve(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void inv(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void det(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void slogdet(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void cholesky(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void eigh(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void qr(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void svd(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_linalg_linalg_hpp>>
void lstsq(...) = delete;
#endif
}  // namespace linalg

namespace io {
#if LOCUS_CLANG_REFUSES
template <class why = void>
error::refused save(...) __attribute__((diagnose_if(true, "io::save: no such form of it, or #include <locus/io/safetensors.hpp> is missing", "error")));
template <class D, class why = void>
error::refused load(...) __attribute__((diagnose_if(true, "io::load: no such form of it, or #include <locus/io/safetensors.hpp> is missing", "error")));
template <class why = void>
error::refused save_npy(...) __attribute__((diagnose_if(true, "io::save_npy: no such form of it, or #include <locus/io/npy.hpp> is missing", "error")));
template <class D, class why = void>
error::refused load_npy(...) __attribute__((diagnose_if(true, "io::load_npy: no such form of it, or #include <locus/io/npy.hpp> is missing", "error")));
template <class why = void>
error::refused save_training(...) __attribute__((diagnose_if(true, "io::save_training: no such form of it, or #include <locus/io/training.hpp> is missing", "error")));
template <class why = void>
error::refused resume_training(...) __attribute__((diagnose_if(true, "io::resume_training: no such form of it, or #include <locus/io/training.hpp> is missing", "error")));
#else
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_io_safetensors_hpp>>
void save(...) = delete;
template <class D, class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_io_safetensors_hpp>>
void load(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_io_npy_hpp>>
void save_npy(...) = delete;
template <class D, class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_io_npy_hpp>>
void load_npy(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_io_training_hpp>>
void save_training(...) = delete;
template <class why = error::not_possible<error::no_such_form_or_its_header_is_missing, error::include_locus_io_training_hpp>>
void resume_training(...) = delete;
#endif
}  // namespace io

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
struct LeNet5Options;
template <class T, class D>
struct MlpOptions;
#if LOCUS_CLANG_REFUSES
template <class T, class D = Cpu>
  requires locus::detail::NotIncluded<T, ResNetOptions>
error::refused resnet18(...) __attribute__((diagnose_if(true, "models::resnet18: #include <locus/models/resnet.hpp> is missing", "error")));
template <class T, class D = Cpu>
  requires locus::detail::NotIncluded<T, ResNetOptions>
error::refused resnet34(...) __attribute__((diagnose_if(true, "models::resnet34: #include <locus/models/resnet.hpp> is missing", "error")));
template <class T, class D = Cpu>
  requires locus::detail::NotIncluded<T, ResNetOptions>
error::refused resnet50(...) __attribute__((diagnose_if(true, "models::resnet50: #include <locus/models/resnet.hpp> is missing", "error")));
template <class T, class D = Cpu>
  requires locus::detail::NotIncluded<T, GPT2Options>
error::refused gpt2(...) __attribute__((diagnose_if(true, "models::gpt2: #include <locus/models/gpt2.hpp> is missing", "error")));
template <class T, class D = Cpu>
  requires locus::detail::NotIncluded<T, LeNet5Options>
error::refused lenet5(...) __attribute__((diagnose_if(true, "models::lenet5: #include <locus/models/lenet5.hpp> is missing", "error")));
template <class T, class D = Cpu>
  requires locus::detail::NotIncluded<T, MlpOptions<T, Cpu>>
error::refused mlp(...) __attribute__((diagnose_if(true, "models::mlp: #include <locus/models/mlp.hpp> is missing", "error")));
#else
template <class T, class D = Cpu, class why = error::not_possible<error::its_header_is_missing, error::include_locus_models_resnet_hpp>>
  requires locus::detail::NotIncluded<T, ResNetOptions>
void resnet18(...) = delete;
template <class T, class D = Cpu, class why = error::not_possible<error::its_header_is_missing, error::include_locus_models_resnet_hpp>>
  requires locus::detail::NotIncluded<T, ResNetOptions>
void resnet34(...) = delete;
template <class T, class D = Cpu, class why = error::not_possible<error::its_header_is_missing, error::include_locus_models_resnet_hpp>>
  requires locus::detail::NotIncluded<T, ResNetOptions>
void resnet50(...) = delete;
template <class T, class D = Cpu, class why = error::not_possible<error::its_header_is_missing, error::include_locus_models_gpt2_hpp>>
  requires locus::detail::NotIncluded<T, GPT2Options>
void gpt2(...) = delete;
template <class T, class D = Cpu, class why = error::not_possible<error::its_header_is_missing, error::include_locus_models_lenet5_hpp>>
  requires locus::detail::NotIncluded<T, LeNet5Options>
void lenet5(...) = delete;
template <class T, class D = Cpu, class why = error::not_possible<error::its_header_is_missing, error::include_locus_models_mlp_hpp>>
  requires locus::detail::NotIncluded<T, MlpOptions<T, Cpu>>
void mlp(...) = delete;
#endif
}  // namespace models
LOCUS_REFUSALS_END
// clang-format on

}}  // namespace locus::LOCUS_ABI
