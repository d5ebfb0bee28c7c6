"""docs/compile-errors.md, the catalogue of compile errors: each mistake with the wrong code, the compilers' messages,
the reason and the fix, and an index of the messages. It is generated from tests/compile_fail; compile_fail.py compares
it with the messages that compilers just printed.

The rules themselves, docs/placement.md, are written by hand; their examples are lines of these cases.
"""

import re

import common

PAGE = common.ROOT / "docs" / "compile-errors.md"
RULES_PAGE = common.ROOT / "docs" / "placement.md"
COMPILERS = {"gcc": "g++ 12", "clang": "clang 14"}

# The subjects in reading order: title, rule, and the mistakes against it, which are files of tests/compile_fail. The
# last list is shown in a table, with clang's messages alone.
SUBJECTS = [
    ("Operands",
     "An operation runs on one device, and reads and writes memory of that device alone.",
     ["add_cpu_cuda", "multiply_cuda_cpu", "matmul_across_devices", "einsum_across_devices", "where_mixed", "fuse_across_devices",
      "own_function"],
     ["solve_across_devices", "stft_window_elsewhere", "clamp_mixed", "maximum_across_devices", "concat_across_devices",
      "concat_in_braces_across_devices", "elementwise_across_devices",
      "index_select_elsewhere", "gather_elsewhere", "scatter_elsewhere", "repeats_elsewhere", "embedding_indices_elsewhere"]),
    ("Copies between places",
     "`x.to<Cuda>()` and `x.to<Cpu>()` are the only copies of tensors between devices. Construction, assignment and "
     "in-place operations make none.",
     ["construction", "assignment", "copy_into", "update_from_elsewhere", "to_a_place_known_at_run_time",
      "result_depends_on_the_device"],
     ["called_cuda", "called_cpu", "argument_elsewhere", "traced_elsewhere", "parameter_elsewhere", "buffer_of_another_place", "to_an_element_type", "to_a_memory_format", "assign_to_view"]),
    ("Models, losses and optimizers",
     "A training step reads memory of the model's device: the batch, the labels, the class weights, the optimizer's "
     "state.",
     ["layer_elsewhere", "network_elsewhere", "model_of_two_devices", "labels_elsewhere", "class_weights_elsewhere",
      "target_elsewhere", "criterion_elsewhere", "optimizer_elsewhere", "groups_of_two_devices", "optimizer_of_groups_on_two_devices", "skip_flag_elsewhere", "state_elsewhere", "model_moved", "fit_elsewhere", "fit_with_another_optimizer", "own_layer_mixes"],
     ["resnet_elsewhere", "network_of_a_layer_that_mixes", "push_a_layer_that_mixes", "evaluate_a_layer_that_mixes", "fit_a_layer_that_mixes",
      "layer_in_a_template", "bias_elsewhere", "conv_weights_elsewhere", "conv_bias_elsewhere", "conv3d_weights_elsewhere", "conv3d_bias_elsewhere", "grid_elsewhere", "bag_offsets_elsewhere", "positions_elsewhere", "variance_elsewhere", "layer_norm_weight_elsewhere", "group_norm_bias_elsewhere", "prelu_slopes_elsewhere", "batch_norm_elsewhere", "residual_elsewhere", "running_statistics_elsewhere", "seen_by_elsewhere", "cotangent_elsewhere", "step_on_a_batch_elsewhere", "validate_elsewhere", "fit_with_a_loss_elsewhere", "triplet_elsewhere", "ctc_lengths_elsewhere",  "attention_elsewhere", "attention_mask_elsewhere", "cache_elsewhere", "cached_tokens_elsewhere", "generate_with_a_cache_elsewhere", "linear_cross_entropy_weights_elsewhere", "linear_cross_entropy_targets_elsewhere", "linear_cross_entropy_bias_elsewhere", "gpt2_next_tokens_elsewhere", "llama_next_tokens_elsewhere", "rotary_tables_elsewhere", "with_weights_elsewhere", "recurrent_state_elsewhere", "packed_sequence_elsewhere", "pos_weight_elsewhere",
      "criterion_labels_elsewhere", "criterion_weights_elsewhere",
      "evaluate_elsewhere", "update_bn_elsewhere", "accuracy_elsewhere", "hook_elsewhere", "checkpoint_elsewhere", "optimizer_state_elsewhere", "generator_elsewhere", "dropout_with_a_generator_elsewhere", "normals_elsewhere", "bernoulli_elsewhere", "distribution_elsewhere", "distribution_value_elsewhere"]),
    ("Elements on the host",
     "Reading an element, iterating and printing need memory that the host can reach.",
     ["element_of_cuda", "iterate_cuda", "print_cuda"],
     ["tensor_as_a_condition", "number_of_a_tensor", "number_plus_tensor", "brackets", "element_of_an_expression", "element_of_a_traced_tensor", "iterate_a_traced_tensor"]),
    ("Pinned memory",
     "`Tensor<T, Pinned>` is page-locked host memory, the only host memory that an asynchronous copy reads. No "
     "operation computes in it.",
     ["pinned_arithmetic", "copy_async_from_pageable_memory"],
     ["gelu_of_pinned", "initial_values_of_pinned", "pool_of_pinned", "layer_on_pinned", "concat_of_pinned", "stack_of_pinned", "unique_of_pinned", "copy_async_of_traced",
      "copy_async_to_nowhere", "copy_async_to_nowhere_in_a_stream"]),
    ("Copies in flight",
     "`copy_async` returns a `Pending<Tensor<T, D>>`. `std::move(x).ordered()` is the tensor for later work of this "
     "thread's stream; `std::move(x).wait()` blocks the host until the copy is done.",
     ["in_flight_operand", "in_flight_as_tensor", "in_flight_labels", "in_flight_element", "stream_elsewhere"],
     ["in_flight_function", "sort_in_flight", "in_flight_input", "in_flight_assigned", "in_flight_traced", "in_flight_variable",
      "in_flight_frozen", "in_flight_checkpoint", "in_flight_printed",
      "in_flight_not_moved", "in_flight_not_moved_to_wait", "in_flight_to_the_host_ordered", "ordered_elsewhere",
      "with_stream_of_an_expression"]),
    ("Collectives",
     "A `dist::Communicator<D>` moves and combines tensors of D, and records nothing. An asynchronous collective "
     "returns a `dist::Handle`; `std::move(x).ordered()` or `std::move(x).wait()` makes it a tensor.",
     ["collective_elsewhere", "gathered_elsewhere", "collective_of_traced", "mean_of_integers_over_ranks",
      "collective_in_flight_operand"],
     ["synchronized_elsewhere", "data_parallel_elsewhere", "data_parallel_input_elsewhere", "collective_of_a_parameter", "collective_of_an_expression", "collective_in_flight_again", "collective_in_flight_not_moved",
      "sent_from_pinned"]),
    ("Values spread over ranks",
     "`Over<Tensor<float>, Varying<Data>>` says how the tensors of ranks are related along an axis. Sums over ranks that "
     "are missing, made twice or along another axis would give other values, or other gradients.",
     ["spread_all_reduce_along_another_axis", "spread_all_reduce_of_replicated", "spread_backward_of_replicated",
      "spread_backward_of_varying", "spread_bias_of_partial", "spread_dropout_without_numbers",
      "spread_item_of_partial", "spread_model_backward_of_partial", "spread_model_of_replicated",
      "spread_parameter_with_varying", "spread_partial_plus_varying", "spread_relu_of_partial",
      "spread_state_of_part", "spread_unlabelled_operand"],
     ["spread_activation_of_partial", "spread_all_gather_of_partial", "spread_all_gather_of_replicated",
      "spread_all_gather_without_a_dimension", "spread_all_reduce_along_varying",
      "spread_all_reduce_of_varying", "spread_all_reduce_twice", "spread_all_to_all_of_replicated",
      "spread_along_no_axis", "spread_backward_from_another_gradient", "spread_backward_of_plain",
      "spread_batch_norm_of_invariant_statistics", "spread_batch_norm_of_unlabelled_statistics",
      "spread_bias_in_linear_of_partial", "spread_collective_elsewhere", "spread_concat_of_partial",
      "spread_dropout_of_invariant", "spread_dropout_of_unnamed_numbers",
      "spread_gpt2_without_own_numbers", "spread_grad_of_plain", "spread_half_a_generator",
      "spread_half_a_label", "spread_item_of_varying", "spread_label_elsewhere",
      "spread_label_of_labelled", "spread_loss_of_partial", "spread_matmul_of_partials",
      "spread_model_along_another_axis", "spread_model_backward_of_replicated",
      "spread_model_elsewhere", "spread_model_of_partial", "spread_model_of_unlabelled",
      "spread_narrowed_partial", "spread_number_plus_partial", "spread_on_two_devices",
      "spread_parameter_plus_partial", "spread_parameter_with_replicated", "spread_part_of_partial",
      "spread_partial_of_replicated", "spread_partial_times_partial",
      "spread_partial_to_replicated", "spread_partial_twice", "spread_print_of_varying",
      "spread_reduce_scatter_of_varying", "spread_replicated_of_varying",
      "spread_replicated_plus_equals_varying", "spread_sequence_of_whole", "spread_softmax_of_partial",
      "spread_sort_of_partial", "spread_state_loaded_into_part", "spread_state_of_partial",
      "spread_state_of_unlabelled", "spread_state_of_varying_member",
      "spread_state_without_dimension", "spread_step_with_one_axis", "spread_step_without_ranks",
      "spread_stepped_replicated", "spread_trace_of_traced", "spread_two_meshes",
      "spread_unlabelled_collective"]),
    ("Distributed models",
     "`dist::distributed(model, comm)` is the model, reduced over ranks on D: it accepts and refuses the same "
     "arguments as the model. A gradient that is not reduced is refused at run time, by optimizers and clipping.",
     ["distributed_elsewhere", "distributed_of_parameters", "distributed_input_elsewhere", "distributed_moved"],
     ["distributed_without_members", "distributed_input_in_flight", "distributed_fit_elsewhere", "distributed_optimizer",
      "distributed_state_elsewhere", "sharded_state", "sharded_state_loaded"]),
    ("Arrays of other libraries",
     "A struct of DLPack becomes a tensor whose type has the element type and the place; other libraries see values, "
     "not records of them. [Other people's arrays](interop.md) has the calls.",
     ["dlpack_elsewhere", "dlpack_of_traced", "dlpack_without_a_type", "dlpack_used_twice"],
     ["dlpack_of_a_parameter", "dlpack_of_an_expression", "dlpack_in_flight", "dlpack_to_pinned", "dlpack_for_no_tensor",
      "view_of_const"]),
    ("Captured steps",
     "`capture(step)` replays the launches of the step: its results are computed in it, on a device that its result "
     "or an argument names.",
     ["capture_of_an_expression"],
     ["capture_without_a_device"]),
    ("Kernels",
     "A function of your own is copied to the device that runs it; the tensors it reads are its operands.",
     ["function_with_a_container"],
     ["fuse_captures_a_tensor", "fuse_with_other_parameters"]),
    ("Element types",
     "There is no implicit promotion: `x.as<double>()` converts.",
     ["element_types_mixed", "fraction_of_integers", "exp_of_integers", "labels_of_int32", "layer_of_other_elements"],
     ["construct_of_other_elements", "construct_of_an_expression_of_other_elements", "assign_other_elements", "concat_of_other_elements", "loss_of_other_elements", "hook_of_other_elements",
      "network_of_other_elements", "where_on_no_bool", "masked_fill_on_no_bool", "attention_mask_of_integers", "bits_of_floats", "order_of_complex", "largest_of_complex", "complex_as_float", "backward_of_complex", "spectrum_of_integers", "variable_of_integers", "dropout_of_integers", "pool_of_integers", "conv_of_other_elements", "one_hot_of_floats", "pos_weight_of_doubles"]),
    ("Traced values and gradients",
     "An operation is recorded if and only if an operand is traced. A call that would lose a gradient silently does "
     "not compile.",
     ["backward_of_plain", "parameters_alone", "penalty", "sum_of_a_parameter", "plain_as_traced", "traced_as_plain",
      "copy_of_traced", "update_of_traced", "update_of_a_parameter", "missing_derivative"],
     ["linear_of_parameters", "conv_of_parameters", "dropout_of_a_parameter", "pad_of_a_parameter", "unfold_of_a_parameter", "clamp_of_parameters", "class_weights_of_a_parameter", "attention_mask_traced", "rotary_tables_traced", "cached_attention_traced",
      "plain_expression_as_traced", "grad_of_plain", "grad_with_respect_to_plain", "grad_recorded_without_its_macro", "called_detach", "view_of_parameter", "update_of_pending", "update_by_traced", "hook_that_returns", "checkpoint_of_other_operands", "checkpoint_of_no_tensor", "backward_of_an_expression", "gradient_of_plain",
      "trace_of_a_traced_tensor", "jvp_of_traced", "jvp_tangent_elsewhere", "frozen_of_plain", "parameter_frozen_by_asking", "eig_of_traced"]),
    ("Layers of your own",
     "A layer of your own has a `forward`, and lists its parameters, buffers and children.",
     ["layer_without_forward", "layer_with_forward_not_const", "layer_for_plain_tensors_alone", "layer_without_members",
      "layer_that_is_private", "member_that_is_a_tensor", "layer_without_twin"],
     ["layer_without_forward_in_a_network", "network_with_forward_not_const", "layer_with_forward_for_some", "list_of_tokens_for_a_layer",
      "final_layer_without_forward", "network_with_a_private_layer", "member_without_members",
      "network_of_a_layer_without_members", "network_of_a_member_without_members", "member_that_is_no_layer",
      "member_elsewhere", "buffer_elsewhere", "member_without_twin", "onnx_of_a_model_without_twin", "optimizer_of_a_model", "group_of_a_model", "skip_flag_of_numbers", "optimizer_of_a_number", "clip_a_model"]),
    ("16-bit element types",
     "A model of 16 bits takes 16 bits. Gradients of `half` vanish below 6e-8, so its optimizers are stepped by an "
     "`optim::GradScaler`, whose scaled loss is no tensor. [Mixed precision](mixed-precision.md) has the whole loop. "
     "Use of a scaled gradient before it is unscaled is refused at run time.",
     ["model_of_16_bits_with_float_input", "half_stepped_without_scaler", "half_fitted_without_scaler", "scaled_loss_of_half",
      "scaled_loss_stepped", "scaled_loss_clipped", "scaled_loss_read", "scaler_elsewhere"],
     ["half_trained_without_scaler", "scaled_loss_of_plain", "scaled_loss_multiplied", "scaler_with_an_optimizer_elsewhere",
      "scaled_optimizer_elsewhere", "scaler_in_place_of_the_optimizer", "optimizer_stepped_by_a_scaler"]),
    ("Operations as functions",
     "Operations that are members in other libraries are functions here, which take tensors, traced tensors and "
     "expressions alike.",
     ["called_sum"],
     ["called_mean", "called_std", "called_view"]),
    ("Shapes",
     "Shapes and lists of axes stand in braces; a value or a device after them is no extent.",
     ["shape_without_braces"],
     ["shape_without_braces_on_a_device", "reshape_without_braces", "expand_without_braces", "permute_without_braces",
      "concat_of_an_expression_in_braces", "stack_of_plain_and_traced_in_braces"]),
    ("Axes and options",
     "Operations without a conventional default axis need one; options have names; integers are not counted by "
     "fractions.",
     ["softmax_without_an_axis"],
     ["log_softmax_without_an_axis", "running_sums_without_an_axis", "arange_of_fractions", "options_by_position", "blob_of_const"]),
    ("Data sets and loaders",
     "A data set writes samples to memory of the host. Loaders copy batches of them to a device, and `fit`, "
     "`evaluate` and `train_step` take them from there.",
     ["loader_of_a_tensor", "data_set_without_fields", "data_set_that_writes_other_fields",
      "data_set_of_tensors_elsewhere", "map_to_a_device", "batch_of_a_struct_moved", "batch_with_an_array_moved", "fit_with_targets_of_other_elements", "evaluate_on_a_tensor",
      "fit_on_tensors"],
     ["loader_of_a_data_set_with_parts", "evaluate_a_function_on_images", "update_bn_of_a_function", "update_bn_of_a_data_set", "fit_with_a_temporary_loader",
      "train_step_on_a_tensor", "train_step_with_a_loss_elsewhere", "train_step_with_a_loss_on_a_tensor", "train_step_with_a_loss_of_other_targets", "train_step_with_a_loss_that_loses_the_record", "batch_to_a_place_known_at_run_time", "step_memory_elsewhere", "summary_elsewhere", "step_memory_targets_elsewhere", "evaluate_with_targets_of_other_elements", "transformed_by_a_function",
      "mixup_with_labels_elsewhere", "mixed_without_labels", "confusion_with_labels_elsewhere", "data_set_whose_epochs_change_it"]),
]

HEAD = """# Compile errors

The mistakes that do not compile, by subject, each with the wrong code, the message of the compiler, the reason and the
fix. [The rules of placement](placement.md) state the rules, and tell how a message is read. [Common mistakes](mistakes.md)
has the habits of PyTorch, NumPy and Eigen that are not about places.

[The index](#index-by-message) leads from the words of a message to its case.

- Every message is one error in your own file. Its first line names the operands, their places and the remedy.
- It has at most twelve lines. Each further template of yours around the mistake adds one with g++ and nvcc, and three with
  clang, where `-ftemplate-backtrace-limit=1` leaves twelve, however many there are.
- The texts are those of g++ 12 and clang 14 for exactly this code, without a CUDA toolkit. nvcc prints the same types as
  g++. `locus::cpu_only_generic` stands for `locus`: an inline namespace that names the build.

This page is made of [`tests/compile_fail`](../tests/compile_fail) by `tests/tools/compile_fail.py --write-page`; the test
suite compares it with the compilers. A case is named after its file there.

"""

INDEX = """
## Index by message

### Sentences of clang

The part of the sentence before its remedy, in alphabetical order; `...` is a place.

"""

TYPES = """
### Types of g++ and nvcc

The names within the type after `why =`, without the remedy, in alphabetical order; `<...>` is a place or another type.

"""


def code_of(text, fails):
    """The source of the failing or the corrected branch, without comments and includes."""
    lines, keep = [], True
    for line in text.splitlines():
        if line.startswith("#ifdef LOCUS_MUST_FAIL"):
            keep = fails
        elif line.startswith("#else"):
            keep = not fails
        elif line.startswith("#endif"):
            keep = True
        elif line.startswith("#ifndef LOCUS_MUST_FAIL"):
            keep = not fails
        elif keep and not re.match(r"// (expect-error|because|compilers|lines)|#include(?!.*\.inc>)|using namespace locus;", line):
            lines.append(line)
    return "\n".join(lines[1:]).strip()  # without the title


def branches(text):
    """(the wrong lines, the lines that replace them); one may be empty."""
    parts = re.search(r"^#if(n?)def LOCUS_MUST_FAIL\n(.*?)(?:^#else\n(.*?))?^#endif", text, re.MULTILINE | re.DOTALL)
    wrong, right = parts[2], parts[3] or ""
    return (right, wrong) if parts[1] else (wrong, right)


def fixed_lines(text):
    return "\n".join(line[2:] if line.startswith("  ") else line for line in branches(text)[1].rstrip().splitlines())


def message(line):
    """The message of a line, independent of the build and of the number of `auto` parameters in the headers: g++
    numbers them through the whole program, the page within one message."""
    said = re.sub(r"\bcpu_only_\w+", "cpu_only_generic", re.sub(r"^.*?\berror: ", "", line))
    counted = list(dict.fromkeys(re.findall(r"\bauto:\d+", said)))
    return re.sub(r"\bauto:\d+", lambda parameter: f"auto:{counted.index(parameter[0]) + 1}", said)


def shown(folder, name, first_lines):
    """A mistake with its code, the compilers' messages, the reason and the fix."""
    text = (folder / f"{name}.cpp").read_text()
    heading = re.match(r"// (.*)", text)[1].rstrip(".")
    because = re.search(r"^// because: (.*)$", text, re.MULTILINE)[1]
    said = "\n\n".join(f"{compiler}: {message(first_lines[name, key])}" for key, compiler in COMPILERS.items())
    return (f"\n{anchor_of(name)}\n\n### {heading}\n\n```cpp\n{code_of(text, True)}\n```\n\n```text\n{said}\n```\n\n"
            f"Because {because}. Instead:\n\n```cpp\n{fixed_lines(text)}\n```\n")


def in_cell(said):
    """A message as text of a table."""
    return said.replace("|", chr(92) + "|").replace("<", "&lt;")


def in_code(text):
    """Text of a table between backticks."""
    return text.replace("|", "\\|")


def row(text, said, anchor=""):
    """A mistake as a row of a table; if code is missing, in words."""
    def cell(code):
        return "<br>".join(f"`{in_code(line.strip())}`" for line in code.splitlines())
    wrong, right = branches(text)
    return f"| {anchor}{cell(wrong) or re.match(r'// (.*)', text)[1].rstrip('.')} | {in_cell(said)} | {cell(right)} |\n"


def anchor_of(name):
    return f'<a id="{name}"></a>'


def sentence(said):
    """clang's message up to the remedy, without places."""
    begun = re.split(r";|(?<=\?) ", re.sub(r"^'.*?' is unavailable: ", "", said))[0]
    return re.sub(r"\b(Cpu|Cuda|Pinned)\b(?!>)", "...", begun)


def arguments(text):
    """The arguments of a template, up to the > that closes it."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [argument.strip() for argument in found]


def names_of_type(said):
    """The names in the type after g++'s "why =", or of an undefined class, without their arguments and without the last
    one, the remedy."""
    mistake = re.search(r"(?:\b[wW]hy = |^[^\[]*?<)locus::error::\w+<(.*)", said)[1]
    return ", ".join(re.sub(r"<.*>", "<...>", argument).removeprefix("locus::error::") for argument in arguments(mistake)[:-1])


def index(said):
    """A table of messages in alphabetical order, regardless of signs, with the cases of each; said: {name: message}."""
    cases = {}
    for name, text in said.items():
        cases.setdefault(text, []).append(name)
    found = sorted(cases, key=lambda text: (re.sub(r"\W+", " ", text).strip().lower(), text))
    links = {text: ", ".join(f"[{name}](#{name})" for name in names) for text, names in cases.items()}
    return "| message | cases |\n|---|---|\n" + "".join(f"| `{in_code(text)}` | {links[text]} |\n" for text in found)


def slug(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def render(folder, first_lines):
    """The page; first_lines: {(name of the test, compiler): its first error line}."""
    parts = [HEAD, *(f"- [{title}](#{slug(title)})\n" for title, *_ in SUBJECTS), "- [Index by message](#index-by-message)\n"]
    for title, rule, mistakes, others in SUBJECTS:
        parts.append(f"\n## {title}\n\n{rule}\n")
        parts += [shown(folder, name, first_lines) for name in mistakes]
        rows = [row((folder / f"{name}.cpp").read_text(), message(first_lines[name, "clang"]), anchor_of(name)) for name in others]
        parts.append(f"\n### {title}: more cases\n\n| wrong | clang 14 says | instead |\n|---|---|---|\n" + "".join(rows))
    for head, compiler, words in ((INDEX, "clang", sentence), (TYPES, "gcc", names_of_type)):
        parts += [head, index({name: words(message(first_lines[name, compiler])) for name in listed()})]
    return "".join(parts)


def listed():
    """Names of the mistakes on the page, in its order."""
    return [name for _, _, mistakes, others in SUBJECTS for name in [*mistakes, *others]]


def unlisted(folder):
    """Names of mistakes that the page leaves out, or lists without a test."""
    return sorted({*listed()} ^ {path.stem for path in folder.glob("*.cpp")})


def plain(code):
    return " ".join(code.split())


def examples(text):
    """[(section, example)] of the rules. An example has wrong lines as comments, with a remark after two spaces, then right
    ones; blank lines separate the examples of a block."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        for block in re.findall(r"^```cpp\n(// [^\n]*;(?:  [^\n]*)?\n.*?)^```", section, re.MULTILINE | re.DOTALL):
            found += [(section.partition("\n")[0], example) for example in block.strip().split("\n\n")]
    return found


def case_of(example, folder):
    """The shortest case that has the lines of an example, or None."""
    lines = [re.sub(r";  .*", ";", line) for line in example.splitlines()]
    wrong = plain(" ".join(line[3:] for line in lines if line.startswith("// ")))
    right = plain(" ".join(line for line in lines if not line.startswith("// ")))

    def has_both(case):
        bad, good = map(plain, branches(case.read_text()))
        return wrong in bad and right in good

    return min(filter(has_both, sorted(folder.glob("*.cpp"))), key=lambda case: case.stat().st_size, default=None)


def unknown_examples(text, folder):
    """Examples in the rules that match no case."""
    return [example for _, example in examples(text) if case_of(example, folder) is None]


def unknown_messages(text, catalogue):
    """Messages of g++ and clang in the rules that are not in the catalogue."""
    return [said for said in re.findall(r"^(?:g\+\+|clang) \d+: .*$", text, re.MULTILINE) if said not in catalogue]


def problem_of_rules(folder):
    """The problem of the rules' examples, or None."""
    text, catalogue = RULES_PAGE.read_text(), PAGE.read_text() if PAGE.exists() else ""
    return "\n".join([*(f"no case of {folder.name} has these lines:\n{example}" for example in unknown_examples(text, folder)),
                      *(f"{PAGE.name} has no such message: {said}" for said in unknown_messages(text, catalogue))])


def one_spelling(page):
    """The page without default template arguments, as in Tensor<T, locus::Cpu> and Sequential<T, D, T>: g++ spells a
    type as at its first occurrence in the translation unit, which depends on the mistakes that share the unit."""
    page = re.sub(r"(\b(?:Tensor|Traced|Parameter)<[\w: ]+), locus::Cpu>", r"\1>", page)
    return re.sub(r"(\bSequential<([\w: ]+), [\w: ]+), \2>", r"\1>", page)


def problem(folder, first_lines):
    """The problem of the page, or None."""
    strays = unlisted(folder)
    if strays:
        return f"compile_errors_page.py and tests/compile_fail differ in: {', '.join(strays)}"
    if not PAGE.exists() or one_spelling(PAGE.read_text()) != one_spelling(render(folder, first_lines)):
        return f"{PAGE.name} is not what the compilers say now: run tests/tools/compile_fail.py --write-page"
    return None
