#!/usr/bin/env python3
"""The shape of the tree: includes go strictly downwards, kernels stay in cuda_kernels, headers include the definitions
of the members of tensors that they call and the standard headers of what they name, every test is built.

usage: check_tree.py [--root DIR]
"""

import argparse
import pathlib
import re

import common
import test_tables

# A header may include its own folder and folders of a lower rank. report/ displays the results of the others.
RANKS = {"core": 0, "refuse": 1, "device": 2, "cpu": 3, "cuda": 3, "tensor": 4, "expr": 5, "ops": 6, "autograd": 7, "fft": 7, "linalg": 7, "distributions": 8, "nn": 8,
         "optim": 8, "data": 9, "training": 10, "io": 11, "interop": 12, "text": 12, "distributed": 13, "models": 14, "report": 15}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
SEES_NVCC = re.compile(r"core/config\.hpp|cuda/\w+\.hpp")
BELOW_KERNELS = {"locus/device/verbs.hpp", "locus/device/iteration_plan.hpp", "locus/device/row_team.hpp",
                 "locus/device/attention.hpp", "locus/device/convolution.hpp", "locus/device/trace/launch_log.hpp", "locus/device/trace/launch_trace.hpp", "locus/device/trace/trace_file.hpp", "locus/device/linear_fusion.hpp",
                 "locus/device/factorization.hpp", "locus/device/fourier.hpp", "locus/device/replay.hpp", "locus/device/memory_limit.hpp"}
# Long headers that every program would compile, and their replacements in Locus.
COSTLY = {"algorithm": "core/std/bounds.hpp", "memory": "core/std/shared.hpp", "functional": "a function pointer and its state",
          "tuple": "core/std/pack.hpp", "iostream": "<cstdio>", "sstream": "join()", "random": "core/rng.hpp",
          "regex": "code of its own", "chrono": "core/std/posix.hpp", "thread": "cpu/threads/thread_team.hpp",
          "mutex": "core/std/posix.hpp", "condition_variable": "core/std/atomic.hpp"}
# Further headers that are expensive for a plain C++ compiler; nvcc includes most of them anyway.
COSTLY_WITHOUT_NVCC = COSTLY | {"atomic": "core/std/atomic.hpp", "cmath": "core/math.hpp or the compiler's builtins",
                                "iterator": "core/std/iterator.hpp", "span": "core/std/span.hpp"}

# Names of std, and the standard headers that declare them; "" for a header of the same name. libstdc++ declares many of
# them in further headers, and libc++ does not.
DECLARED_IN = {
    r"array|chrono|deque|filesystem|map|mutex|optional|set|span|string|string_view|thread|tuple|unordered_map|variant|vector": "",
    r"back_inserter|default_sentinel(?:_t)?|iter_\w+_t|make_move_iterator|sentinel_for|\w+_iterator(?:_tag)?": "iterator",
    r"bit_cast|bit_ceil|bit_width|countl_zero|countr_zero|endian|has_single_bit|popcount": "bit",
    r"chars_format|from_chars|to_chars": "charconv",
    r"errc|error_code|system_category": "system_error charconv",
    r"bad_alloc|nothrow(?:_t)?|align_val_t": "new",
    r"current_exception|exception_ptr|rethrow_exception|uncaught_exceptions": "exception",
    r"logic_error|out_of_range|runtime_error": "stdexcept",
    r"numeric_limits": "limits",
    r"mem(?:chr|cmp|cpy|move|set)|str(?:chr|cmp|error|len|ncmp)": "cstring",
    r"FILE|f(?:close|flush|open|printf|puts|read|write)|printf|rename|snprintf": "cstdio",
    r"abort|aligned_alloc|exit|free|getenv|malloc|strto\w+": "cstdlib",
    r"u?int(?:8|16|32|64|max|ptr)_t": "cstdint",
    r"declval|exchange|forward|index_sequence|make_pair|move|pair": "utility map tuple unordered_map",
    r"equal|lower_bound|nth_element|partial_sort|remove_if|sort|stable_sort|upper_bound": "algorithm",
    r"bind|function|hash|invoke|reference_wrapper": "functional",
    r"make_shared|make_unique|shared_ptr|unique_ptr": "memory",
}

# The maximal share of refusals in the lines of a header of functions. Further ones are in refuse/.
REFUSAL = re.compile(r"#\s*define LOCUS_REFUSED|LOCUS_UNAVAILABLE|LOCUS_CLANG_REFUSES|struct \w*Mistake\b|class why\b")
INCLUDES_REFUSAL = re.compile(r"\s*#\s*include <locus/refuse/")
MOST_REFUSALS = 0.12


def share_of_refusals(text):
    """The share of lines that declare refusals, with the lines that continue them, and includes of such in a class."""
    lines = text.splitlines()
    refusals, continues, scopes = 0, False, []  # scopes: of each open brace, whether it is a namespace's
    for line, words in zip(lines, code(text).splitlines()):
        refuses = continues or bool(REFUSAL.search(line)) or bool(INCLUDES_REFUSAL.match(line) and not all(scopes))
        refusals += refuses
        continues = refuses and line.endswith("\\")
        for brace in re.findall(r"[{}]", words):
            if brace == "{":
                scopes.append("namespace" in words)
            elif scopes:
                scopes.pop()
    return refusals / max(len(lines), 1)


def included(text):
    """[(bracket, path)] of every include directive."""
    return INCLUDE.findall(re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL))


def code(text):
    """The text without comments and string literals, in as many lines."""
    return COMMENT_OR_TEXT.sub(lambda found: " " + "\n" * found[0].count("\n"), text)


def check_public(root, path):
    """Problems of one header under include/locus."""
    name = path.relative_to(root / "include" / "locus").as_posix()
    folder = name.split("/")[0] if "/" in name else None
    text = path.read_text()
    problems = []
    if path.suffix == ".hpp" and not text.startswith("#pragma once\n"):
        problems.append("does not begin with #pragma once")
    if folder != "refuse" and share_of_refusals(text) > MOST_REFUSALS:
        problems.append(f"{share_of_refusals(text):.0%} of its lines are refusals; make them rows [{name.removesuffix('.hpp')}] of refusals/")
    if folder is not None and folder not in RANKS and folder != "instances":
        problems.append(f"folder {folder} has no rank in check_tree.py")
    for bracket, target in included(text):
        instead = COSTLY_WITHOUT_NVCC.get(target)
        if instead and name != instead and folder not in ("io", "report", "text"):  # which no program has without asking for it
            problems.append(f"includes <{target}>, which every program would compile; use {instead}")
        if bracket == '"':
            problems.append(f'includes "{target}"; write <locus/...>')
        elif (root / "cuda_kernels" / target).exists():
            if folder != "cuda":
                problems.append(f"includes <{target}>; only cuda/ may")
        elif target.startswith("locus/"):
            problems += check_direction(name, folder, target.removeprefix("locus/"))
    words = code(text)
    if "__CUDACC__" in words and not SEES_NVCC.fullmatch(name):
        problems.append("asks for __CUDACC__; only core/config.hpp and cuda/ may")
    if "__CUDA_ARCH__" in words and name != "core/config.hpp":
        problems.append("asks for __CUDA_ARCH__; only core/config.hpp may, as LOCUS_DEVICE_PASS and LOCUS_ON_DEVICE")
    if "<<<" in words:
        problems.append("launches a kernel with <<<; only cuda_kernels may")
    return problems


def check_direction(name, folder, target):
    if name == "locus.hpp":
        return []
    if target == "locus.hpp":
        return ["includes <locus/locus.hpp>, which includes everything"]
    if target == "fwd.hpp":
        return [] if folder != "core" else ["includes <locus/fwd.hpp> from below it"]
    of = target.split("/")[0]
    if of == "instances":  # beside a definition; of several, in compiled.hpp
        beside = f"instances/{name.removesuffix('.hpp')}.inc"
        return [] if target == beside or name == "compiled.hpp" or folder == "instances" else [f"includes <locus/{target}>; only its own may"]
    if folder == "instances":  # whatever a list is of, on the GPU it needs that
        return [] if target == "cuda/backend.hpp" else [f"includes <locus/{target}>; lists include no headers"]
    if folder is None:
        allowed = of in ("core", "device") if name == "fwd.hpp" else True
    else:
        allowed = of == folder or RANKS.get(of, 99) < RANKS.get(folder, -1)
    return [] if allowed else [f"includes <locus/{target}>, which is not below it"]


def check_rooms(root):
    """Folders of a folder that include themselves by way of others. Headers that stand in the folder itself are left
    out: its rooms share some of them, and others include several rooms."""
    headers = root / "include" / "locus"
    graph = {}
    for path in sorted(headers.glob("*/*/*.hpp")):
        folder, room, _ = path.relative_to(headers).parts
        targets = {target.split("/")[2] for _, target in included(path.read_text())
                   if target.startswith(f"locus/{folder}/") and target.count("/") == 3}
        graph.setdefault(headers / folder / room, set()).update(headers / folder / to for to in targets - {room})
    problems = []
    for room in graph:
        reached, rest = set(), [*graph[room]]
        while rest:
            next_ = rest.pop()
            if next_ not in reached:
                reached.add(next_)
                rest += graph.get(next_, ())
        if room in reached:
            problems.append((room, [f"includes {', '.join(sorted(to.name for to in graph[room]))}, which include it"]))
    return problems


def check_kernels(root, path):
    """Problems of one file under cuda_kernels/locus."""
    problems = []
    text = path.read_text()
    for _, target in included(text):
        if target in COSTLY:
            problems.append(f"includes <{target}>, which every program would compile; use {COSTLY[target]}")
        below = (root / "cuda_kernels" / target).exists() or target.startswith("locus/core/") or target in BELOW_KERNELS
        if target.startswith("locus/") and not below:
            problems.append(f"includes <{target}>; kernels may include only core and device's contracts")
    if "__CUDACC__" in code(text):
        problems.append("asks for __CUDACC__; only core/config.hpp and cuda/ may")
    return problems


def check_program(path):
    return ["launches a kernel with <<<; only cuda_kernels may"] if "<<<" in code(path.read_text()) else []


def check_listed(root):
    """A test whose first line does not say where it runs."""
    try:
        test_tables.tables(root / "tests")
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        return [(root / name, [problem])]
    return []


def check_registered(root):
    """Python tests that no meson.build and no other test names: they would never run."""
    tests = sorted((root / "tests").rglob("*_test.py"))
    builds = {path: path.read_text() for folder in ("tests", "examples", "benchmarks") for pattern in ("meson.build", "*.py")
              for path in (root / folder).rglob(pattern)}
    return [(path, [] if any(re.search(rf"\b{path.name}\b|'{path.name.removesuffix('_test.py')}'", text)
                             for other, text in builds.items() if other != path)
             else ["is in no meson.build: it never runs"]) for path in tests]


def check_instances(root):
    """Lists of the compiled library that compiled/locus.cpp, or the header that declares their instances, does not
    include."""
    lists = sorted((root / "include/locus/instances").glob("*/**/*.inc"))
    library = root / "compiled/locus.cpp"
    compiled = library.read_text() if library.exists() else ""
    problems = []
    for path in lists:
        name = path.relative_to(root / "include").as_posix()
        beside = root / "include/locus" / path.relative_to(root / "include/locus/instances").with_suffix(".hpp")
        declared = any(name in header.read_text() for header in (beside, root / "include/locus/compiled.hpp") if header.exists())
        missing = [where for where, is_there in ((beside.name, declared), (library.name, name in compiled)) if not is_there]
        problems.append((path, [f"{where} does not include it" for where in missing]))
    return problems


def texts_with_includes(root):
    """{file: (its text, all files that it includes, itself, and paths of standard headers below include/)}"""
    texts = {path: path.read_text() for path in common.sources("include/locus", root=root)}
    includes = {path: [root / "include" / target for _, target in included(text)] for path, text in texts.items()}

    def reached_from(path):
        reached, rest = set(), [path]
        while rest:
            one = rest.pop()
            if one not in reached:
                reached.add(one)
                rest += includes.get(one, ())
        return reached

    return {path: (text, reached_from(path)) for path, text in texts.items()}


def check_definitions(root, files):
    """Headers that call members of Tensor without the header that defines them: they compile alone, but do not link."""
    folder = root / "include"
    tensor, copy = folder / "locus/tensor/tensor.hpp", folder / "locus/tensor/copy.hpp"
    if not copy.exists():
        return []
    members = sorted({*re.findall(r"^.*\bTensor<T, D>::(\w+)\(", copy.read_text(), re.MULTILINE), "reshape", "flatten"})
    called = re.compile(r"\.\s*(?:template\s+)?(" + "|".join(members) + r")\s*[(<]")
    problems = []
    for path, (text, reached) in files.items():
        if tensor in reached and copy not in reached and path != tensor:
            problems.append((path, [f"calls .{name}() of tensors; include <locus/tensor/copy.hpp>, which defines it"
                                    for name in sorted({*called.findall(code(text))})]))
    return problems


def check_standard(root, files):
    """Headers that name something of std without a standard header that declares it."""
    problems = []
    for path, (text, reached) in files.items():
        if path.suffix != ".hpp":
            continue
        for name in sorted({*re.findall(r"\bstd::(\w+)", code(text))}):
            declared_in = next(((of or name).split() for names, of in DECLARED_IN.items() if re.fullmatch(names, name)), [])
            if declared_in and not reached & {root / "include" / header for header in declared_in}:
                problems.append((path, [f"names std::{name}; include <{declared_in[0]}>, or the header of core/std/ in its place"]))
    return problems


PYTHON_VERSIONS = {"meson.build": r"version: '([^']+)'", "pyproject.toml": r'^version = "([^"]+)"',
                   "locus/__init__.py": r'^__version__ = "([^"]+)"'}


def check_version(root):
    """LOCUS_VERSION, the newest version of the changelog, or the Python module's, differ from the build's."""
    config, build, changes = root / "include/locus/core/config.hpp", root / "meson.build", root / "CHANGELOG.md"
    if not build.exists():
        return []
    version = re.search(r"version: '([^']+)'", build.read_text())[1]
    found = [(config, r'#define LOCUS_VERSION "([^"]+)"'), (changes, r"^## \[(\d[^\]]*)\]")]
    found += [(root / "python" / name, pattern) for name, pattern in PYTHON_VERSIONS.items() if (root / "python").exists()]
    problems = []
    for path, pattern in found:
        told = re.search(pattern, path.read_text(), re.MULTILINE)
        is_right = told and told[1] == version
        problems.append((path, [] if is_right else [f"says version {told and told[1]}; meson.build has {version}"]))
    return problems


def check_tree(root):
    """[(path, problems)] of every file that was looked at."""
    looked = [(path, check_public(root, path)) for path in common.sources("include/locus", root=root)]
    looked += [(path, check_kernels(root, path)) for path in common.sources("cuda_kernels/locus", root=root)]
    looked += check_rooms(root) + check_instances(root) + check_version(root)
    files = texts_with_includes(root)
    looked += check_definitions(root, files) + check_standard(root, files)
    looked += [(path, check_program(path)) for path in common.sources("compiled", "examples", "benchmarks", root=root)]
    return looked + check_listed(root) + check_registered(root)


def report_tree(root, report):
    problems = [f"{path.relative_to(root)} {problem}" for path, found in check_tree(root) for problem in found]
    report.add("layering", "\n".join(problems))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=common.ROOT)
    options = parser.parse_args()
    common.main(lambda report: report_tree(options.root.resolve(), report))
