#pragma once
// Types that describe the mistakes of a call, and the vocabulary of their compile errors.
//
// refuse/ holds all refusals: overloads that exist to reject a mistaken call with a clear message. operands.inc and
// if.inc declare them; the other files here do so for functions of one kind. Subfolders mirror the headers:
// ops/join.hpp includes its refusals from refuse/ops/join.inc. *_mistakes.inc hold the types that describe mistakes,
// *_class.inc the refusals within a class.

#include <locus/core/place.hpp>

/// The vocabulary of compile errors: types that are never defined. `why` of a deleted function names the mistake, the
/// place of each argument and the remedy.
namespace locus::error {

template <class What, class... Details>
struct device_mismatch;
template <class What, class... Details>
struct dtype_mismatch;
template <class What, class... Details>
struct not_possible;

template <class D>
struct left_is_on;
template <class D>
struct right_is_on;
template <class D>
struct source_is_on;
template <class D>
struct target_is_on;
template <class D>
struct tensor_is_on;
template <class D>
struct model_is_on;
template <class D>
struct input_is_on;
template <class D>
struct labels_are_on;
template <class D>
struct weights_are_on;
template <class D>
struct bias_is_on;
template <class D>
struct residual_is_on;
template <class D>
struct statistics_are_on;
template <class D>
struct indices_are_on;
template <class T>
struct left_holds;
template <class T>
struct right_holds;
template <class T>
struct tensor_holds;
template <class T>
struct labels_hold;
template <class T>
struct indices_hold;

struct move_one_with_to_Cpu_or_to_Cuda;
struct copy_with_to_Cpu_or_to_Cuda;
struct move_the_input_with_to_D;
struct copy_to_host_first_with_to_Cpu;
struct pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda;
struct convert_one_with_as_T;
struct convert_with_as_float;
struct convert_with_as_std_int64_t;
struct refused;  ///< return type of refused functions in clang: never defined
struct operation_on_parameters_alone;
struct say_trace_w_or_w_value_or_seen_by_x_w;
struct backward_of_a_plain_tensor;
template <class F>
struct scalar_function_without_a_derivative;
struct give_it_by_output_or_by_input_or_by_inputs_or_pullback;
template <class D>
struct network_is_on;
template <class D>
struct layer_is_on;
template <class D>
struct optimizer_is_on;
template <class D>
struct parameters_are_on;
template <class D>
struct flag_is_on;
struct compute_the_flag_where_the_gradients_are;
struct groups_on_several_devices_or_of_several_element_types;
struct make_an_optimizer_for_each;
struct make_all_layers_on_one_device;
struct make_the_optimizer_for_the_device_of_the_parameters;
struct trace_the_input_first_with_trace_x;
struct a_tensor_is_no_data_set;
struct make_data_TensorDataset_of_x_and_y;
template <class S>
struct data_set_without_size;
struct write_std_int64_t_size_const;
template <class S>
struct data_set_without_fields;
struct write_data_Fields_fields_const;
template <class S>
struct data_set_without_write_for_its_fields;
struct write_void_write_std_int64_t_i_Span_of_each_field_const;
template <class S>
struct data_set_with_another_at_epoch;
struct write_at_epoch_of_uint64_const_that_returns_the_data_set;
template <class D>
struct data_set_of_tensors_that_are_not_plain_ones_on;
struct data_sets_hold_other_element_types;
struct map_one_with_data_map_dataset_f;
template <class S>
struct samples_do_not_begin_with_floating_point_images;
template <class S>
struct samples_are_no_labelled_images;
struct make_data_LabelledImages_of_bytes;
template <class F>
struct no_transform_of_images;
struct no_gradient_goes_through_mixup;
struct mix_plain_images_then_trace;
struct give_functions_of_tensors_to_data_map_dataset_f;
template <class F>
struct function_takes_other_samples;
struct give_it_an_auto_for_each_field;
template <class F>
struct function_returns_no_tensor_of_the_host;
struct return_x_or_Tuple_x_y;
template <class L>
struct loss_takes_other_targets_than_the_loader_delivers;
struct convert_them_with_data_map_or_take_another_loss;
struct evaluate_on_something_else_than_a_loader_or_a_data_set;
struct fit_with_something_else_than_named_loaders;
struct train_step_on_something_else_than_a_batch;
struct make_a_loader_with_data_loader_and_name_it;
struct take_it_from_a_loader_in_a_range_for;
struct evaluate_a_function_without_a_device_on_a_data_set;
struct pass_a_loader_for_its_device;
struct assignment_to_a_temporary_view;
struct write_through_a_view_with_copy_;
struct in_place_on_a_traced_tensor;
struct change_its_value_x_value;
struct class_weights_collect_no_gradient;
struct take_their_value_x_value;
struct source_records_gradients;
struct take_its_value_x_value;
struct source_is_not_traced;
struct trace_it_with_trace_x;
struct in_place_on_a_pending_expression;
struct name_it_as_a_Tensor;
struct in_place_on_a_parameter;
struct let_an_optimizer_change_it_or_w_value;
template <class T>
struct condition_holds;
struct compare_first_as_in_x_greater_0;
struct bits_of_floating_point_numbers;
struct shift_of_what_is_no_integer;
struct write_a_and_and_b_for_what_is_not_0;
struct write_a_or_or_b_for_what_is_not_0;
struct write_not_x_for_what_is_0;
struct a_power_is_pow_a_b;
struct multiply_by_exp2_b;
struct divide_by_exp2_b;
struct number_changed_by_a_tensor;
struct take_its_only_element_with_item;
struct in_place_with_a_traced_operand;
struct variable_of_a_parameter;
template <class F>
struct function_holds_what_does_not_travel_to_a_kernel;
struct hold_numbers_and_pass_tensors_as_operands;
template <class F>
struct activation_is_no_function_of_one_number;
struct give_it_operator_call_and_let_it_hold_numbers_alone;
struct a_tensor_as_a_condition;
struct say_all_x_item_or_any_x_item;
struct a_tensor_as_a_number;
struct place_is_part_of_the_type;
struct say_to_Cpu;
struct say_to_Cuda;
struct detach_is_called_value;
struct say_x_value;
struct reductions_are_functions;
struct say_sum_x_axis;
struct say_mean_x_axis;
struct a_view_is_called_reshape;
struct say_x_reshape_2_3_in_braces;
struct options_are_named;
struct write_them_in_braces_as_in_correction_1_keepdim_true;
struct say_lr_in_braces;
struct target_is_not_said;
struct say_copy_async_x_Pinned;
struct a_model_instead_of_its_parameters;
struct pass_model_parameters;
struct gradient_of_a_plain_tensor;
struct make_it_a_variable_x;
struct trace_of_a_traced_tensor;
struct use_it_as_it_is;
struct variable_of_a_traced_tensor;
struct requires_grad_asks;
struct to_set_it_call_requires_grad_;
struct true_or_false_is_the_argument_of_requires_grad_;
struct say_false_or_true_to_requires_grad_;
struct true_or_false_comes_first_in_requires_grad_;
struct say_true_and_fc_to_requires_grad_;
struct frozen_of_a_plain_tensor;
struct place_chosen_at_run_time;
struct say_to_Cpu_or_to_Cuda_or_use_with_device;
struct place_is_no_memory_format;
struct say_x_channels_last;
struct place_is_no_element_type;
struct convert_elements_with_as;
struct result_type_depends_on_the_device;
struct return_one_type_for_every_device;
struct element_of_a_traced_tensor_or_parameter;
struct take_its_value_first_x_value;
struct element_of_a_pending_expression;
struct a_shape_without_braces;
struct write_it_in_braces_as_in_2_3;
struct no_axis_is_named;
struct name_one_as_in_x_1_or_minus_1_for_the_last;
struct elements_that_must_not_be_written;
struct copy_them_by_from_values_shape;
struct integers_counted_by_floating_point_numbers;
struct give_integers_or_convert_with_as_int;
struct axes_without_braces;
struct write_them_in_braces_as_in_1_0;
struct a_list_of_different_types;
struct write_the_axis_first_without_braces_as_in_concat_0_x_y;
struct indexing_with_brackets;
struct say_x_i_for_an_element_or_select_for_a_part;
struct layer_without_forward;
struct layer_has_no_forward_that_takes_this_argument;
struct write_auto_forward_const_auto_x_const;
template <class D>
struct batches_are_on;
struct make_the_loader_for_the_device_of_the_model;
struct make_the_optimizer_for_the_model;
template <class M>
struct layer_without_members;
struct list_them_in_public_void_members_const_auto_visit_const;
struct members_are_private_or_not_const;
struct write_public_void_members_const_auto_visit_const;
template <class D>
struct member_is_on;
struct member_is_a_tensor;
struct member_is_no_parameter_and_no_layer;
struct list_what_it_holds;
template <class D>
struct state_is_on;
struct load_it_where_the_model_is_or_move_it_with_to_D;
struct make_it_a_Parameter_or_an_nn_Buffer;
struct load_it_where_the_optimizer_is_or_move_it_with_to_D;
struct formula_of_fuse_names_a_tensor;
struct formula_of_fuse_takes_other_arguments;
struct give_it_one_auto_parameter_for_each_tensor;
struct pass_every_tensor_as_an_argument_of_fuse;
struct tensor_is_still_being_copied;
struct say_std_move_x_ordered_or_wait;
struct copy_to_pinned_first_with_to_Pinned;
struct function_returns_a_pending_expression;
struct step_returns_a_pending_expression;
struct step_returns_no_tensor;
struct say_the_device_capture_Cuda_step;
struct return_x_eval;
struct copy_is_used_up_when_ordered;
struct copy_is_used_up_when_waited_for;
struct page_locked_memory_is_read_by_the_host;
struct say_std_move_x_wait;
template <class D>
struct copy_is_on;
template <class D>
struct stream_is_on;
struct make_the_stream_for_the_device_of_the_copy;
template <class D>
struct generator_is_on;
struct make_the_generator_for_the_device_of_the_tensor;
struct model_moved_without_std_move;
struct say_std_move_model_to_D;
template <class M>
struct layer_without_twin;
struct write_template_class_U_class_E_auto_twin_const_return_Layer_U_E;
template <class D>
struct gradient_is_on;
template <class D>
struct hook_takes_one_on;
template <class X>
struct hook_does_not_take_this;
struct write_const_auto_gradient;
struct hook_returns_something;
struct return_nothing_and_change_the_gradient_in_place;
struct function_does_not_take_these_tensors;
struct write_const_auto_x_for_each;
struct function_returns_no_tensor;
struct return_the_tensor_that_it_computes;
struct collective_is_used_up_when_ordered;
struct collective_is_used_up_when_waited_for;
struct collective_is_still_in_flight;
template <class D>
struct communicator_is_on;
struct move_the_tensor_or_make_the_communicator_for_its_device;
template <class D>
struct replica_is_on;
struct move_the_model_with_std_move_model_to_D;
struct collective_of_a_traced_tensor_or_parameter;
struct mean_of_integers;
struct sum_them_or_convert_with_as_float;
struct collective_in_place_on_a_pending_expression;
struct move_the_model_or_make_the_communicator_for_its_device;
struct distributed_something_else_than_a_model;
struct pass_a_model_that_lists_its_members;
template <class D>
struct scaler_is_on;
template <class D>
struct loss_is_on;
struct make_the_scaler_for_the_device_of_the_loss;
struct make_the_scaler_for_the_device_of_the_optimizer;
struct loss_is_not_traced;
template <class T>
struct loss_of_16_bits_has_no_room_for_the_scale;
struct compute_it_in_float_of_model_x_as_float;
struct a_scaled_loss_is_no_tensor;
struct read_the_loss_itself;
struct change_the_loss_before_as_in_scaler_scale_loss_times_2;
struct clip_the_gradients_of_parameters_after_scaler_unscale_optimizer;
struct say_scaled_loss_backward_then_scaler_step_optimizer;
struct gradients_of_half_need_a_GradScaler;
struct say_scaler_scale_loss_backward_then_scaler_step_optimizer;
struct pass_scaler_with_optimizer_in_place_of_the_optimizer;
struct a_scaler_instead_of_an_optimizer;
struct a_scaler_instead_of_a_flag;
struct pass_scaler_with_optimizer;
struct say_scaler_step_optimizer;

// Usage of a function or a class, for calls that match no overload.
struct no_such_option_or_argument;
struct layer_without_its_types;
struct say_x_or_x_axis_or_x_axes_in_braces_and_true_to_keep_them;
struct say_nn_load_state_dict_model_io_load_Cpu_path;
struct include_locus_ops_sort_hpp;
struct include_locus_ops_order_statistics_hpp;
struct include_locus_ops_unique_hpp;
struct include_locus_ops_einsum_hpp;
struct include_locus_ops_histogram_hpp;
struct include_locus_ops_cdist_hpp;
struct include_locus_ops_isin_hpp;
struct include_locus_ops_interp_hpp;
struct include_locus_ops_cross_hpp;
struct include_locus_ops_cov_hpp;
struct include_locus_ops_masked_select_hpp;
struct include_locus_ops_multinomial_hpp;
struct include_locus_linalg_linalg_hpp;
struct include_locus_models_resnet_hpp;
struct include_locus_models_gpt2_hpp;
struct include_locus_models_lenet5_hpp;
struct include_locus_models_mlp_hpp;
struct its_header_is_missing;
struct include_locus_io_safetensors_hpp;
struct include_locus_io_npy_hpp;
struct include_locus_io_training_hpp;
struct no_such_form_or_its_header_is_missing;
struct optimizer_without_all_that_fit_asks;
struct give_it_value_type_device_type_parameters_zero_grad_step_lr;
struct arguments_are_exchanged;
struct write_the_logits_first_then_the_labels;
struct size_of_all_dimensions;
struct say_x_elements_or_x_shape;
struct another_name;
struct say_x_transpose;
struct elements_are_read_by_the_host;
struct say_x_data_or_io_save_npy_path_x;
struct type_is_that_of_the_elements;
struct say_x_item;
struct say_x_rank;
struct say_x_elements;
struct say_x_shape;
struct say_x_size_0;
struct say_x_size_1;
struct say_x_clone;
struct say_x_as_double;
struct say_x_data;
struct say_x_fill_0;
struct say_x_plus_equals_y;
struct say_x_minus_equals_y;
struct say_x_times_equals_y;
struct gradients_are_collected_for_another_type;
struct say_variable_x;
struct say_stddev_x_axis;
struct say_max_x_axis;
struct say_min_x_axis;
struct say_argmax_x_axis;
struct say_argmin_x_axis;
struct say_norm_x_axis;
struct operations_are_functions;
struct say_abs_x;
struct say_exp_x;
struct say_log_x;
struct say_sqrt_x;
struct say_relu_x;
struct say_sigmoid_x;
struct say_tanh_x;
struct say_pow_x_2;
struct say_softmax_x_axis;
struct say_matmul_x_y;
struct say_clamp_x_low_high;
struct a_model_has_no_mode;
struct model_x_is_inference_where_x_is_plain;
struct model_trace_x_is_training;
struct a_parameter_instead_of_a_list;
struct write_it_in_braces_as_in_optim_Adam_w;
struct a_schedule_without_an_optimizer_before_it;
struct say_optim_Scheduler_optimizer_schedule;
struct loss_returns_a_number_or_a_plain_tensor;
struct return_a_tensor_computed_from_the_prediction;
struct a_layer_is_named_as_after_the_move;
struct name_layers_as_they_are_before_it;
struct say_std_move_model_to_Cuda;
struct say_std_move_model_to_Cpu;
struct write_its_element_type_and_device_as_in_nn_Linear_float_Cpu;
struct the_options_are_lr_alpha_eps_weight_decay_momentum_centered_maximize;
struct loader_without_a_device;
struct make_it_of_entries_features_and_options_padding_idx;
struct make_it_of_features_and_options_eps_momentum_affine_track_running_stats;
struct make_it_of_groups_channels_eps_affine;
struct make_it_of_in_out_kernel_and_options_stride_padding_dilation_groups_bias_padding_mode;
struct make_it_of_in_out_kernel_and_options_stride_padding_dilation_groups_bias_padding_mode_exact;
struct make_it_of_in_out_kernel_and_options_stride_padding_output_padding_groups_bias_dilation_exact;
struct make_it_of_in_out_with_bias;
struct make_it_of_kernel_stride_padding_and_options_ceil_mode_count_include_pad_divisor_override;
struct make_it_of_kernel_stride_padding_and_options_dilation_ceil_mode;
struct make_it_of_weights_and_options_reduction_ignore_index;
struct make_it_of_weights_and_options_reduction_ignore_index_label_smoothing;
struct make_it_of_nn_PosWeight_and_options_reduction;
struct make_it_of_width_eps_elementwise_affine;
struct make_it_of_width_heads_and_options_dropout_bias_kdim_vdim;
struct say_data_loader_Cpu_dataset;
struct say_data_loader_D_dataset_with_options_batch_size_shuffle_drop_last_seed_ahead_workers;
struct
    say_fit_model_optimizer_loss_train_valid_history_with_options_epochs_first_epoch_capture_report_every_accumulate_before_step_after_step_peak_scheduler_schedule_every_early_stopping_on_progress_on_epoch;
struct say_x_axes_with_options_correction_keepdim;
struct say_logits_labels_with_options_reduction_ignore_index_label_smoothing;
struct the_options_are_lr_beta1_beta2_eps_weight_decay_amsgrad_maximize;
struct the_options_are_lr_beta1_beta2_weight_decay_maximize;
struct the_options_are_lr_lr_decay_weight_decay_initial_accumulator_value_eps_maximize;
struct the_options_are_lr_momentum_dampening_weight_decay_nesterov_maximize;

}  // namespace locus::error

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The kind of mistake in a call; operands_in_clang.inc has clang's messages.
enum class Wrong {
  nothing,
  places,
  memory,
  parameters,
  types,
  integers,
  exchanged,
  indices,
  condition,
  recorded,
  untraced,
  in_flight,
  no_forward,
  no_such_forward,
  hidden_members,
  no_members,
  no_twin,
  tensor_as_member,
  other_member,
  half_unscaled,
  scaler_alone
};

/// Has no `why`, so that refusing constructors drop out by SFINAE. Refusing functions drop out by `requires(refuses)`
/// and name why_or_void: g++ would report a missing `why` as an error when it lists candidates. (`refuses` is a bool:
/// comparing values of Wrong would look up operator !=, whose refusal is being checked.)
struct NoMistake {
  static constexpr Wrong wrong = Wrong::nothing;
  static constexpr bool refuses = false;
  using why_or_void = void;
};
/// g++ and nvcc print `Why`. Left and Right are the conflicting places or element types.
template <Wrong kind, class Why, class Left = void, class Right = void>
struct MistakeOf {
  static constexpr Wrong wrong = kind;
  static constexpr bool refuses = true;
  using why = Why;
  using why_or_void = Why;
  using left = Left;
  using right = Right;
};

struct NoTypes;  ///< stands for omitted template arguments of a layer

/// Converts from an argument of any type: see refuse/usage.inc.
template <class Why = void>
struct Given {
  template <class X>
  Given(const X&)
#if LOCUS_NVCC
      = delete
#endif
      ;
};

/// Conflicting element types.
template <class L, class R>
struct TypeMistake
    : MistakeOf<Wrong::types,
                error::dtype_mismatch<error::left_holds<L>, error::right_holds<R>, error::convert_one_with_as_T>, L,
                R> {};

/// The first of M... that is a mistake, or none.
template <class... M>
struct FirstMistake : NoMistake {};
template <class M, class... Rest>
struct FirstMistake<M, Rest...> : std::conditional_t<M::wrong != Wrong::nothing, std::type_identity<M>,
                                                     std::type_identity<FirstMistake<Rest...>>>::type {};

/// The first of several types that has a place, or void.
template <class... X>
struct FirstWithPlace {
  using type = void;
};
template <class X, class... Rest>
struct FirstWithPlace<X, Rest...> : FirstWithPlace<Rest...> {};
template <HasPlace X, class... Rest>
struct FirstWithPlace<X, Rest...> {
  using type = std::remove_cvref_t<X>;
};
template <class... X>
using first_with_place_t = typename FirstWithPlace<X...>::type;

template <class M, Wrong kind>
concept IsWrong = M::wrong == kind;
template <class M, class Left, class Right>
concept WrongPlaces =
    M::wrong == Wrong::places && std::is_same_v<typename M::left, Left> && std::is_same_v<typename M::right, Right>;
template <class M, class Left, class Right>
concept WrongTypes =
    M::wrong == Wrong::types && std::is_same_v<typename M::left, Left> && std::is_same_v<typename M::right, Right>;
template <class... X>
inline constexpr bool is_shipped =
    ((std::is_same_v<X, Cpu> || std::is_same_v<X, Cuda> || std::is_same_v<X, Pinned>)&&...);
template <class M>
concept WrongTypesUnnamed =
    M::wrong == Wrong::types && !((WrongTypes<M, float, double> || WrongTypes<M, double, float>) ||
                                  (WrongTypes<M, float, std::int64_t> || WrongTypes<M, std::int64_t, float>));
template <class M>
concept WrongPlacesElsewhere = M::wrong == Wrong::places && !WrongPlaces<M, Cpu, Cuda> && !WrongPlaces<M, Cuda, Cpu>;
template <class M>
concept WrongPlacesOfYours = M::wrong == Wrong::places && !is_shipped<typename M::left, typename M::right>;

}}}  // namespace locus::LOCUS_ABI::detail

// clang does not print why a function was deleted, but prints the text of diagnose_if, or of LOCUS_UNAVAILABLE("...")
// for constructors; the message of the latter begins with their name. diagnose_if is spelled out at each use, because
// clang adds three lines to an error for a macro.
#if defined(__clang__) && !LOCUS_NVCC
#define LOCUS_CLANG_REFUSES 1
#define LOCUS_UNAVAILABLE(text) __attribute__((unavailable(text)))
#define LOCUS_REFUSALS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")
#define LOCUS_REFUSALS_END _Pragma("clang diagnostic pop")
#else
#define LOCUS_CLANG_REFUSES 0
#define LOCUS_REFUSALS_BEGIN
#define LOCUS_REFUSALS_END
#endif
