"""docs/placement.md: the rules of placement, each with the wrong code, what compilers say, the reason, and the fix. It is
made of tests/compile_fail, so that it cannot drift: compile_fail.py compares it with what compilers just said.
"""

import re

import common

PAGE = common.ROOT / "docs" / "placement.md"
COMPILERS = {"gcc": "g++ 12", "clang": "clang 14"}

# The rules in reading order, and the mistakes that show them: files of tests/compile_fail. The last ones of each rule are
# shown in a table, by clang's words alone.
RULES = [
    ("Operands meet in one place",
     "An operation runs on one device, and reads and writes memory of that device alone.",
     ["add_cpu_cuda", "multiply_cuda_cpu", "matmul_across_devices", "einsum_across_devices", "where_mixed", "fuse_across_devices",
      "own_function"],
     ["solve_across_devices", "clamp_mixed", "maximum_across_devices", "concat_across_devices",
      "concat_in_braces_across_devices", "elementwise_across_devices",
      "index_select_elsewhere", "gather_elsewhere", "scatter_elsewhere", "repeats_elsewhere", "embedding_indices_elsewhere"]),
    ("A copy between places is written out",
     "`x.to<Cuda>()` and `x.to<Cpu>()` are the only copies of tensors between devices. Construction, assignment and "
     "in-place operations make none.",
     ["construction", "assignment", "copy_into", "update_from_elsewhere", "to_a_place_known_at_run_time",
      "result_depends_on_the_device"],
     ["called_cuda", "called_cpu", "argument_elsewhere", "traced_elsewhere", "parameter_elsewhere", "buffer_of_another_place", "to_an_element_type", "to_a_memory_format", "assign_to_view"]),
    ("The model, its input, the labels and the optimizer lie together",
     "What a training step reads lies where the model is: the batch, the labels, the class weights; and so does the "
     "optimizer's state.",
     ["layer_elsewhere", "network_elsewhere", "model_of_two_devices", "labels_elsewhere", "class_weights_elsewhere",
      "target_elsewhere", "criterion_elsewhere", "optimizer_elsewhere", "groups_of_two_devices", "optimizer_of_groups_on_two_devices", "skip_flag_elsewhere", "state_elsewhere", "model_moved", "fit_elsewhere", "fit_with_another_optimizer", "own_layer_mixes"],
     ["resnet_elsewhere", "network_of_a_layer_that_mixes", "push_a_layer_that_mixes", "evaluate_a_layer_that_mixes", "fit_a_layer_that_mixes",
      "layer_in_a_template", "bias_elsewhere", "conv_weights_elsewhere", "conv_bias_elsewhere", "conv3d_weights_elsewhere", "conv3d_bias_elsewhere", "layer_norm_weight_elsewhere", "group_norm_bias_elsewhere", "prelu_slopes_elsewhere", "batch_norm_elsewhere", "residual_elsewhere", "running_statistics_elsewhere", "seen_by_elsewhere", "cotangent_elsewhere", "step_on_a_batch_elsewhere", "validate_elsewhere", "fit_with_a_loss_elsewhere", "triplet_elsewhere", "ctc_lengths_elsewhere",  "attention_elsewhere", "attention_mask_elsewhere", "with_weights_elsewhere", "pos_weight_elsewhere",
      "criterion_labels_elsewhere", "criterion_weights_elsewhere",
      "evaluate_elsewhere", "accuracy_elsewhere", "hook_elsewhere", "checkpoint_elsewhere", "optimizer_state_elsewhere", "generator_elsewhere", "dropout_with_a_generator_elsewhere", "normals_elsewhere", "bernoulli_elsewhere"]),
    ("The host does not look into a GPU",
     "Reading an element, iterating and printing need memory that the host can reach.",
     ["element_of_cuda", "iterate_cuda", "print_cuda"],
     ["tensor_as_a_condition", "number_of_a_tensor", "number_plus_tensor", "brackets", "element_of_an_expression", "element_of_a_traced_tensor", "iterate_a_traced_tensor"]),
    ("Pinned memory waits",
     "`Tensor<T, Pinned>` is page-locked host memory, the only source of an asynchronous copy. It computes nothing.",
     ["pinned_arithmetic", "copy_async_from_pageable_memory"],
     ["gelu_of_pinned", "initial_values_of_pinned", "pool_of_pinned", "layer_on_pinned", "concat_of_pinned", "stack_of_pinned", "unique_of_pinned", "copy_async_of_traced",
      "copy_async_to_nowhere", "copy_async_to_nowhere_in_a_stream"]),
    ("What is being copied is no tensor yet",
     "`copy_async` returns a `Pending<Tensor<T, D>>`. `std::move(x).ordered()` is the tensor for what this thread queues "
     "from then on; `std::move(x).wait()` has the host wait.",
     ["in_flight_operand", "in_flight_as_tensor", "in_flight_labels", "in_flight_element", "stream_elsewhere"],
     ["in_flight_function", "sort_in_flight", "in_flight_input", "in_flight_assigned", "in_flight_traced", "in_flight_variable",
      "in_flight_frozen", "in_flight_checkpoint", "in_flight_printed",
      "in_flight_not_moved", "in_flight_not_moved_to_wait", "in_flight_to_the_host_ordered", "ordered_elsewhere",
      "with_stream_of_an_expression"]),
    ("Ranks exchange tensors of the communicator's device",
     "A `dist::Communicator<D>` moves and combines tensors of D, and records nothing. What is in flight is a "
     "`dist::Handle`, until `std::move(x).ordered()` or `std::move(x).wait()` makes it a tensor.",
     ["collective_elsewhere", "gathered_elsewhere", "collective_of_traced", "mean_of_integers_over_ranks",
      "collective_in_flight_operand"],
     ["synchronized_elsewhere", "data_parallel_elsewhere", "data_parallel_input_elsewhere", "collective_of_a_parameter", "collective_of_an_expression", "collective_in_flight_again", "collective_in_flight_not_moved",
      "sent_from_pinned"]),
    ("Ranks train a model where their communicator is",
     "`dist::distributed(model, comm)` is the model, reduced over ranks on D: it takes and refuses what the model does. A "
     "gradient that is not reduced is refused at run time, by optimizers and clipping.",
     ["distributed_elsewhere", "distributed_of_parameters", "distributed_input_elsewhere", "distributed_moved"],
     ["distributed_without_members", "distributed_input_in_flight", "distributed_fit_elsewhere", "distributed_optimizer",
      "distributed_state_elsewhere"]),
    ("A captured step computes all that it returns",
     "`capture(step)` replays what the step launches: what it returns is computed in it, on the device that it tells.",
     ["capture_of_an_expression"],
     ["capture_without_a_device"]),
    ("A kernel gets tensors and numbers",
     "A function of your own is copied to where it runs; the tensors it reads are its operands.",
     ["function_with_a_container"],
     ["fuse_captures_a_tensor", "fuse_with_other_parameters"]),
    ("Element types do not mix",
     "There is no implicit promotion: `x.as<double>()` converts.",
     ["element_types_mixed", "fraction_of_integers", "exp_of_integers", "labels_of_int32", "layer_of_other_elements"],
     ["construct_of_other_elements", "construct_of_an_expression_of_other_elements", "assign_other_elements", "concat_of_other_elements", "loss_of_other_elements", "hook_of_other_elements",
      "network_of_other_elements", "where_on_no_bool", "masked_fill_on_no_bool", "bits_of_floats", "variable_of_integers", "dropout_of_integers", "pool_of_integers", "conv_of_other_elements", "one_hot_of_floats", "pos_weight_of_doubles"]),
    ("What is traced is recorded, and nothing else",
     "An operation is recorded if and only if an operand is traced. Where that would lose a gradient silently, the "
     "compiler says so.",
     ["backward_of_plain", "parameters_alone", "penalty", "sum_of_a_parameter", "plain_as_traced", "traced_as_plain",
      "copy_of_traced", "update_of_traced", "update_of_a_parameter", "missing_derivative"],
     ["linear_of_parameters", "conv_of_parameters", "dropout_of_a_parameter", "pad_of_a_parameter", "unfold_of_a_parameter", "clamp_of_parameters", "class_weights_of_a_parameter", "attention_mask_traced",
      "plain_expression_as_traced", "called_detach", "view_of_parameter", "update_of_pending", "update_by_traced", "hook_that_returns", "checkpoint_of_other_operands", "checkpoint_of_no_tensor", "backward_of_an_expression", "gradient_of_plain",
      "trace_of_a_traced_tensor", "frozen_of_plain", "parameter_frozen_by_asking", "qr_of_traced"]),
    ("A layer says what it computes and what it is made of",
     "A layer of your own has a `forward`, and lists its parameters, buffers and children.",
     ["layer_without_forward", "layer_with_forward_not_const", "layer_for_plain_tensors_alone", "layer_without_members",
      "layer_that_is_private", "member_that_is_a_tensor", "layer_without_twin"],
     ["layer_without_forward_in_a_network", "network_with_forward_not_const", "layer_with_forward_for_some",
      "final_layer_without_forward", "network_with_a_private_layer", "member_without_members",
      "network_of_a_layer_without_members", "network_of_a_member_without_members", "member_that_is_no_layer",
      "member_elsewhere", "buffer_elsewhere", "member_without_twin", "optimizer_of_a_model", "group_of_a_model", "skip_flag_of_numbers", "optimizer_of_a_number", "clip_a_model"]),
    ("Sixteen bits are said, and half is scaled",
     "A model of 16 bits takes 16 bits. Gradients of `half` vanish below 6e-8, so that its optimizers are stepped by an "
     "`optim::GradScaler`, whose scaled loss is no tensor. [Mixed precision](mixed-precision.md) has the whole loop. What "
     "a scaled gradient is used for before it is unscaled is refused at run time.",
     ["model_of_16_bits_with_float_input", "half_stepped_without_scaler", "half_fitted_without_scaler", "scaled_loss_of_half",
      "scaled_loss_stepped", "scaled_loss_clipped", "scaled_loss_read", "scaler_elsewhere"],
     ["half_trained_without_scaler", "scaled_loss_of_plain", "scaled_loss_multiplied", "scaler_with_an_optimizer_elsewhere",
      "scaled_optimizer_elsewhere", "scaler_in_place_of_the_optimizer", "optimizer_stepped_by_a_scaler"]),
    ("Operations are functions",
     "What other libraries have as members are functions here, which take tensors, traced tensors and expressions alike.",
     ["called_sum"],
     ["called_mean", "called_std", "called_view"]),
    ("A shape is one argument",
     "Shapes and lists of axes stand in braces; what follows them, as a value or a device, is no extent.",
     ["shape_without_braces"],
     ["shape_without_braces_on_a_device", "reshape_without_braces", "expand_without_braces", "permute_without_braces",
      "concat_of_an_expression_in_braces", "stack_of_plain_and_traced_in_braces"]),
    ("Arguments say what is meant",
     "Where there is no axis that everybody means, a call names one; and integers are not counted by fractions.",
     ["softmax_without_an_axis"],
     ["log_softmax_without_an_axis", "running_sums_without_an_axis", "arange_of_fractions", "options_by_position", "blob_of_const"]),
    ("Training reads data sets",
     "A data set writes samples to memory of the host; loaders copy batches of them to a device, and `fit`, `evaluate` and "
     "`train_step` take them from there.",
     ["loader_of_a_tensor", "data_set_without_fields", "data_set_that_writes_other_fields",
      "data_set_of_tensors_elsewhere", "map_to_a_device", "fit_with_targets_of_other_elements", "evaluate_on_a_tensor",
      "fit_on_tensors"],
     ["loader_of_a_data_set_with_parts", "evaluate_a_function_on_images", "fit_with_a_temporary_loader",
      "train_step_on_a_tensor", "evaluate_with_targets_of_other_elements", "transformed_by_a_function",
      "mixup_with_labels_elsewhere", "mixed_without_labels", "confusion_with_labels_elsewhere", "data_set_whose_epochs_change_it"]),
]

HEAD = """# The rules of placement

Where a value lives is part of its type: `Tensor<float, Cuda>` and `Tensor<float, Cpu>` are different types, and these are
the mistakes that the compiler answers. Every answer is one error in your own file, and its first line says which operand
is where and what to write instead. It has at most twelve lines. Each further template of yours around the mistake adds
one with g++ and nvcc, and three with clang, where `-ftemplate-backtrace-limit=1` leaves twelve, however many there are.
The texts below are what g++ 12 and clang 14 print for exactly this code, with no CUDA toolkit installed; nvcc's are
g++'s in other words. (g++ says `locus::cpu_only_generic` where it means `locus`: an inline namespace that tells how the
program is built.)

This page is made of [`tests/compile_fail`](../tests/compile_fail) by `tests/tools/compile_fail.py --write-page`; the test
suite compares it with the compilers.
"""

TAIL = """
## Asking instead of failing

All of it can be asked at compile time. An operation that is refused is not there for `requires`, `std::is_invocable` and
`std::is_constructible`.

| question | means |
|---|---|
| `can_access<Exec, Mem>` | code that runs on `Exec` may dereference memory of `Mem` |
| concept `CopyableTo<From, To>` | `.to<To>()` brings a tensor from `From` there |
| concept `SameDevice<A, B>` | two tensor-like types live in one place |
| concept `HostAccessible<D>` | the host may read and write elements in memory of `D` |
| concept `Device<D>` | `D` computes; `Pinned` is only a `MemorySpace` |
| concept `Combinable<A, B>` | two operands may meet in one operation: place, element type, and not both parameters |

A function of your own answers in the same words if it requires `Combinable`, and has `refuse/operands.inc` beside it, as `blend`
above.

## What the compiler cannot check

Values that are known when the program runs: the ordinal of a GPU (`Cuda{0}` and `Cuda{1}` are one type; an exception names
both), shapes, labels out of range, an operand that was modified before a pending expression used it, and what two threads
do to one tensor at once.
"""


def code_of(text, fails):
    """The source as it reads in the failing or the corrected branch, without comments and includes."""
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
    """(the lines that are wrong, those instead of them); one may be empty."""
    parts = re.search(r"^#if(n?)def LOCUS_MUST_FAIL\n(.*?)(?:^#else\n(.*?))?^#endif", text, re.MULTILINE | re.DOTALL)
    wrong, right = parts[2], parts[3] or ""
    return (right, wrong) if parts[1] else (wrong, right)


def fixed_lines(text):
    return "\n".join(line[2:] if line.startswith("  ") else line for line in branches(text)[1].rstrip().splitlines())


def message(line):
    """What a line says, in whatever build, and however many parameters called auto stand in the headers: g++ counts them
    through the whole program, the page in one message."""
    said = re.sub(r"\bcpu_only_\w+", "cpu_only_generic", re.sub(r"^.*?\berror: ", "", line))
    counted = list(dict.fromkeys(re.findall(r"\bauto:\d+", said)))
    return re.sub(r"\bauto:\d+", lambda parameter: f"auto:{counted.index(parameter[0]) + 1}", said)


def shown(folder, name, first_lines):
    """A mistake with its code, what compilers say, why, and what to write."""
    text = (folder / f"{name}.cpp").read_text()
    heading = re.match(r"// (.*)", text)[1].rstrip(".")
    because = re.search(r"^// because: (.*)$", text, re.MULTILINE)[1]
    said = "\n\n".join(f"{compiler}: {message(first_lines[name, key])}" for key, compiler in COMPILERS.items())
    return (f"\n### {heading}\n\n```cpp\n{code_of(text, True)}\n```\n\n```text\n{said}\n```\n\n"
            f"Because {because}. Instead:\n\n```cpp\n{fixed_lines(text)}\n```\n")


def in_cell(said):
    """A message as text of a table."""
    return said.replace("|", chr(92) + "|").replace("<", "&lt;")


def row(text, said):
    """A mistake as a line of a table; where something is missing, in words."""
    def cell(code):
        return "<br>".join("`" + line.strip().replace("|", "\\|") + "`" for line in code.splitlines())
    wrong, right = branches(text)
    return f"| {cell(wrong) or re.match(r'// (.*)', text)[1].rstrip('.')} | {in_cell(said)} | {cell(right)} |\n"


def render(folder, first_lines):
    """The page; first_lines: {(name of the test, compiler): its first error line}."""
    parts = [HEAD]
    for title, rule, mistakes, others in RULES:
        parts.append(f"\n## {title}\n\n{rule}\n")
        parts += [shown(folder, name, first_lines) for name in mistakes]
        rows = [row((folder / f"{name}.cpp").read_text(), message(first_lines[name, "clang"])) for name in others]
        parts.append("\n### Likewise\n\n| wrong | clang 14 says | instead |\n|---|---|---|\n" + "".join(rows))
    return "".join([*parts, TAIL])


def unlisted(folder):
    """Names of mistakes that the page leaves out, or lists without a test."""
    listed = {name for _, _, mistakes, others in RULES for name in [*mistakes, *others]}
    return sorted(listed ^ {path.stem for path in folder.glob("*.cpp")})


def one_spelling(page):
    """The page with Tensor<T> for Tensor<T, locus::Cpu>, and so on: g++ spells the type as the translation unit did first, which is
    another one where many mistakes share a translation unit."""
    return re.sub(r"(\b(?:Tensor|Traced|Parameter)<[\w: ]+), locus::Cpu>", r"\1>", page)


def problem(folder, first_lines):
    """None, or what is wrong with the page."""
    strays = unlisted(folder)
    if strays:
        return f"placement_page.py and tests/compile_fail differ in: {', '.join(strays)}"
    if not PAGE.exists() or one_spelling(PAGE.read_text()) != one_spelling(render(folder, first_lines)):
        return f"{PAGE.name} is not what the compilers say now: run tests/tools/compile_fail.py --write-page"
    return None
