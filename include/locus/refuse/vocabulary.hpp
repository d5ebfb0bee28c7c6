#pragma once
// The names that compile errors are made of.

#include <locus/core/place.hpp>
#include <locus/refuse/words.hpp>

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
struct distribution_is_on;
template <class D>
struct value_is_on;
template <class D>
struct labels_are_on;
template <class D>
struct tables_are_on;
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
template <class T>
struct value_holds;

struct move_one_with_to_Cpu_or_to_Cuda;
struct copy_with_to_Cpu_or_to_Cuda;
struct move_the_input_with_to_D;
struct copy_to_host_first_with_to_Cpu;
struct pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda;
struct convert_one_with_as_T;
struct convert_with_as_float;
struct take_real_x_or_imag_x_or_abs_x;
struct convert_with_as_std_int64_t;
struct refused;  ///< return type of refused functions in clang: never defined
struct operation_on_parameters_alone;
struct probabilities_or_logits;
struct say_Probs_p_or_Logits_x;
struct say_trace_w_or_w_value_or_seen_by_x_w;
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
template <class X>
struct no_structure_of_tensors;
struct pass_a_batch_or_a_Tuple_pair_vector_or_array_of_tensors_or_an_aggregate_with_the_device_as_template_parameter;
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
template <class S>
struct samples_do_not_begin_with_floating_point_images;
template <class S>
struct samples_are_no_labelled_images;
struct make_data_LabelledImages_of_bytes;
template <class F>
struct no_transform_of_images;
struct give_functions_of_tensors_to_data_map_dataset_f;
template <class F>
struct function_takes_other_samples;
struct give_it_an_auto_for_each_field;
template <class F>
struct function_returns_no_tensor_of_the_host;
struct return_x_or_Tuple_x_y;
template <class L>
struct loss_takes_other_targets_than_the_batch_holds;
template <class L>
struct loss_takes_other_targets_than_the_loader_delivers;
struct convert_them_with_data_map_or_take_another_loss;
struct source_records_gradients;
struct source_is_not_traced;
struct trace_it_with_trace_x;
template <class T>
struct condition_holds;
struct compare_first_as_in_x_greater_0;
struct take_its_only_element_with_item;
template <class F>
struct function_holds_what_does_not_travel_to_a_kernel;
struct hold_numbers_and_pass_tensors_as_operands;
template <class F>
struct activation_is_no_function_of_one_number;
struct give_it_operator_call_and_let_it_hold_numbers_alone;
struct a_tensor_as_a_condition;
struct say_all_x_item_or_any_x_item;
struct a_tensor_as_a_number;
struct options_are_named;
struct say_lr_in_braces;
struct a_model_instead_of_its_parameters;
struct place_is_no_element_type;
struct convert_elements_with_as;
struct a_list_of_different_types;
struct write_the_axis_first_without_braces_as_in_concat_0_x_y;
struct layer_without_forward;
struct layer_has_no_forward_that_takes_this_argument;
struct the_argument_is_a_list_of_numbers_not_a_tensor;
struct make_a_tensor_of_it_with_from_v;
struct mask_of_integers;
struct write_mask_not_equal_0;
template <class D>
struct cache_is_on;
struct make_the_cache_with_model_cache;
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
struct tensor_is_still_being_copied;
struct say_std_move_x_ordered_or_wait;
struct copy_to_pinned_first_with_to_Pinned;
template <class D>
struct copy_is_on;
template <class D>
struct stream_is_on;
struct make_the_stream_for_the_device_of_the_copy;
template <class D>
struct generator_is_on;
struct make_the_generator_for_the_device_of_the_tensor;
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
template <class D>
struct communicator_is_on;
struct move_the_tensor_or_make_the_communicator_for_its_device;
template <class D>
struct replica_is_on;
struct move_the_model_with_std_move_model_to_D;
struct collective_of_a_traced_tensor_or_parameter;
struct mean_of_integers;
struct sum_them_or_convert_with_as_float;
struct move_the_model_or_make_the_communicator_for_its_device;
template <class D>
struct scaler_is_on;
template <class D>
struct loss_is_on;
struct make_the_scaler_for_the_device_of_the_loss;
struct make_the_scaler_for_the_device_of_the_optimizer;
template <class T>
struct loss_of_16_bits_has_no_room_for_the_scale;
struct compute_it_in_float_of_model_x_as_float;
struct gradients_of_half_need_a_GradScaler;
struct pass_scaler_with_optimizer_in_place_of_the_optimizer;
struct a_scaler_instead_of_an_optimizer;
struct pass_scaler_with_optimizer;
struct say_scaler_step_optimizer;

// Usage of a function or a class, for calls that match no overload.
struct layer_without_its_types;
struct arguments_are_exchanged;
struct write_the_logits_first_then_the_labels;
struct size_of_all_dimensions;
struct say_x_elements_or_x_shape;
struct another_name;
struct say_x_transpose;
struct type_is_that_of_the_elements;
struct say_x_item;
struct a_parameter_instead_of_a_list;
struct write_it_in_braces_as_in_optim_Adam_w;
struct a_schedule_without_an_optimizer_before_it;
struct say_optim_Scheduler_optimizer_schedule;
struct write_its_element_type_and_device_as_in_nn_Linear_float_Cpu;

}  // namespace locus::error
