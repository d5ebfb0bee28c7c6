"""docs/mistakes.md, generated from tests/compile_fail/usage: code, the compiler's message, the fix.

Also compares the options that messages list with the fields of the structs.
"""

import re

import common
import compile_errors_page

PAGE = common.ROOT / "docs" / "mistakes.md"
COMPILER = "clang"

HEAD = """# Common mistakes

Programs written by habit from PyTorch, NumPy or Eigen. The compiler answers each mistake in at most twelve lines; the first
is about your file. Below is the first line of clang 14; g++ and nvcc say the same as the name of a type, such as
`error::not_possible<error::no_such_option_or_argument, error::the_options_are_lr_momentum_dampening_weight_decay_nesterov_maximize>`.
Mistakes of place are in [the catalogue of compile errors](compile-errors.md).

This page is made of [`tests/compile_fail/usage`](../tests/compile_fail/usage) by
`tests/tools/compile_fail.py --dir tests/compile_fail/usage --write-page`; the test suite compares it with the compiler.
"""
OPTIONS = re.compile(r"its options, in this order, are ((?:\.\w+(?:, )?)+)")

# The struct of the options that a message lists, by the beginning of the message.
STRUCTS = {"Adam:": "optim/adam.hpp AdamOptions", "AdamW:": "optim/adam.hpp AdamWOptions", "Sgd:": "optim/sgd.hpp SgdOptions",
           "RMSprop:": "optim/rmsprop.hpp RMSpropOptions", "Adagrad:": "optim/adagrad.hpp AdagradOptions",
           "Lion:": "optim/lion.hpp LionOptions", "fit:": "training/fit_options.hpp FitOptions",
           "loader:": "data/loading/loader.hpp LoaderOptions", "cross_entropy:": "ops/cross_entropy.hpp CrossEntropyOptions",
           "nn::Conv1d:": "nn/conv.hpp Conv1dOptions", "nn::Conv2d:": "nn/conv.hpp Conv2dOptions",
           "nn::ConvTranspose2d:": "nn/conv.hpp ConvTranspose2dOptions", "nn::BatchNorm1d:": "nn/batch_norm.hpp BatchNormOptions",
           "nn::BatchNorm2d:": "nn/batch_norm.hpp BatchNormOptions", "nn::Embedding:": "ops/index.hpp EmbeddingOptions",
           "nn::MultiheadAttention:": "nn/attention.hpp MultiheadAttentionOptions",
           "nn::MaxPool1d:": "ops/pool.hpp MaxPool1dOptions", "nn::MaxPool2d:": "ops/pool.hpp MaxPool2dOptions",
           "nn::AvgPool1d:": "ops/pool.hpp AvgPoolOptions", "nn::AvgPool2d:": "ops/pool.hpp AvgPoolOptions"}

# The same for classes whose messages are types, by their files in refuse/.
GUIDES = {"criterion_cross_entropy_guide.inc": "ops/cross_entropy.hpp CrossEntropyOptions",
          "criterion_nll_guide.inc": "nn/nll_loss.hpp NLLLossOptions",
          "criterion_bce_with_logits_guide.inc": "nn/criterion.hpp LossOptions"}


def fields_of(text, struct):
    """The names of a struct's fields, each of which has a default."""
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"(\w+) = ", re.sub(r"//.*", "", body))


def stale_options(include=common.ROOT / "include" / "locus"):
    """Problems of the lists of options in refuse/: [text]."""
    problems, found = [], set()
    for path in sorted((include / "refuse").rglob("*.inc")):
        for text, why in re.findall(r"#define LOCUS_REFUSED_TEXT (.*?)\n#define LOCUS_REFUSED_WHY(.*?)\n#include", path.read_text(), re.DOTALL):
            text = re.sub(r'"\s*\\\n\s*"', "", text)
            listed = OPTIONS.search(text)
            if not listed:
                continue
            names = [name.lstrip(".") for name in listed[1].split(", ")]
            message = re.search(r'"(\S+:) ', text)[1]
            found.add(message)
            header, struct = STRUCTS.get(message, "? ?").split()
            if header == "?":
                problems.append(f"{path.name}: {message} is not in STRUCTS of mistakes_page.py")
            elif names != (fields := fields_of((include / header).read_text(), struct)):
                problems.append(f"{path.name} lists {', '.join(names)}, but {struct} has {', '.join(fields)}")
            if "_".join(names) not in why:
                problems.append(f"{path.name}: g++'s words list other options than clang's")
    for name, place in GUIDES.items():
        header, struct = place.split()
        if not (guide := include / "refuse" / "nn" / name).exists():
            problems.append(f"{name} of GUIDES of mistakes_page.py is not there")
        elif f"_options_{'_'.join(names := fields_of((include / header).read_text(), struct))}>" not in guide.read_text():
            problems.append(f"{name} lists other options than {struct}, which has {', '.join(names)}")
    return problems + [f"no message begins with {message}" for message in sorted(STRUCTS.keys() - found)]


def render(folder, first_lines):
    """The page; first_lines: {name of the test: the compiler's first error line}."""
    groups = {}
    for path in sorted(folder.glob("*.cpp")):
        text = path.read_text()
        groups.setdefault(re.search(r"^// group: (.*)$", text, re.MULTILINE)[1], []).append((path.stem, text))
    parts = [HEAD]
    for group in sorted(groups):
        parts.append(f"\n## {group}\n\n| wrong | clang 14 says | instead |\n|---|---|---|\n")
        parts += [row(text, compile_errors_page.message(first_lines[name])) for name, text in groups[group]]
    return "".join(parts)


def row(text, said):
    """If the branches differ in their includes or in a class, the title describes the mistake."""
    if re.search(r"^#ifndef LOCUS_MUST_FAIL", text, re.MULTILINE):
        title = re.match(r"// (.*)", text)[1].rstrip(".")
        include = re.search(r"#include <[^>]*>", said)
        instead = f"`{include[0]}`" if include else re.search(r"^// because: (.*)$", text, re.MULTILINE)[1]
        return f"| {title} | {compile_errors_page.in_cell(said)} | {instead} |\n"
    return compile_errors_page.row(text, said)


def problem(folder, first_lines):
    """The problem of the page, or of the options that messages list, or None."""
    if stale := stale_options():
        return "\n".join(stale)
    if not PAGE.exists() or PAGE.read_text() != render(folder, first_lines):
        return (f"{PAGE.name} is not what the compiler says now: run tests/tools/compile_fail.py "
                "--dir tests/compile_fail/usage --write-page")
    return None
