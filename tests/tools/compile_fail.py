#!/usr/bin/env python3
"""Programs that must not compile, and whose first error must name the remedy.

Every tests/compile_fail/*.cpp is one such program; those of usage/ there have mistakes that are not about places. Each is
built twice by each compiler present (g++, clang 14, clang 19, nvcc): as it stands, which must succeed, and with
-DLOCUS_MUST_FAIL, which must fail. A file looks like this:

    // Adding tensors of two devices.
    // expect-error: Cpu.*Cuda              the first error line matches this (Python regular expression)
    // expect-error: \\.to<Cuda>\\(\\)          several lines: it matches each
    // expect-error(gcc): left_is_on         only of this compiler: gcc, clang (any version), clang19 or nvcc
    // compilers: gcc clang clang19          default: all four
    // lines: 10                             the most lines that a compiler may print; default: 12
    // flags(clang): -fno-x                  further flags of a compiler
    // because: a copy would be hidden       the reason, in docs/compile-errors.md, made of these files
    // group: Options                        in usage/ alone: the section of docs/mistakes.md, which is made of that folder
    #include <locus/locus.hpp>

    auto sum(locus::Tensor<float, locus::Cpu> x, locus::Tensor<float, locus::Cuda> w) {
    #ifdef LOCUS_MUST_FAIL
      return x + w;
    #else
      return x + w.to<locus::Cpu>();
    #endif
    }

The first error line is the first with "error:" in it. It must point into the file itself, not into a header.
A compiler that is present and named, yet has nothing to match, is an error of the file.

clang 19 compiles the mistakes twice: the second time, functions are deleted with a sentence.

Most cases of a compiler are compiled in one translation unit, each in a namespace of its own; the output for a case is
judged as if it were compiled alone, and if it fails, the case is compiled alone.

usage: compile_fail.py [--dir DIR] [--alone] [--write-page] [NAME...]
"""

import argparse
import pathlib
import re
import tempfile

import common
import compile_errors_page
import mistakes_page
import together

DIRECTIVE = re.compile(r"^//\s*(expect-error|compilers|lines|flags|because|group)(?:\((\w+)\))?:\s*(.*\S)\s*$")
LINES = 12
FOLDER = common.ROOT / "tests" / "compile_fail"
COMPILERS = ["gcc", "clang", "clang19", "nvcc"]


def command(compiler, path, source, scratch, must_fail):
    if compiler == "nvcc":
        # The failing branch fails when nvcc parses the host code; the correct branch is translated to PTX. g++ compiles
        # the host code of both by itself, and a full compilation by nvcc takes ten times as long.
        return [path, "-x", "cu", *common.CXX, *common.INCLUDES, f"-I{common.ROOT / 'cuda_kernels'}", "-arch=compute_90",
                "-Werror", "cross-execution-space-call", *common.fastest(path), "-c" if must_fail else "-ptx", source,
                "-o", pathlib.Path(scratch) / "out"]
    return [path, *common.CXX, *common.INCLUDES, "-fsyntax-only", source]


def read_expectations(text):
    """({compiler: [regex]} for each compiler of the file, line budget). raises ValueError"""
    expectations, compilers, budget = [], COMPILERS, LINES
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        match = DIRECTIVE.match(line)
        if not match:
            if expectations:
                raise ValueError(f"no directive: {line} (an expectation longer than its line is cut short)")
            continue
        key, of, value = match.groups()
        if key == "expect-error":
            if of not in (None, *COMPILERS):
                raise ValueError(f"unknown compiler in: {line}")
            re.compile(value)
            expectations.append((of, value))
        elif key == "compilers":
            compilers = value.split()
        elif key == "lines":
            budget = int(value)
    wanted = {name: [regex for of, regex in expectations if of is None or name.startswith(of)] for name in compilers}
    silent = [name for name, regexes in wanted.items() if not regexes]
    if silent:
        raise ValueError(f"no '// expect-error: <regex>' for {', '.join(silent)}")
    if "LOCUS_MUST_FAIL" not in text:
        raise ValueError("no LOCUS_MUST_FAIL branch")
    return wanted, budget


def flags_of(source, compiler):
    """The additional flags of a file for a compiler."""
    flags = []
    for line in source.read_text().splitlines():
        match = DIRECTIVE.match(line)
        if match and match[1] == "flags" and compiler.startswith(match[2] or ""):
            flags += match[3].split()
    return flags


def says(word, line):
    """Whether a line is a compiler's error or warning: "file:1:2: error: ..." or "file(1): error #1-D: ..."; the
    namespace error:: is none."""
    return re.search(rf"\b{word}(?: #[\w-]+)?:(?!:)", line)


def first_error(output, word="error"):
    return next((line for line in output.splitlines() if says(word, line)), None)


def points_into(source, line):
    return re.match(re.escape(str(source)) + r"[:(]\d+", line)


SUMMARY = re.compile(r"\d+ errors? (generated\.|detected in the compilation of .*)")


def lines_printed(output):
    """Without blank lines, and without the count of errors that clang and nvcc print last, once for all."""
    return sum(1 for line in output.splitlines() if line.strip() and not SUMMARY.fullmatch(line))


def judge(source, status, output, regexes, budget):
    """The problem of a failing branch with this output, or None."""
    shown = f"\nthe compiler said:\n{output}"
    if status == 0:
        return "compiles with -DLOCUS_MUST_FAIL, but must not"
    first = first_error(output)
    if first is None:
        return "failed without an error line" + shown
    if not points_into(source, first):
        return f"the first error is not in the file itself: {first}" + shown
    for regex in regexes:
        if not re.search(regex, first):
            return f"the first error line does not match '{regex}': {first}" + shown
    if lines_printed(output) > budget:
        return f"{lines_printed(output)} lines printed, {budget} allowed" + shown
    return None


EVERY_ERROR = {"gcc": ["-fmax-errors=0"], "clang": ["-ferror-limit=0"], "clang19": ["-ferror-limit=0"],
               "nvcc": ["-Xcudafe", "--error_limit=10000"]}
CONTEXT = re.compile(r"In file included from|\s+from \S+:\d+|\S+: (?:In|At) |\S+:\d+:(?:\d+:)?\s+(?:required|recursively)")


def control_problem(build):
    status, output = common.run(build)
    return f"the control does not compile:\n{output}" if status else None


def compile_together(compiler, path, sources, must_fail, options=()):
    """(status, output) for all of them as namespaces of one file: most of each one's time goes into the same headers."""
    with tempfile.TemporaryDirectory() as scratch:
        unit = pathlib.Path(scratch) / "together.cpp"
        unit.write_text(together.in_one_file(sources))
        return common.run([*command(compiler, path, unit, scratch, must_fail), *options])


def split_errors(output, sources):
    """{source: output}: every error belongs to the file that its line points into, with the lines of context before it
    and the notes after it. Empty if an error points into none of them: it may be the first of any."""
    said = {source: [] for source in sources}
    of, context = None, []
    for line in re.sub(r"\bof_\d+::", "", output).splitlines():
        if SUMMARY.fullmatch(line):
            break
        if says("error", line) or says("warning", line):
            of = next((source for source in sources if points_into(source, line)), None)
            if of is None:
                print(f"each case is compiled alone, which takes long: this error is in none of them: {line}")
                return {}
        elif CONTEXT.match(line):
            context.append(line)
            continue
        if of is not None:
            said[of] += [*context, line]
        context = []
    return {source: "\n".join(lines) for source, lines in said.items()}


def batches(cases, careful=None):
    """[(compiler, path, sources, flags)]: the cases that one translation unit can hold. For the compiler `careful`, files
    with different includes are separate, so that none depends on the includes of another; the other compilers need not
    repeat this check."""
    found = {}
    for compiler, path, source, *_ in cases:
        includes = tuple(sorted(together.INCLUDE.findall(source.read_text()))) if compiler == careful else ()
        found.setdefault((compiler, path, includes, tuple(flags_of(source, compiler))), []).append(source)
    return [(compiler, path, sources, flags) for (compiler, path, _, flags), sources in found.items() if len(sources) > 1]


def try_together(cases):
    """({(compiler, source)} whose controls compile, {(compiler, source): output of the failing branch}): each compiler
    reports every error of a file by its line, and its output for a case is judged as if it were compiled alone."""
    careful = min((compiler for compiler, *_ in cases), key=COMPILERS.index, default=None)
    jobs = [(batch, must_fail) for batch in batches(cases, careful) for must_fail in (True, False)]

    def compile_batch(job):
        (compiler, path, sources, flags), must_fail = job
        return said_together(*job[0]) if must_fail else compile_together(compiler, path, sources, False, flags)[0]

    good, said = set(), {}
    for ((compiler, _, sources, _), must_fail), result in common.parallel(compile_batch, jobs):
        if must_fail:
            said.update({(compiler, source): text for source, text in result.items()})
        elif result == 0:
            good.update((compiler, source) for source in sources)
    return good, said


def said_together(compiler, path, sources, flags):
    """{source: output of the failing branch}. nvcc instantiates templates only if there is no error before: sources
    without output are compiled once more, without the others, as long as that brings output."""
    said, rest = {}, sources
    while len(rest) > 1:
        options = [*flags, "-DLOCUS_MUST_FAIL", *EVERY_ERROR[compiler]]
        found = split_errors(compile_together(compiler, path, rest, True, options)[1], rest)
        if not any(found.values()):
            break
        said.update(found)
        rest = [source for source in rest if not found[source]]
    return said


def check_case(compiler, path, source, regexes, budget, control_is_good, said):
    """(problem, output of the compiler). The output of the joint compilation suffices if it is as expected; otherwise
    the case is compiled alone."""
    if control_is_good and said and judge(source, 1, said, regexes, budget) is None:
        return None, said
    with tempfile.TemporaryDirectory() as scratch:
        build = [*command(compiler, path, source, scratch, False), *flags_of(source, compiler)]
        problem = None if control_is_good else control_problem(build)
    if problem:
        return problem, ""
    status, output = fail_alone(compiler, path, source)
    return judge(source, status, output, regexes, budget), output


def fail_alone(compiler, path, source, options=()):
    """(exit status, output) of the branch that must fail."""
    with tempfile.TemporaryDirectory() as scratch:
        return common.run([*command(compiler, path, source, scratch, True), *flags_of(source, compiler), *options,
                           "-DLOCUS_MUST_FAIL"])


DELETED = "-DLOCUS_DELETED_SENTENCES"


def check_deleted(cases, report):
    """The mistakes once more by clang 19, with functions that are deleted with a sentence, as other compilers of C++26
    delete them. After such an error clang lists all candidates, so that lines are not counted.
    cases: (compiler, path, source, regexes, budget) of clang 19."""
    said = {}
    for compiler, path, sources, flags in batches(cases):
        said.update(said_together(compiler, path, sources, (*flags, DELETED)))

    def check_one(case):
        compiler, path, source, regexes, _ = case
        if said.get(source) and judge(source, 1, said[source], regexes, float("inf")) is None:
            return None
        return judge(source, *fail_alone(compiler, path, source, [DELETED]), regexes, float("inf"))

    for case, problem in common.parallel(check_one, cases):
        report.add(f"{case[2].stem} (clang19, deleted with a sentence)", problem)


def print_table(results):
    """Mistakes x compilers: how many lines were printed, where the first names places and remedy, in the user's file."""
    shown = [name for name in COMPILERS if any(compiler == name for _, compiler in results)]
    names = sorted({name for name, _ in results})
    width = max(map(len, names))
    print(f"{'lines printed':{width}}" + "".join(f"{name:>9}" for name in shown))
    for name in names:
        cells = [results.get((name, compiler)) for compiler in shown]
        print(f"{name:{width}}" + "".join(f"{'-' if cell is None else 'FAILED' if cell[0] else lines_printed(cell[1]):>9}"
                                          for cell in cells))


def spelled_alone(folder, first_lines):
    """g++'s first lines of the cases that the page shows in full, each compiled by itself: beside others it spells a type as
    the first of them does."""
    path = common.find_compilers()["gcc"]
    found = common.parallel(lambda name: first_error(fail_alone("gcc", path, folder / f"{name}.cpp")[1]),
                            [name for _, _, shown, _ in compile_errors_page.SUBJECTS for name in shown])
    return {**first_lines, **{(name, "gcc"): line for name, line in found}}


def check_page(folder, results, report, write):
    """docs/compile-errors.md shows the compilers' current messages; the check is skipped if one of its compilers is
    missing."""
    if any((path.stem, compiler) not in results or not first_error(results[path.stem, compiler][1] or "")
           for path in folder.glob("*.cpp") for compiler in compile_errors_page.COMPILERS):
        return report.skip("docs/compile-errors.md", "it shows g++ and clang++, and one of them is not here or said nothing")
    first_lines = {key: first_error(output) for key, (_, output) in results.items() if first_error(output)}
    if write:
        compile_errors_page.PAGE.write_text(compile_errors_page.render(folder, spelled_alone(folder, first_lines)))
    report.add("docs/compile-errors.md", compile_errors_page.problem(folder, first_lines))
    report.add("docs/placement.md", compile_errors_page.problem_of_rules(folder))


def check_folder(folder, report, names=(), compilers=None, alone=False):
    compilers = common.find_compilers(every=True) if compilers is None else compilers
    cases = []
    for source in sorted(pathlib.Path(folder).rglob("*.cpp")):
        if names and source.stem not in names:
            continue
        try:
            wanted, budget = read_expectations(source.read_text())
        except (ValueError, re.error) as error:
            report.fail(source.name, error)
            continue
        for name, regexes in wanted.items():
            if name in compilers:
                cases.append([name, compilers[name], source, regexes, budget])
            else:
                report.skip(f"{source.stem} ({name})", f"{name} is not here")
    check_deleted([case for case in cases if case[0] == "clang19"], report)
    good, said = (set(), {}) if alone else try_together(cases)
    for case in cases:
        key = case[0], case[2]
        case += [key in good, said.get(key)]
    results = {}
    for case, (problem, output) in common.parallel(lambda case: check_case(*case), cases):
        results[case[2].stem, case[0]] = problem, output
        report.add(f"{case[2].stem} ({case[0]})", problem)
    return results


def check_mistakes(folder, results, report, write):
    """docs/mistakes.md likewise, of one compiler."""
    first_lines = {path.stem: first_error(results.get((path.stem, mistakes_page.COMPILER), (None, ""))[1] or "")
                   for path in folder.glob("*.cpp")}
    if not all(first_lines.values()):
        return report.skip("docs/mistakes.md", f"it shows {mistakes_page.COMPILER}, which is not here or said nothing")
    if write:
        mistakes_page.PAGE.write_text(mistakes_page.render(folder, first_lines))
    report.add("docs/mistakes.md", mistakes_page.problem(folder, first_lines))


def check_all(options, report):
    results = check_folder(options.dir, report, options.names, alone=options.alone)
    if results:
        print_table(results)
    if not options.names and options.dir == FOLDER:
        check_page(FOLDER, results, report, options.write_page)
        check_mistakes(FOLDER / "usage", results, report, options.write_page)
    if not options.names and options.dir.resolve() == FOLDER / "usage":
        check_mistakes(FOLDER / "usage", results, report, options.write_page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, default=FOLDER, help="of usage/ alone, it writes docs/mistakes.md alone")
    parser.add_argument("--alone", action="store_true", help="compile every case by itself, not many in one file")
    parser.add_argument("--write-page", action="store_true", help="write docs/compile-errors.md and docs/mistakes.md anew")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these files, without .cpp")
    options = parser.parse_args()
    common.main(lambda report: check_all(options, report))
