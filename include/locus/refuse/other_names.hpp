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
LOCUS_REFUSALS_BEGIN
template <class D, int which>
struct OtherNames {
#if LOCUS_CLANG_REFUSES
  static int T __attribute__((unavailable(".T: two dimensions are exchanged by x.transpose()")));
  template <class... A>
  Tensor<float, Cuda> cuda(const A&...) const __attribute__((diagnose_if(true, ".cuda(): the place is part of the type; say .to<Cuda>(), or .to(Cuda{1}) for another GPU", "error")));
  template <class... A>
  Tensor<float, Cpu> cpu(const A&...) const __attribute__((diagnose_if(true, ".cpu(): the place is part of the type; say .to<Cpu>()", "error")));
  template <class... A>
  Tensor<float, D> detach(const A&...) const __attribute__((diagnose_if(true, ".detach(): the tensor alone, from which nothing is recorded, is x.value()", "error")));
  template <class... A>
  Tensor<float, D> view(const A&...) const __attribute__((diagnose_if(true, ".view(...): a view of another shape is called reshape; say x.reshape({2, 3})", "error")));
  template <class why = void>
  Tensor<float, D> view(std::initializer_list<std::int64_t>) const __attribute__((diagnose_if(true, ".view(...): a view of another shape is called reshape; say x.reshape({2, 3})", "error")));
  template <class... A>
  Tensor<float, D> t(const A&...) const __attribute__((diagnose_if(true, ".t(): two dimensions are exchanged by x.transpose()", "error")));
  template <class... A>
  Tensor<float, D> numpy(const A&...) const __attribute__((diagnose_if(true, ".numpy(): the elements are at x.data() on the host; io::save_npy(path, x) writes them for NumPy", "error")));
  template <class... A>
  Tensor<float, D> dim(const A&...) const __attribute__((diagnose_if(true, ".dim(): the number of dimensions is x.rank()", "error")));
  template <class... A>
  Tensor<float, D> ndim(const A&...) const __attribute__((diagnose_if(true, ".ndim(): the number of dimensions is x.rank()", "error")));
  template <class... A>
  Tensor<float, D> numel(const A&...) const __attribute__((diagnose_if(true, ".numel(): the number of elements is x.elements()", "error")));
  template <class... A>
  Tensor<float, D> sizes(const A&...) const __attribute__((diagnose_if(true, ".sizes(): the extents are x.shape()", "error")));
  template <class... A>
  Tensor<float, D> rows(const A&...) const __attribute__((diagnose_if(true, ".rows(): an extent is x.size(0)", "error")));
  template <class... A>
  Tensor<float, D> cols(const A&...) const __attribute__((diagnose_if(true, ".cols(): an extent is x.size(1)", "error")));
  template <class... A>
  Tensor<float, D> copy(const A&...) const __attribute__((diagnose_if(true, ".copy(): say x.clone()", "error")));
  template <class U, class... A>
  Tensor<float, D> astype(const A&...) const __attribute__((diagnose_if(true, ".astype<T>(): say x.as<double>()", "error")));
  template <class U>
  Tensor<float, D> data_ptr() const __attribute__((diagnose_if(true, ".data_ptr<T>(): say x.data()", "error")));
  template <class... A>
  Tensor<float, D> zero_(const A&...) const __attribute__((diagnose_if(true, ".zero_(): say x.fill_(0)", "error")));
  template <class... A>
  Tensor<float, D> add_(const A&...) const __attribute__((diagnose_if(true, ".add_(y): say x += y", "error")));
  template <class... A>
  Tensor<float, D> sub_(const A&...) const __attribute__((diagnose_if(true, ".sub_(y): say x -= y", "error")));
  template <class... A>
  Tensor<float, D> mul_(const A&...) const __attribute__((diagnose_if(true, ".mul_(y): say x *= y", "error")));
  template <class... A>
  Tensor<float, D> requires_grad_(const A&...) const __attribute__((diagnose_if(true, ".requires_grad_(): a tensor whose gradient is collected is another type; say variable(x)", "error")));
  template <class... A>
  Tensor<float, D> sum(const A&...) const __attribute__((diagnose_if(true, ".sum(): reductions are functions; say sum(x), or sum(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> mean(const A&...) const __attribute__((diagnose_if(true, ".mean(): reductions are functions; say mean(x), or mean(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> std(const A&...) const __attribute__((diagnose_if(true, ".std(): reductions are functions, and this one is called stddev; say stddev(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> max(const A&...) const __attribute__((diagnose_if(true, ".max(): reductions are functions; say max(x), or max(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> min(const A&...) const __attribute__((diagnose_if(true, ".min(): reductions are functions; say min(x), or min(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> argmax(const A&...) const __attribute__((diagnose_if(true, ".argmax(): reductions are functions; say argmax(x), or argmax(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> argmin(const A&...) const __attribute__((diagnose_if(true, ".argmin(): reductions are functions; say argmin(x), or argmin(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> norm(const A&...) const __attribute__((diagnose_if(true, ".norm(): reductions are functions; say norm(x), or norm(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> abs(const A&...) const __attribute__((diagnose_if(true, ".abs(): operations are functions; say abs(x)", "error")));
  template <class... A>
  Tensor<float, D> exp(const A&...) const __attribute__((diagnose_if(true, ".exp(): operations are functions; say exp(x)", "error")));
  template <class... A>
  Tensor<float, D> log(const A&...) const __attribute__((diagnose_if(true, ".log(): operations are functions; say log(x)", "error")));
  template <class... A>
  Tensor<float, D> sqrt(const A&...) const __attribute__((diagnose_if(true, ".sqrt(): operations are functions; say sqrt(x)", "error")));
  template <class... A>
  Tensor<float, D> relu(const A&...) const __attribute__((diagnose_if(true, ".relu(): operations are functions; say relu(x)", "error")));
  template <class... A>
  Tensor<float, D> sigmoid(const A&...) const __attribute__((diagnose_if(true, ".sigmoid(): operations are functions; say sigmoid(x)", "error")));
  template <class... A>
  Tensor<float, D> tanh(const A&...) const __attribute__((diagnose_if(true, ".tanh(): operations are functions; say tanh(x)", "error")));
  template <class... A>
  Tensor<float, D> pow(const A&...) const __attribute__((diagnose_if(true, ".pow(): operations are functions; say pow(x, 2)", "error")));
  template <class... A>
  Tensor<float, D> softmax(const A&...) const __attribute__((diagnose_if(true, ".softmax(): operations are functions; say softmax(x, axis)", "error")));
  template <class... A>
  Tensor<float, D> matmul(const A&...) const __attribute__((diagnose_if(true, ".matmul(): operations are functions; say matmul(x, y)", "error")));
  template <class... A>
  Tensor<float, D> mm(const A&...) const __attribute__((diagnose_if(true, ".mm(): operations are functions; say matmul(x, y)", "error")));
  template <class... A>
  Tensor<float, D> clamp(const A&...) const __attribute__((diagnose_if(true, ".clamp(): operations are functions; say clamp(x, low, high)", "error")));
#else
  static Unusable<error::not_possible<error::another_name, error::say_x_transpose>> T;
  template <class... A, class why = error::not_possible<error::place_is_part_of_the_type, error::say_to_Cuda>>
  Tensor<float, Cuda> cuda(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::place_is_part_of_the_type, error::say_to_Cpu>>
  Tensor<float, Cpu> cpu(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::detach_is_called_value, error::say_x_value>>
  Tensor<float, D> detach(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::a_view_is_called_reshape, error::say_x_reshape_2_3_in_braces>>
  Tensor<float, D> view(const A&...) const = delete;
  template <class why = error::not_possible<error::a_view_is_called_reshape, error::say_x_reshape_2_3_in_braces>>
  Tensor<float, D> view(std::initializer_list<std::int64_t>) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_transpose>>
  Tensor<float, D> t(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::elements_are_read_by_the_host, error::say_x_data_or_io_save_npy_path_x>>
  Tensor<float, D> numpy(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_rank>>
  Tensor<float, D> dim(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_rank>>
  Tensor<float, D> ndim(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_elements>>
  Tensor<float, D> numel(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_shape>>
  Tensor<float, D> sizes(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_size_0>>
  Tensor<float, D> rows(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_size_1>>
  Tensor<float, D> cols(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_clone>>
  Tensor<float, D> copy(const A&...) const = delete;
  template <class U, class... A, class why = error::not_possible<error::another_name, error::say_x_as_double>>
  Tensor<float, D> astype(const A&...) const = delete;
  template <class U, class why = error::not_possible<error::another_name, error::say_x_data>>
  Tensor<float, D> data_ptr() const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_fill_0>>
  Tensor<float, D> zero_(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_plus_equals_y>>
  Tensor<float, D> add_(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_minus_equals_y>>
  Tensor<float, D> sub_(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::another_name, error::say_x_times_equals_y>>
  Tensor<float, D> mul_(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::gradients_are_collected_for_another_type, error::say_variable_x>>
  Tensor<float, D> requires_grad_(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_sum_x_axis>>
  Tensor<float, D> sum(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_mean_x_axis>>
  Tensor<float, D> mean(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_stddev_x_axis>>
  Tensor<float, D> std(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_max_x_axis>>
  Tensor<float, D> max(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_min_x_axis>>
  Tensor<float, D> min(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_argmax_x_axis>>
  Tensor<float, D> argmax(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_argmin_x_axis>>
  Tensor<float, D> argmin(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::reductions_are_functions, error::say_norm_x_axis>>
  Tensor<float, D> norm(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_abs_x>>
  Tensor<float, D> abs(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_exp_x>>
  Tensor<float, D> exp(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_log_x>>
  Tensor<float, D> log(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_sqrt_x>>
  Tensor<float, D> sqrt(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_relu_x>>
  Tensor<float, D> relu(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_sigmoid_x>>
  Tensor<float, D> sigmoid(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_tanh_x>>
  Tensor<float, D> tanh(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_pow_x_2>>
  Tensor<float, D> pow(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_softmax_x_axis>>
  Tensor<float, D> softmax(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_matmul_x_y>>
  Tensor<float, D> matmul(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_matmul_x_y>>
  Tensor<float, D> mm(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::operations_are_functions, error::say_clamp_x_low_high>>
  Tensor<float, D> clamp(const A&...) const = delete;
#endif
};

struct OtherNamesOfModels {
#if LOCUS_CLANG_REFUSES
  template <class... A>
  void eval(const A&...) const __attribute__((diagnose_if(true, ".eval(): a model has no mode; model(x) is inference where x is a plain tensor", "error")));
  template <class... A>
  void train(const A&...) const __attribute__((diagnose_if(true, ".train(): a model has no mode; model(trace(x)) is training", "error")));
  template <class... A>
  void cuda(const A&...) const __attribute__((diagnose_if(true, ".cuda(): the place is part of the type; say auto moved = std::move(model).to<Cuda>()", "error")));
  template <class... A>
  void cpu(const A&...) const __attribute__((diagnose_if(true, ".cpu(): the place is part of the type; say auto moved = std::move(model).to<Cpu>()", "error")));
#else
  template <class... A, class why = error::not_possible<error::a_model_has_no_mode, error::model_x_is_inference_where_x_is_plain>>
  void eval(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::a_model_has_no_mode, error::model_trace_x_is_training>>
  void train(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::place_is_part_of_the_type, error::say_std_move_model_to_Cuda>>
  void cuda(const A&...) const = delete;
  template <class... A, class why = error::not_possible<error::place_is_part_of_the_type, error::say_std_move_model_to_Cpu>>
  void cpu(const A&...) const = delete;
#endif
};
LOCUS_REFUSALS_END
// clang-format on

}}}  // namespace locus::LOCUS_ABI::detail
