#!/usr/bin/env python3
"""The table of functions and their operators in docs/onnx.md follows from the forms in include/locus/interop/onnx/forms.

usage: onnx_table.py [--write]
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402

PAGE = common.ROOT / "docs" / "onnx.md"
HEADERS = [common.ROOT / "include" / "locus" / "interop" / "onnx" / "forms" / name for name in ("functions.hpp", "operations.hpp", "layers.hpp")]
BEGIN, END = "<!-- forms: begin -->\n", "<!-- forms: end -->\n"
FORM = re.compile(r"(?:LOCUS_ONNX_[A-Z]+\((?=[A-Z][a-z])|write\(Recorder&[^,]*, const (?:functor|operation)::|inline Value (?=position\())(\w+)")
OPERATOR = re.compile(r'"([A-Z]\w+)"')
# Calls of these helpers write the operators that stand in them.
HELPERS = {"as_bool": ["Cast"], "cast": ["Cast"], "summable": ["Cast"], "variance": ["ReduceMean", "Sub", "Mul", "ReduceSum", "Div"],
           "exporting::slice": ["Slice"], "rectified": [], "batched": [],
           "graph.reshape": ["Reshape"], "given_or": [],
           "exporting::attention": ["Mul", "MatMul", "Softmax", "Where"], "graph.transposed": ["Transpose"]}
NAMES = {
    "Functor": None, "Identity": None, "ChosenActivation": None, "ChannelsLast": "channels_last", "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/",
    "Negate": "-x", "Power": "pow", "Remainder": "%", "Convert": "as<T>()", "Choose": "where(c, number, number)",
    "Equal": "==", "NotEqual": "!=", "Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">=",
    "LogicalAnd": "&&", "LogicalOr": "||", "LogicalNot": "!x", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "BitNot": "~x",
    "IsNan": "isnan", "IsInf": "isinf", "IsFinite": "isfinite", "GeluTanh": "gelu<GeluForm::tanh>", "Prelu": "prelu",
    "Permute": "permute, transpose", "Slice": "slice, select, at", "Reshape": "reshape, flatten, squeeze, unsqueeze",
    "Triangle": "tril, triu", "Product": "prod", "Extreme": "max, min", "Variance": "var", "StandardDeviation": "stddev",
    "LogSumExp": "logsumexp", "Sort": "sort, topk", "position": "argmax, argmin", "CumulativeSum": "cumsum", "Softmax": "softmax, log_softmax", "IndexSelect": "index_select, embedding",
    "LayerNorm": "layer_norm, rms_norm", "GroupNorm": "group_norm, instance_norm", "Convolution": "conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d",
    "MaxPool": "max_pool1d, max_pool2d", "AvgPool": "avg_pool1d, avg_pool2d", "AdaptiveAvgPool": "adaptive_avg_pool1d, adaptive_avg_pool2d",
    "MaxWindows": "max_pool3d, adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d",
    "Attention": "scaled_dot_product_attention", "PackedAttention": "packed_attention",
}


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def forms():
    """{name in Locus: operators} in the order of the headers."""
    table = {}
    for header in HEADERS:
        text = header.read_text()
        found = list(FORM.finditer(text))
        for form, following in zip(found, [*found[1:], None]):
            body = text[form.end():following.start() if following else len(text)]
            name = NAMES.get(form[1], snake(form[1]))
            if name is None:
                continue
            operators = OPERATOR.findall(body)
            for helper, written in HELPERS.items():
                if re.search(re.escape(helper) + r"\(", body):
                    operators += written
            known = table.setdefault(name, [])
            known += [operator for operator in dict.fromkeys(operators) if operator not in known]
    return table


def rendered():
    rows = [f"| `{name}` | {', '.join(operators) or 'none: x itself'} |" for name, operators in forms().items()]
    # A pipe within a cell ends the cell.
    rows = [row.replace("`||`", "`\\|\\|`").replace("`|`", "`\\|`") for row in rows]
    return "\n".join(["| function | operators |", "|---|---|", *rows]) + "\n"


def table_problem():
    text = PAGE.read_text()
    if BEGIN not in text or END not in text:
        return f"{PAGE} has no lines {BEGIN.strip()} and {END.strip()}"
    current = text[text.index(BEGIN) + len(BEGIN):text.index(END)]
    return None if current == rendered() else f"the table of {PAGE} is not current; run {pathlib.Path(__file__).name} --write"


if __name__ == "__main__":
    if "--write" in sys.argv:
        text = PAGE.read_text()
        PAGE.write_text(text[:text.index(BEGIN) + len(BEGIN)] + rendered() + text[text.index(END):])
    common.main(lambda report: report.add("the table of docs/onnx.md", table_problem()))
