#!/usr/bin/env python3
"""Writes the refusals of include/locus/refuse from the tables in refusals/, or checks that the files are up to date.

A table names each file that it writes, then has a row for each refused call:

    [ops/linear]                         include/locus/refuse/ops/linear.inc
    selu(x)                              a function of one tensor of floating-point numbers
    sum(x, bool = false)                 one with further parameters
      mistake: detail::OperandMistake<X> and with another mistake, by refuse/function.inc
    seen_by(const L&, const R&)          operands that conflict, by refuse/operands.inc
      call: seen_by(x, w)
      mistake: detail::Mistake<L, R>
      places: the input is | the weights are
      remedy: move the input with .to<LEFT>()
      tensors: L, R                      nvcc takes the result for a tensor like the first of these
    trace(const X&)                      a call under a condition, by refuse/if.inc
      if: detail::IsTraced<X>
      says: trace(x): x is traced already; use it as it is
    sum(...)                             calls that match no overload, by refuse/usage.inc
      says: sum: no such option or argument; say sum(x)
    AvgPool1d{...}                       the same of a constructor, by refuse/options.inc
    optimizer Adam                       the same of an optimizer's constructors, by refuse/parameters.inc
    guide MSELoss                        the same of deduction guides of a loss, by refuse/nn/criterion_guide.inc
      says: nn::AvgPool1d: no such option or argument; say nn::AvgPool1d{kernel}
    use axis: softmax, log_softmax       the rows of a form, for each of these
    use missing: sort, topk | ops/sort.hpp   a form with several parameters
    include ops/repeat_mistakes.inc      another file
    spread functions of distributed/spread/functions.hpp
                                         each function that the header lists, by refuse/distributed/spread/call.inc;
                                         also `spread updates of`, and `spread nn of` for its namespace nn

Further keys: `template` (by default `class` for each letter of the parameters, in their order), `result`, and
`result of nvcc`. A line that begins with no key continues the line above. A form, [form axis(f)], has rows with {f};
several arguments are separated by |.

With `options: HEADER STRUCT`, OPTIONS in a sentence stands for the names of the struct's fields.

A sentence is written once. clang prints it; g++ and nvcc print types, whose names are made of it: the mistake up to the
semicolon, the remedy behind it. Where the types take arguments, `why` states them; a plain `why` is an error.

usage: refusals.py [--write]
"""

import argparse
import re
import textwrap

import common

TABLES = common.ROOT / "refusals"
INCLUDE = common.ROOT / "include" / "locus"
FOLDER = INCLUDE / "refuse"
WORDS = FOLDER / "words.hpp"
KEYS = ["template", "if", "mistake", "call", "places", "remedy", "tensors", "result", "result of nvcc", "first", "says", "options", "why"]
KEY = re.compile(rf"\s+({'|'.join(sorted(KEYS, key=len, reverse=True))}): ?(.*)")
CALL = re.compile(r"([\w:~.]+(<\w+>)?(\([^()]*\))?(\[\w\])?|a \S+ b|\w\[\w\]): ")
SYMBOLS = [(" && ", " and "), (" || ", " or "), ("!x", "not x"), (" += ", " plus equals "), (" -= ", " minus equals "),
           (" *= ", " times equals "), (" * ", " times "), (" / ", " over "), (" > ", " greater "), ("(-", "(minus "), (" -1", " minus 1")]


def type_name(words):
    """The name of a type that reads as these words."""
    words = words[:1].lower() + words[1:]
    words = words.replace("its options, in this order,", "the options")
    for symbol, word in SYMBOLS:
        words = words.replace(symbol, word)
    return re.sub(r"_+", "_", "_".join(re.findall(r"\w+", words)))


def names_of(sentence):
    """(mistake, remedy) of a sentence, as names of types, or (mistake,) where it has but one part."""
    call = CALL.match(sentence)
    words = sentence[call.end():] if call else sentence
    for end in ("; ", "? ", ": "):
        mistake, _, remedy = words.partition(end)
        if remedy:
            return type_name(mistake), type_name(remedy)
    return (type_name(words),)


def why_of(row, declared):
    """The type that g++ and nvcc print."""
    if "why" in row:
        return row["why"]
    names = names_of(row["says"])
    declared.update(names)
    return f"error::not_possible<{', '.join('error::' + name for name in names)}>"


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def template_of(signature):
    """`class` for each type of the parameters that is a letter, or a pack of a capitalised name."""
    parameters = signature[signature.rindex("(", 0, signature.rindex(")")):] if signature.count("(") > 1 else signature
    found = re.findall(r"[(,] ?(?:const )?([A-Z]|[A-Z]\w*(?=(?:&|&&)?\.\.\.))(?:&|&&)?(\.\.\.)?(?=[,)]| = )", parameters)
    return ", ".join(f"class{dots} {name}" for name, dots in dict(found).items())


def remedy_of(text):
    return re.sub(r'"" | ""$', "", literal(text).replace("LEFT", '" left "').replace("RIGHT", '" right "'))


def fields_of(text, struct):
    """The names of a struct's fields, each of which has a default."""
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"(\w+) = ", re.sub(r"//.*", "", body))


def with_options(row):
    """The row with the names of options in its sentence."""
    if "options" not in row:
        return row
    header, struct = row["options"].split()
    names = ", ".join(f".{name}" for name in fields_of((INCLUDE / header).read_text(), struct))
    return row | {"says": row["says"].replace("OPTIONS", names)}


def macros(row, declared):
    """[(macro, value)] and the file that they are for."""
    head = row["head"]
    defined = []
    if one := re.fullmatch(r"([\w:~]+|operator\S+?)\(x((?:, .*)?)\)", head):
        defined += [("_FUNCTION", one[1]), ("_PARAMETERS", one[2].strip()), ("_MISTAKE", row.get("mistake"))]
        return "function", defined
    if (usage := re.fullmatch(r"(\w+)\(\.\.\.\)", head)) and "if" not in row:
        return "usage", [("_FUNCTION", usage[1]), ("_TEMPLATE", row.get("template")), ("_TEXT", literal(row["says"])),
                         ("_WHY", why_of(row, declared))]
    if options := re.fullmatch(r"(\w+)\{\.\.\.\}", head):
        return "options", [("_CLASS", options[1]), ("_FIRST", row.get("first")), ("_TEXT", literal(row["says"])),
                           ("_WHY", why_of(row, declared))]
    if optimizer := re.fullmatch(r"optimizer (\w+)", head):
        return "parameters", [("_OPTIMIZER", optimizer[1]), ("_OPTIONS", f"{optimizer[1]}Options"), ("_TEXT", literal(row["says"])),
                              ("_WHY", why_of(row, declared))]
    if guide := re.fullmatch(r"guide (\w+)", head):
        return "nn/criterion_guide", [("_LOSS", guide[1]), ("_WHY", why_of(row, declared))]
    if spread := re.fullmatch(r"spread(\w*) (\S+) (\w+)(?: (\S+))?", head):
        form, name, linearity, first = spread.groups()
        forms = {"_unary": ("class X", "X", "const X&"), "_binary": ("class L, class R", "L, R", "const L&, const R&"),
                 "_after": (None, None, f"{first}, const X&..."),
                 "_draws": ("class X, class D, class... S", "X, dist::SpreadGenerator<D, S...>",
                            "const X&, double, dist::SpreadGenerator<D, S...>&")}
        names = forms.get(form.replace("update", "binary"), (None, None, None))
        defined = zip(["_TEMPLATE", "_OPERANDS", "_PARAMETERS"], names)
        return "distributed/spread/call", [("_FUNCTION", name), ("_LINEARITY", linearity), *defined]
    template = row.get("template", template_of(head))
    if "says" in row:
        return "if", [("", head), ("_RESULT", row.get("result")), ("_RESULT of nvcc", row.get("result of nvcc")),
                      ("_TEMPLATE", template), ("_IF", row.get("if")), ("_TEXT", literal(row["says"])),
                      ("_WHY", why_of(row, declared))]
    left, right = (place.strip() for place in row.get("places", "|").split("|"))
    tensors = row.get("tensors")
    if template == "class L, class R" and tensors is None:
        template = None
    if tensors == "none":
        tensors = None
    return "operands", [("", head), ("_CALL", literal(row["call"])), ("_TEMPLATE", template), ("_OPERANDS", tensors),
                        ("_MISTAKE", row.get("mistake")), ("_LEFT", left and literal(left)), ("_RIGHT", right and literal(right)),
                        ("_REMEDY(left, right)", row.get("remedy") and remedy_of(row["remedy"]))]


def stanza(row, declared):
    """The lines of a row in its file."""
    if row["head"].startswith("include "):
        return ["", f"#include <locus/refuse/{row['head'].removeprefix('include ')}>", ""]  # clang-format sorts includes without gaps
    form, defined = macros(with_options(row), declared)
    lines = []
    for name, value in defined:
        if value and name.endswith(" of nvcc"):
            lines += ["#if LOCUS_NVCC", f"#define LOCUS_REFUSED{name.removesuffix(' of nvcc')} {value}", "#endif"]
        elif value:
            lines.append(f"#define LOCUS_REFUSED{name} {value}")
    return [*lines, f"#include <locus/refuse/{form}.inc>"]


def read_rows(text):
    """{heading: [row]} of a table."""
    sections, row, key = {}, None, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if heading := re.fullmatch(r"\[(.*)\]", line):
            if heading[1] in sections:
                raise ValueError(f"line {number}: [{heading[1]}] stands there twice")
            rows = sections[heading[1]] = []
            row, key = None, None
        elif not line.startswith(" "):
            row, key = {"head": line.strip()}, "head"
            rows.append(row)
        elif found := KEY.fullmatch(line):
            key = found[1]
            if key in row:
                raise ValueError(f"line {number}: `{key}` stands there twice")
            row[key] = found[2].strip()
        elif row is None:
            raise ValueError(f"line {number}: no row begins above it")
        else:
            row[key] += " " + line.strip()
    return sections


def filled(value, names, arguments):
    for name, argument in zip(names, arguments):
        value = value.replace("{" + name + "}", argument)
    return value


SPREAD = re.compile(r"^LOCUS_OVER(|_UNARY|_BINARY|_AFTER|_UPDATE)\(([^,()]+), (\w+)(?:, ([\w:]+))?\)$", re.MULTILINE)


def spread_rows(header, part):
    """A row for each function that a header lists for operands spread over ranks: `part` is functions, updates or nn."""
    text = (INCLUDE / header).read_text()
    nn = re.search(r"^namespace nn {$.*^}  // namespace nn$", text, re.MULTILINE | re.DOTALL)[0]
    for form, name, linearity, first in SPREAD.findall(nn if part == "nn" else text.replace(nn, "")):
        if (form == "_UPDATE") == (part == "updates"):
            yield {"head": f"spread{form.lower()} {name} {linearity} {first}".strip()}


def expand(rows, forms):
    """The rows, with the rows of forms in place of their uses, and of a header's functions."""
    for row in rows:
        if spread := re.fullmatch(r"spread (\w+) of (\S+)", row["head"]):
            yield from spread_rows(spread[2], spread[1])
            continue
        use = re.fullmatch(r"use (\w+): (.*)", row["head"])
        if not use:
            yield row
            continue
        names, template = forms[use[1]]
        listed, *others = (part.strip() for part in use[2].split("|")) if len(names) > 1 else [use[2]]
        words = listed.split(", ")
        for argument in words if all(re.fullmatch(r"\w+|[-+*/%&|^<>=]+", word) for word in words) else [listed]:
            arguments = [argument, *others]
            if len(arguments) != len(names):
                raise ValueError(f"{row['head']}: form {use[1]} has the parameters {', '.join(names)}")
            yield from expand(({key: filled(value, names, arguments) for key, value in each.items()} for each in template), forms)


def read_tables(folder):
    """({name of a table: {heading: [row]}}, forms)"""
    tables, forms = {}, {}
    for path in sorted(folder.glob("*.txt")):
        try:
            tables[path.name] = read_rows(path.read_text())
        except ValueError as error:
            raise ValueError(f"{path.name}, {error}") from None
    for sections in tables.values():
        for heading in [heading for heading in sections if heading.startswith("form ")]:
            name, parameters = re.fullmatch(r"form (\w+)\((.*)\)", heading).groups()
            forms[name] = parameters.split(", "), sections.pop(heading)
    return tables, forms


def written_files(folder=TABLES):
    """{path below refuse/: text} of all that the tables write."""
    tables, forms = read_tables(folder)
    declared, files = set(), {}
    for table, sections in tables.items():
        for name, rows in sections.items():
            lines = [f"// Written by tests/tools/refusals.py from refusals/{table}.", "", "// clang-format off"]
            for row in expand(rows, forms):
                try:
                    lines += stanza(row, declared)
                except KeyError as missing:
                    raise ValueError(f"{table}, [{name}], {row['head']}: {missing} is missing") from None
            files[f"{name}.inc"] = "\n".join([*lines, "// clang-format on", ""])
    files["words.hpp"] = words_page(declared)
    return files


def words_page(declared):
    return "\n".join(["#pragma once", "// Written by tests/tools/refusals.py: the types that are named in refusals/ as sentences.", "",
                      "// clang-format off", "namespace locus::error {", "", *(f"struct {name};" for name in sorted(declared)), "",
                      "}  // namespace locus::error", "// clang-format on", ""])


def problems():
    """Problems of the files in the tree: [text]."""
    files = written_files()
    found = [name for name, text in files.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text]
    stray = [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.rglob("*"))
             if path.is_file() and str(path.relative_to(FOLDER)) not in files and "Written by tests/tools/refusals.py" in path.read_text()]
    return [f"{name} is not what refusals/ says; tests/tools/refusals.py --write" for name in found] + \
           [f"{name} is in no table of refusals/" for name in stray]


def check(report):
    report.add("files of refuse/", "\n".join(problems()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the files anew")
    if parser.parse_args().write:
        for name, text in written_files().items():
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_text(text)
    common.main(check)
