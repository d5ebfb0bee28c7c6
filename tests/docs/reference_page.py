#!/usr/bin/env python3
"""docs/reference.md and docs/reference/: the public declarations, a page for each subject, with the comments of the
headers, extracted by libclang.

usage: reference_page.py [--write]

Without --write it compares the pages with the headers.
"""

import argparse
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tools"))
import common

try:
    from clang import cindex
except ImportError:
    cindex = None

DOCS = common.ROOT / "docs"
INCLUDE = common.ROOT / "include" / "locus"
# Headings in reading order, and the headers of include/locus that they show.
SECTIONS = [
    ("Tensors", ["tensor/tensor.hpp", "core/shape.hpp", "core/dtype.hpp", "core/complex.hpp", "tensor/print.hpp"]),
    ("New tensors", ["tensor/from.hpp", "tensor/from_blob.hpp", "tensor/factory.hpp", "tensor/random.hpp", "ops/random.hpp", "ops/multinomial.hpp", "core/generator.hpp", "tensor/draw.hpp"]),
    ("Devices and streams", ["core/place.hpp", "select.hpp", "device/device_info.hpp", "cpu/device_info.hpp", "cuda/device_info.hpp", "device/memory.hpp", "device/stream.hpp", "device/capture.hpp", "device/trace/launch_log.hpp",
                             "device/trace/launch_trace.hpp", "device/trace/phase_trace.hpp"]),
    ("Settings of CUDA", ["cuda/settings.hpp", "cuda/convolution.hpp", "cuda/nvml.hpp", "cuda/versions.hpp"]),
    ("Copies that do not wait", ["tensor/copy_async.hpp", "tensor/source.hpp"]),
    ("Elementwise", ["expr/operators.hpp", "expr/functions/elementary.hpp", "expr/functions/activation.hpp", "expr/functions/comparison.hpp", "expr/functions/trigonometric.hpp", "expr/functions/special.hpp", "expr/special.hpp", "expr/activations.hpp", "expr/bits.hpp", "expr/elementwise.hpp", "expr/expr.hpp", "ops/prelu.hpp"]),
    ("Products", ["ops/matmul.hpp", "ops/linear.hpp", "ops/einsum.hpp", "ops/product/einsum_equation.hpp", "ops/cross.hpp", "ops/cdist.hpp", "ops/similarity.hpp"]),
    ("Linear algebra", ["linalg/linalg.hpp", "linalg/solve.hpp", "linalg/det.hpp", "linalg/cholesky.hpp", "linalg/qr.hpp", "linalg/svd.hpp", "linalg/eigh.hpp",
                        "linalg/lstsq.hpp", "linalg/matrix_norm.hpp", "linalg/forward_mode.hpp", "linalg/triangular.hpp", "linalg/lu_factor.hpp", "linalg/pinv.hpp", "linalg/eig.hpp",
                        "linalg/matrix_power.hpp", "linalg/matrix_exp.hpp", "linalg/cond.hpp", "linalg/multi_dot.hpp", "linalg/tensor_solve.hpp"]),
    ("Distributions", ["distributions/distribution.hpp", "distributions/parameters.hpp", "distributions/normal.hpp", "distributions/uniform.hpp", "distributions/exponential.hpp", "distributions/gamma.hpp", "distributions/beta.hpp",
                       "distributions/bernoulli.hpp", "distributions/categorical.hpp", "distributions/poisson.hpp", "distributions/multivariate_normal.hpp", "distributions/independent.hpp", "distributions/kl.hpp"]),
    ("Reductions", ["ops/reduce.hpp", "ops/extreme.hpp", "ops/moments.hpp", "ops/norm.hpp", "ops/cov.hpp", "ops/scan.hpp", "ops/cumulative.hpp", "ops/differences.hpp", "ops/renorm.hpp", "ops/order_statistics.hpp", "ops/close.hpp", "ops/histogram.hpp"]),
    ("Normalization, dropout and losses", ["ops/dropout.hpp", "ops/alpha_dropout.hpp", "ops/softmax.hpp", "ops/cross_entropy.hpp", "ops/linear_cross_entropy.hpp", "ops/layer_norm.hpp",
                                           "ops/batch_norm.hpp", "ops/group_norm.hpp", "ops/norm_moments.hpp", "ops/local_response_norm.hpp", "ops/attention.hpp", "ops/document_mask.hpp", "ops/rotary.hpp", "ops/rotary_tables.hpp", "nn/loss.hpp", "nn/criterion.hpp", "nn/nll_loss.hpp", "nn/margin_loss.hpp", "nn/multi_margin_loss.hpp", "nn/likelihood_loss.hpp", "nn/ctc_loss.hpp"]), ("Views and parts", ["ops/view.hpp", "tensor/subscript.hpp", "ops/split.hpp", "ops/repeat.hpp", "ops/flip.hpp", "ops/triangle.hpp", "ops/as_strided.hpp", "ops/combinations.hpp"]),
    ("Windows", ["ops/pad.hpp", "ops/window_functions.hpp", "ops/unfold.hpp", "ops/im2col.hpp", "ops/pool.hpp", "ops/pool3d.hpp", "ops/pool_indices.hpp", "ops/pool/pool_axis.hpp", "ops/grid_sample.hpp", "ops/pool/grid_sample_rows.hpp", "ops/interpolate.hpp", "ops/pixel_shuffle.hpp", "ops/conv.hpp", "ops/conv3d.hpp", "ops/conv/conv_request.hpp", "core/size_2d.hpp", "core/size_3d.hpp"]),
    ("Lookups, joins and order", ["ops/index.hpp", "ops/embedding_bag.hpp", "ops/scatter.hpp", "ops/search.hpp", "ops/interp.hpp", "ops/masked_select.hpp", "ops/isin.hpp", "ops/join.hpp", "ops/sort.hpp", "ops/unique.hpp"]),
    ("Complex numbers", ["ops/complex.hpp"]),
    ("Fourier transforms", ["fft/fft.hpp", "fft/options.hpp", "fft/transforms.hpp", "fft/frequencies.hpp", "fft/stft.hpp"]),
    ("Gradients", ["autograd/traced.hpp", "autograd/parameter.hpp", "autograd/grad.hpp", "autograd/hooks.hpp", "autograd/checkpoint.hpp",
                   "autograd/forward_mode.hpp", "nn/forward_mode.hpp", "expr/dual.hpp", "core/dual.hpp", "autograd/flat.hpp", "autograd/gradcheck.hpp", "autograd/graph.hpp", "autograd/saved_values.hpp", "autograd/backward_walk.hpp",
                   "ops/operation.hpp"]),
    ("Layers", ["nn/layer.hpp", "nn/module.hpp", "nn/linear.hpp", "nn/bilinear.hpp", "nn/embedding.hpp", "nn/embedding_bag.hpp", "nn/batch_norm.hpp", "nn/layer_norm.hpp", "nn/group_norm.hpp", "nn/attention.hpp", "nn/swiglu.hpp", "nn/transformer.hpp",
                "nn/recurrent.hpp", "nn/recurrent_layer.hpp", "nn/recurrent_state.hpp", "nn/recurrent_cells.hpp", "nn/packed_sequence.hpp",
                "nn/activation.hpp", "nn/bounded_activation.hpp", "nn/prelu.hpp", "nn/softmax.hpp", "nn/dropout.hpp", "nn/alpha_dropout.hpp", "nn/conv.hpp", "nn/conv3d.hpp", "nn/pool.hpp", "nn/pool3d.hpp", "nn/pool_indices.hpp", "nn/pad.hpp", "nn/fold.hpp", "nn/similarity.hpp", "nn/parametrize.hpp", "nn/adaptive_log_softmax.hpp", "nn/upsample.hpp", "nn/pixel_shuffle.hpp", "nn/flatten.hpp", "nn/channels_last.hpp", "nn/sequential.hpp", "nn/buffer.hpp",
                "nn/init.hpp", "nn/orthogonal.hpp", "nn/state.hpp", "nn/state_dict.hpp", "nn/state_target.hpp", "nn/averaged_model.hpp", "nn/frozen.hpp", "nn/advise.hpp", "nn/summary.hpp", "nn/layer_text.hpp"]),
    ("Models", ["models/mlp.hpp", "models/lenet5.hpp", "models/resnet.hpp", "models/gpt2.hpp", "models/gpt2_config.hpp", "models/llama.hpp", "models/llama_options.hpp", "models/llama_config.hpp", "models/bert.hpp", "models/bert_options.hpp", "models/bert_config.hpp", "models/bert_names.hpp", "models/packing.hpp", "models/config_file.hpp"]),
    ("Generation of text", ["models/generate_options.hpp", "models/generate.hpp", "models/generate_text.hpp", "models/token_sampler.hpp", "nn/key_value_cache.hpp", "nn/cached_attention.hpp"]),
    ("Text", ["text/tokenizer.hpp", "text/added_tokens.hpp", "text/train_bpe.hpp"]),
    ("Optimizers", ["optim/optimizer.hpp", "optim/method.hpp", "optim/groups.hpp", "optim/sgd.hpp", "optim/adam.hpp", "optim/rmsprop.hpp",
                    "optim/adadelta.hpp", "optim/adagrad.hpp", "optim/lion.hpp", "optim/adamax.hpp", "optim/nadam.hpp", "optim/radam.hpp", "optim/asgd.hpp", "optim/rprop.hpp", "optim/muon.hpp", "optim/adafactor.hpp", "optim/lbfgs.hpp", "optim/sam.hpp", "optim/clip.hpp", "optim/grad_scaler.hpp", "optim/scaled_optimizer.hpp",
                    "optim/scheduler.hpp", "optim/schedule.hpp", "optim/cyclic_lr.hpp", "optim/swa_lr.hpp"]),
    ("Data", ["data/dataset.hpp", "data/sets/tensor_dataset.hpp", "data/sets/parts.hpp", "data/loading/loader.hpp", "data/loading/loader_options.hpp", "data/loading/workers.hpp", "data/to.hpp", "data/sampler.hpp", "data/loading/distributed_sampler.hpp",
              "data/sets/labelled_images.hpp", "data/sets/mnist.hpp", "data/sets/fashion_mnist.hpp", "data/sets/cifar.hpp", "data/sets/fake_data.hpp", "data/transforms/transforms.hpp", "data/transforms/color_jitter.hpp", "data/transforms/resize.hpp", "data/transforms/random_resized_crop.hpp", "data/transforms/geometric.hpp", "data/transforms/color.hpp", "data/transforms/gaussian_blur.hpp", "data/transforms/random_erasing.hpp", "data/transforms/auto_augment.hpp", "data/transforms/compose.hpp",
              "data/transforms/transformed.hpp", "data/transforms/mixup.hpp", "data/transforms/mixed.hpp", "data/sets/image_folder.hpp", "data/files/image_file.hpp", "data/files/resize_image.hpp", "data/files/idx.hpp", "data/files/token_file.hpp", "data/files/save_tokens.hpp", "data/sets/token_windows.hpp", "data/sets/packed_tokens.hpp", "data/sets/drawn_digits.hpp"]),
    ("Training", ["training/step.hpp", "training/fit.hpp", "training/fit_options.hpp", "training/optimizer_state.hpp", "training/metrics.hpp", "training/update_bn.hpp", "training/confusion_matrix.hpp", "training/history.hpp", "training/progress.hpp", "training/progress_bar.hpp", "training/peak.hpp", "training/step_memory.hpp"]),
    ("Several ranks", ["distributed/communicator/communicator.hpp", "distributed/communicator/handle.hpp", "distributed/model/distributed_model.hpp", "distributed/model/reducer.hpp", "distributed/sharded/sharded.hpp", "distributed/sharded/sharded_parts.hpp", "distributed/sharded/sharded_unit.hpp", "distributed/start/launch.hpp", "distributed/start/spawn.hpp", "distributed/start/spawn_processes.hpp", "distributed/start/elastic.hpp", "distributed/mpi/mpi.hpp", "distributed/tcp/tcp.hpp", "distributed/tcp/tcp_place.hpp", "distributed/nccl/nccl.hpp", "distributed/model/rank_zero.hpp", "distributed/model/batch_norm.hpp", "distributed/model/data_parallel.hpp", "distributed/engine/reduction_op.hpp", "distributed/engine/engine.hpp"]),
    ("Checkpoints of ranks", ["distributed/checkpoint/parts.hpp", "distributed/checkpoint/place.hpp", "distributed/checkpoint/save.hpp", "distributed/checkpoint/load.hpp", "distributed/checkpoint/saver.hpp", "distributed/checkpoint/staged_folder.hpp", "distributed/checkpoint/index.hpp"]),
    ("Values spread over ranks", ["core/spread.hpp", "distributed/spread/over.hpp", "distributed/spread/mesh.hpp", "distributed/spread/ranks.hpp", "distributed/spread/model.hpp", "distributed/spread/generator.hpp", "distributed/spread/results.hpp", "distributed/spread/optimizer.hpp", "distributed/spread/layers.hpp", "distributed/spread/batch_norm.hpp", "distributed/spread/divided.hpp", "distributed/spread/state.hpp", "distributed/spread/vocabulary.hpp", "models/parallel_gpt2.hpp"]),
    ("Files", ["io/safetensors.hpp", "io/mapped.hpp", "io/load_into.hpp", "io/shards.hpp", "io/safetensors_view.hpp", "interop/torch_file.hpp", "interop/gguf_file.hpp", "interop/gguf_header.hpp", "interop/value.hpp", "io/training.hpp", "io/run_record.hpp", "report/json_lines.hpp", "report/named_value.hpp", "io/csv.hpp", "io/npy.hpp", "report/history_file.hpp", "report/report.hpp", "report/phases.hpp", "report/tensor_board.hpp", "report/plot.hpp",
               "report/confusion_plot.hpp", "report/image_grid.hpp", "io/png.hpp"]),
    ("ONNX files", ["interop/onnx/graph.hpp", "interop/onnx/file.hpp", "models/onnx.hpp"]),
    ("ONNX export", ["interop/onnx_export.hpp", "interop/onnx/recorder.hpp"]),
    ("Arrays of other libraries", ["interop/dlpack.hpp", "interop/dlpack_structs.hpp", "interop/view.hpp"]),
    ("A device of your own", ["device/verbs.hpp"]),
    ("Errors", ["core/check.hpp", "distributed/engine/error.hpp"]),
]
# Headers with declarations for other headers alone, or for use beside a CUDA toolkit. Every header with something
# public is listed here or above.
INTERNAL = {"core/std/atomic.hpp", "core/element_type.hpp", "core/system/file.hpp", "core/std/posix.hpp", "core/std/pack.hpp", "core/rng.hpp",
            "core/moved.hpp", "core/std/shared.hpp", "core/size_class.hpp", "core/std/span.hpp", "cuda/peers.hpp", "device/attention.hpp", "device/buffer.hpp", "device/convolution.hpp",
            "distributed/threads/cuda_engine.hpp", "distributed/engine/device_engine.hpp", "distributed/message/message_engine.hpp", "distributed/tcp/tcp_rendezvous.hpp",
            "distributed/threads/local.hpp", "distributed/spread/functions.hpp", "distributed/spread/judge.hpp", "distributed/engine/collective_plan.hpp", "distributed/engine/staged_engine.hpp", "distributed/threads/thread_engine.hpp",
            "device/capabilities.hpp", "device/factorization.hpp", "device/fourier.hpp", "device/linear_fusion.hpp", "cuda/nvtx.hpp", "device/cost_model.hpp", "device/iteration_plan.hpp", "device/row_team.hpp", "expr/node.hpp",
            "interop/onnx/forms/functions.hpp", "interop/onnx/forms/layers.hpp", "interop/onnx/forms/operations.hpp", "interop/onnx/forms/recurrent.hpp", "interop/onnx/recorded.hpp", "interop/onnx/recording.hpp",
            "interop/onnx/joined_runs.hpp", "io/json.hpp", "io/json_node.hpp", "io/utf8.hpp", "nn/members.hpp", "ops/reduction.hpp", "refuse/other_headers.hpp", "tensor/layout.hpp"}
HEAD = """# Reference

What a program calls, on a page for each subject, with what the headers say of it. What stands in `<...>` may be given; other template
parameters follow from the arguments. An operand `x` is a tensor, a traced tensor, a parameter or an expression, unless the
text says otherwise. Everything is in namespace `locus`. `#include <locus/locus.hpp>` brings all of it but the headers of which
an own `#include` is named; the [index](#index) has the header of every name.

Made from the headers by `tests/docs/reference_page.py --write`.
"""
PRIVATE = {"detail", "exporting", "operation", "functor", "fold", "cpu", "error", "math"}
OF_CUDA = {"settings", "convolution", "nvml", "versions"}  # headers whose namespace cuda is public; elsewhere it is private
NAMED = r"(?:shape|gradient|cost|gradient and cost|source):"
LABEL = re.compile(rf"{NAMED}|throws ")
UNENDED = re.compile(r"^(?!- |```).*[^.:;)]$")
CROWDED = re.compile(r"- .*(?<!gradient and)\s(?:shape|gradient|gradient and cost|cost):\s|.* (?:shape|gradient):\s{2,}")


def source_of(cursor):
    extent = cursor.extent
    return (INCLUDE.parent / extent.start.file.name).read_bytes()[extent.start.offset:extent.end.offset].decode()


def comment_of(cursor):
    """The comment before a function, or the one behind it, which libclang leaves out."""
    end = cursor.extent.end
    if cursor.raw_comment or end.file is None:
        return cursor.raw_comment
    line = (INCLUDE.parent / end.file.name).read_bytes()[end.offset:].partition(b"\n")[0].decode()
    behind = line.partition("///<")[2].strip()
    return f"/// {behind[0].upper()}{behind[1:]}" if behind else None


def type_of(cursor):
    """The type that a parameter is written with, without const and references; empty for an operand, whose type is a
    parameter of the template alone, and for lists."""
    written = " ".join(source_of(cursor).split()).partition(" = ")[0]
    if cursor.kind != cindex.CursorKind.PARM_DECL or not cursor.spelling or "initializer_list" in written or "(" in written:
        return ""
    name = re.sub(rf"\b{re.escape(cursor.spelling)}$", "", written).replace("...", "")
    name = re.sub(r"\s*\bconst\b|&|\btypename\b|\bdetail::", "", name).strip()
    operand = re.fullmatch(r"(auto|[A-Z]\w?|[A-Z][a-z]+)", name) and name in template_parameters(cursor.semantic_parent)
    return "" if operand or name == "auto" else f"{name} "


def template_parameters(cursor):
    """The names of its template parameters, and of the parameters of its class."""
    kinds = (cindex.CursorKind.TEMPLATE_TYPE_PARAMETER, cindex.CursorKind.TEMPLATE_NON_TYPE_PARAMETER)
    return {child.spelling for child in cursor.get_children() if child.kind in kinds}


def with_default(cursor):
    """`bool keepdim = false`, `rest...`, `{tensors...}`; a parameter without a name by its type."""
    text = " ".join(source_of(cursor).split())
    name = cursor.spelling + ("..." if "..." in text else "") if cursor.spelling else cursor.type.spelling
    if "initializer_list" in cursor.type.spelling:
        name = "{" + name + "...}"
    default = re.search(rf"\b{cursor.spelling} = (.*)", text) if cursor.spelling else None
    return type_of(cursor) + (f"{name} = {default[1]}" if default else name)


def anchor(name, scope="", of=""):
    """`nn::Linear` as nn-Linear, a member as Tensor-reshape."""
    return re.sub(r"\W+", "-", f"{scope}{of + '::' if of else ''}{re.sub(r'<.*', '', name)}").strip("-")


class Anchors:
    """Each once, where a name stands first, and on which page."""

    def __init__(self):
        self.made, self.page = {}, None

    def mark(self, *names):
        new = [name for name in dict.fromkeys(names) if name not in self.made]
        self.made.update(dict.fromkeys(new, self.page))
        return "".join(f'<a id="{name}"></a>' for name in new)


def given_parameters(cursor):
    """Template parameters that do not follow from the arguments: `<T = float>`."""
    kinds = (cindex.CursorKind.TEMPLATE_TYPE_PARAMETER, cindex.CursorKind.TEMPLATE_NON_TYPE_PARAMETER)
    deduced = " ".join(p.type.spelling for p in parameters(cursor) if not source_of(p).endswith("= {}"))
    of_class = {of.spelling for of in cursor.semantic_parent.get_children() if of.kind in kinds}
    given = []
    for parameter in cursor.get_children():
        if parameter.kind not in kinds or parameter.spelling == "Self":
            continue
        _, _, default = " ".join(source_of(parameter).split()).partition(" = ")
        if default in of_class:  # it only delays a constraint
            continue
        # A list in braces deduces no parameter that has a default.
        from_arguments = re.sub(r"std::initializer_list<.*?>+", "", deduced) if default else deduced
        if not re.search(rf"\b{parameter.spelling}\b(?!::)", from_arguments):
            given.append(parameter.spelling + (f" = {default}" if re.fullmatch(r"[\w:]+", default) else ""))
    return f"<{', '.join(given)}>" if given else ""


def parameters(cursor):
    return [c for c in cursor.get_children() if c.kind == cindex.CursorKind.PARM_DECL]


def call(cursor, scope=""):
    name = cursor.spelling.split("<")[0]
    return f"{scope}{name}{given_parameters(cursor)}({', '.join(map(with_default, parameters(cursor)))})"


def is_callable(cursor):
    """Functions that a program names. Without a name are parameters of copies and of refusals."""
    kinds = (cindex.CursorKind.FUNCTION_DECL, cindex.CursorKind.FUNCTION_TEMPLATE, cindex.CursorKind.CXX_METHOD,
             cindex.CursorKind.CONSTRUCTOR)
    return (cursor.kind in kinds and cursor.availability == cindex.AvailabilityKind.AVAILABLE and
            not re.match(r"operator\W|operator (bool|N)|<", cursor.spelling) and
            not any(not p.spelling and re.search(rf"\b{cursor.spelling.split('<')[0]}\b|detail::", p.type.spelling)
                    for p in parameters(cursor)))


def is_operator(cursor):
    kinds = (cindex.CursorKind.FUNCTION_DECL, cindex.CursorKind.FUNCTION_TEMPLATE, cindex.CursorKind.CXX_METHOD)
    return (cursor.kind in kinds and cursor.availability == cindex.AvailabilityKind.AVAILABLE and
            re.fullmatch(r"operator(?!=$)\W+", cursor.spelling) is not None)


def operators(cursors):
    """The operators, such as `+`; of a call or subscript operator its parameters, as `(index...)`."""
    names = []
    for cursor in filter(is_operator, cursors):
        name, taken = cursor.spelling.removeprefix("operator"), ", ".join(map(with_default, parameters(cursor)))
        names.append(name[0] + taken + name[1] if name in ("()", "[]") else name)
    return f"\nOperators: {', '.join(f'`{name}`' for name in dict.fromkeys(names))}.\n" if names else ""


def is_public(cursor):
    return cursor.access_specifier in (cindex.AccessSpecifier.PUBLIC, cindex.AccessSpecifier.INVALID)


def is_any_class(cursor):
    """A class, or a template of which there are specializations alone, which are not shown."""
    kinds = (cindex.CursorKind.CLASS_TEMPLATE, cindex.CursorKind.CLASS_DECL, cindex.CursorKind.STRUCT_DECL)
    if cursor.kind not in kinds or "<locus::" in cursor.displayname:
        return False
    return cursor.is_definition() or (cursor.kind == kinds[0] and cursor.raw_comment is not None and
                                      cursor.get_definition() is None)


def is_class(cursor):
    """One of which there is more to show than its name: a comment or fields."""
    return is_any_class(cursor) and (cursor.raw_comment is not None or
                                               any(c.kind == cindex.CursorKind.FIELD_DECL and is_public(c)
                                                   for c in cursor.get_children()))


def is_silent_class(cursor):
    return is_any_class(cursor) and not is_class(cursor)


def from_header(cursor):
    return cursor.location.file is not None and cursor.location.file.name.endswith(".hpp")


def prose(comment):
    """Markdown of a comment: its text, its labels as a list, its examples, which follow an empty line, as code. raises
    RuntimeError for a label in mid-sentence"""
    parts, code = [], False
    for line in (part.strip()[3:] for part in comment.splitlines()):
        if line.startswith("     ") and (code or parts[-1:] == [""]):
            parts += [] if code else ["```cpp"]
            parts.append(line[5:])
            code = True
            continue
        if code:
            parts += ["```", ""]
            code = False
        line = line.strip().replace("<", "&lt;")
        # A label after others stands four spaces behind them, or one, where a formatter has filled the line.
        in_list = LABEL.match(line) or parts[-1:] and parts[-1].startswith("- ")
        for item in re.split(rf"\s{{4,}}|(?<!gradient and)\s(?={NAMED}\s)" if in_list else r"\s{4,}", line):
            if LABEL.match(item):
                if UNENDED.search(parts[-1] if parts else ""):
                    raise RuntimeError(f"'{item}' stands in a list, as a label; end the sentence before it by a period, or wrap the lines "
                                       f"elsewhere: '{parts[-1]}' and '{item}'")
                parts += ["- " + item] if parts and parts[-1].startswith("- ") else ["", "- " + item]
            elif item and parts and parts[-1] not in ("", "```"):
                parts[-1] += " " + item
            else:
                parts.append(item)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts + (["```"] if code else []))).strip()


def described(functions, anchors, scope="", of=""):
    """The descriptions of functions, overloads without a comment under the one before; then the functions without a
    description. of: the class of the members"""
    def shown(cursor):
        """A member is called on an object; its class alone has a namespace."""
        if not of or cursor.spelling.split("<")[0] == of:
            return call(cursor, scope)
        return call(cursor, f"{scope}{of}::" if cursor.is_static_method() else "")

    groups, silent, marks = [], [], []
    for cursor in functions:
        comment = comment_of(cursor)
        if comment:
            groups.append((cursor.spelling, prose(comment), [shown(cursor)]))
        elif groups and groups[-1][0] == cursor.spelling:
            groups[-1][2].append(shown(cursor))
        else:
            silent.append(shown(cursor))
            marks.append(anchor(cursor.spelling, scope, of))
    parts = ["\n" + anchors.mark(anchor(spelling, scope, of)) + "  \n".join(f"**`{name}`**" for name in dict.fromkeys(names)) +
             f"\n\n{text}\n" for spelling, text, names in groups]
    if silent:
        parts.append("\n" + anchors.mark(*marks) + ("And " if groups else "") + ", ".join(f"`{name}`" for name in dict.fromkeys(silent)) + ".\n")
    return "".join(parts)


def described_fields(members):
    """As a sentence, or as a list where something is said of one of them."""
    fields = [c for c in members if c.kind == cindex.CursorKind.FIELD_DECL]
    said = [" ".join(line.strip().lstrip("/<").strip() for line in (c.raw_comment or "").splitlines()).replace("<", "&lt;")
            for c in fields]
    if any(said):
        return "\nFields:\n\n" + "".join(f"- `{with_default(field)}`" + (f": {text}\n" if text else "\n")
                                         for field, text in zip(fields, said))
    return f"\nFields: {', '.join(f'`{with_default(field)}`' for field in fields)}.\n" if fields else ""


def described_class(cursor, anchors, scope):
    members = [c for c in cursor.get_children() if is_public(c) and from_header(c)]
    mark = anchors.mark(anchor(cursor.spelling, scope))
    return ((f"\n{mark}\n" if mark else "") + f"\n### `{scope}{cursor.displayname}`\n" + (f"\n{prose(cursor.raw_comment)}\n" if cursor.raw_comment else "") +
            described_fields(members) +
            described([c for c in members if is_callable(c)], anchors, scope, re.sub(r"<.*", "", cursor.spelling)) +
            operators(members))


def declarations(cursor, scope, found):
    """Appends (header, line, scope, cursor) for the declarations in public namespaces."""
    for child in cursor.get_children():
        if child.kind == cindex.CursorKind.NAMESPACE and child.spelling not in PRIVATE:
            inline = re.match(r"(cpu_only|cuda|with|without)_", child.spelling)
            declarations(child, scope if inline else f"{scope}{child.spelling}::", found)
        elif ((is_callable(child) or is_operator(child) or is_any_class(child)) and from_header(child) and
              child.semantic_parent.kind == cindex.CursorKind.NAMESPACE):
            found.append((child.location.file.name, child.location.line, scope, child))


def public_declarations():
    """[(header, line, scope, cursor)] of all headers. raises RuntimeError for a header in neither list above"""
    program = "".join(f"#include <locus/{path.relative_to(INCLUDE)}>\n" for path in sorted(INCLUDE.rglob("*.hpp")))
    unit = cindex.Index.create().parse("page.cpp", [*common.CXX, f"-I{INCLUDE.parent}"], [("page.cpp", program)],
                                       cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
    problems = [str(problem) for problem in unit.diagnostics if problem.severity >= cindex.Diagnostic.Error]
    if problems:
        raise RuntimeError("\n".join(problems))
    found = []
    for child in unit.cursor.get_children():
        if child.kind == cindex.CursorKind.NAMESPACE and child.spelling == "locus":
            declarations(child, "", found)
    found = [(name.removeprefix(f"{INCLUDE}/"), *rest) for name, *rest in found]
    found = [each for each in found if each[2] != "cuda::" or each[0] in {f"cuda/{name}.hpp" for name in OF_CUDA}]
    # The definitions of a program without CUDA follow the declarations.
    declared = {}
    for header, line, scope, cursor in sorted(found, key=lambda each: each[:2]):
        if header == "cuda/settings.hpp" and scope == "cuda::":
            declared.setdefault(cursor.spelling, (header, line))
    found = [each for each in found if each[2] != "cuda::" or declared.get(each[3].spelling, each[:2]) == each[:2]]
    unlisted = {header for header, *_ in found} - {header for _, headers in SECTIONS for header in headers} - INTERNAL
    if unlisted:
        raise RuntimeError(f"add to SECTIONS or INTERNAL: {', '.join(sorted(unlisted))}")
    return found


def brought_by(header, seen):
    """Adds to `seen` the headers of Locus that a header includes, itself among them."""
    if header not in seen:
        seen.add(header)
        for included in re.findall(r"^#include <locus/(.*\.hpp)>", (INCLUDE / header).read_text(), re.MULTILINE):
            if (INCLUDE / included).exists():
                brought_by(included, seen)
    return seen


def refused_without_header():
    """{function}: calls without their header are refused by a row of refusals/other_headers.txt, which names it."""
    rows = re.findall(r"^use (\w+): ([^|]*)\|([^|]*)\|", (common.ROOT / "refusals" / "other_headers.txt").read_text(), re.MULTILINE)
    return {("models::" if form == "missing_model" else scope.strip()) + name.strip()
            for form, names, scope in rows for name in names.split(",")}


def check_reached(found, together):
    """raises RuntimeError for functions that neither locus.hpp brings nor a refusal asks to include. Programs on several
    ranks include distributed/distributed.hpp first of all, programs with other libraries' formats a header of interop."""
    # Beside a function of the same name for other operands, and callable without arguments, which an ellipsis takes as well.
    reached = refused_without_header() | {scope + cursor.spelling for header, _, scope, cursor in found if header in together} | \
        {"data::rand_augment", "data::trivial_augment_wide", "models::to_string"}
    lost = sorted({scope + cursor.spelling for header, _, scope, cursor in found
                   if is_callable(cursor) and header not in together | INTERNAL and not header.startswith(("distributed/", "interop/", "text/"))} - reached)
    if lost:
        raise RuntimeError(f"add the header to locus.hpp, or a row to refusals/other_headers.txt: {', '.join(lost)}")


def check_layers(found, together):
    """raises RuntimeError for a layer that a move of a type-erased module would not find, unless its header says so."""
    shipped = (INCLUDE / "nn" / "shipped_layers.hpp").read_text()
    for header, _, scope, cursor in found:
        bases = [child for child in cursor.get_children() if child.kind == cindex.CursorKind.CXX_BASE_SPECIFIER]
        text = (INCLUDE / header).read_text()
        if (header in together and scope == "nn::" and bases and cursor.spelling not in ("Layer", "Module") and
                not re.search(rf"\b{cursor.spelling}\b", shipped) and "To move a network that holds such a layer" not in text):
            raise RuntimeError(f"{header}: add {cursor.spelling} to nn/shipped_layers.hpp, or say 'To move a network that holds such a "
                               "layer, name it ...' at the top")


def described_header(header, here, together, anchors):
    """here: [(scope, cursor)] of its declarations, in order. together: headers of which locus.hpp is made"""
    intro = re.match(r"#pragma once\n((?://.*\n)*)", (INCLUDE / header).read_text())[1]
    text = " ".join(line[2:].strip() for line in intro.splitlines()).replace("<", "&lt;")
    scope = here[0][0] if here else ""
    unsaid = [(scope, cursor) for scope, cursor in here if is_silent_class(cursor)]
    silent = dict.fromkeys(f"`{scope}{cursor.displayname}`" for scope, cursor in unsaid)
    marks = anchors.mark(*(anchor(cursor.spelling, scope) for scope, cursor in unsaid))
    umbrella = header if header == "distributed/spread/vocabulary.hpp" else \
        "distributed/checkpoint.hpp" if header.startswith("distributed/checkpoint/") else \
        "distributed/spread.hpp" if header.startswith(("distributed/spread/", "core/spread")) else \
        "distributed/distributed.hpp" if header.startswith("distributed/") else header
    own = "" if header in together else f"\nIts own include: `#include <locus/{umbrella}>`.\n"
    return "".join([f"\nIn [`locus/{header}`](../../include/locus/{header}): {text}\n", own,
                    described([cursor for _, cursor in here if is_callable(cursor)], anchors, scope),
                    operators(cursor for _, cursor in here),
                    *(described_class(cursor, anchors, scope) for scope, cursor in here if is_class(cursor)),
                    f"\n{marks}Classes: {', '.join(silent)}.\n" if silent else ""])


def index(found, together, anchors):
    """Every name of the sections, with a link to its description, and the header to include."""
    shown = {header for _, headers in SECTIONS for header in headers}
    headers = {}
    for header, _, scope, cursor in found:
        if header in shown and not is_operator(cursor):
            headers.setdefault(scope + re.sub(r"<.*", "", cursor.spelling), []).append(header)
    rows = []
    for name in sorted(headers, key=lambda name: (name.rpartition("::")[2].lower(), name)):
        includes = [f"`{'locus.hpp' if header in together else header}`" for header in dict.fromkeys(headers[name])]
        links = [f"[`{header}`](../include/locus/{header})" for header in dict.fromkeys(headers[name])]
        page = anchors.made.get(anchor(name))
        shown_name = f"[`{name}`]({page}#{anchor(name)})" if page else f"`{name}`"
        rows.append(f"| {shown_name} | {', '.join(dict.fromkeys(includes))} | {', '.join(links)} |\n")
    return "".join(["\n## Index\n\nWhat stands in `locus.hpp` is also had from the header that declares it alone; both are below `locus/`.\n\n",
                    "| name | include | declared in |\n|---|---|---|\n", *rows])


def page_of(title):
    return f"reference/{title.lower().replace(',', '').replace(' ', '-')}.md"


def pages():
    """{path below docs: text}"""
    found = sorted(public_declarations(), key=lambda each: each[:2])
    together = brought_by("locus.hpp", set())
    check_reached(found, together)
    check_layers(found, together)
    made, anchors = {}, Anchors()
    for title, headers in SECTIONS:
        anchors.page = page_of(title)
        parts = [f"# {title}\n\n[The reference](../reference.md) lists all subjects and names.\n"]
        for header in headers:
            here = [(scope, cursor) for name, _, scope, cursor in found if name == header]
            parts.append(described_header(header, here, together, anchors))
        made[anchors.page] = "".join(parts)
    contents = "".join(f"- [{title}]({page_of(title)})\n" for title, _ in SECTIONS)
    made["reference.md"] = HEAD + "\n" + contents + index(found, together, anchors)
    return made


def check(report):
    if not cindex:
        return report.skip("docs/reference", "Python has no clang.cindex here (Debian's package python3-clang-14)")
    try:
        made = pages()
        there = {str(path.relative_to(DOCS)) for path in (DOCS / "reference").glob("*")} | {"reference.md"}
        stale = sorted(name for name in there | set(made)
                       if name not in made or name not in there or (DOCS / name).read_text() != made[name])
        problem = stale and f"not what the headers say: {', '.join(stale)}; run tests/docs/reference_page.py --write"
        crowded = [line for text in made.values() for line in text.splitlines() if CROWDED.match(line)]
        problem = problem or crowded and f"labels that run together: {crowded[0]}"
    except RuntimeError as error:
        problem = error
    report.add("docs/reference", problem)


def write():
    made = pages()  # before the old ones go
    for path in (DOCS / "reference").glob("*.md"):
        path.unlink()
    (DOCS / "reference").mkdir(exist_ok=True)
    for name, text in made.items():
        (DOCS / name).write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the pages anew")
    if parser.parse_args().write:
        write()
    common.main(check)
