#!/usr/bin/env python3
"""Checks the examples of README.md, CONTRIBUTING.md and the pages of docs with the compilers.

A ```cpp block that begins with `// NAME.cpp` is a complete program. g++ and clang++ accept it, and it prints the ```text
block right after it, if there is one. Most of them become one program for a dozen, which runs the one that it is asked
for. g++ also parses and instantiates each as a file of its own, unless all of the dozen include the same headers.

A ```console block that contains `$ g++ ...` or `$ clang++ ...` runs in a folder that holds all these programs, and
prints the output in the block. Messages are g++ 12's and clang 14's; other versions are not checked. A program that
fails in such a block is not built elsewhere. Other console blocks are ignored.

In expected output, `...` matches anything. Links to files of the repository, and to headings of pages, must have a
target. A ```python block must parse.

README.md has a maximal length, and quotes rows of tables in docs. It links to every page of docs, as docs/README.md
does.

usage: readme.py [DOCUMENT...]
"""

import ast
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import common
import together

INCLUDED = re.compile(r"^#include\s+(\S+)", re.MULTILINE)
FEW = 3  # programs that include the same headers do not become a file of their own
ROOM = 11  # programs of one translation unit: g++ takes up to 1.2 GB for as many
# A program that ends with main(), which is neither a try block nor followed by other functions.
ENDS_WITH_MAIN = re.compile(r"^int main\(.*\) \{(?:.*|(?:\n(?: .*)?)*\n)\}\n\Z", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"// (\w+\.cpp)\n")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
INLINE_CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
SECTION = r"^## %s\n(.*?)(?=^## |\Z)"
ROW = re.compile(r"^\|(?!---).*\|$", re.MULTILINE)
VERSIONS = {"gcc": 12, "clang": 14}
COMPILERS = {"g++": "gcc", "clang++": "clang"}
LINES, CHARACTERS = 220, 14_000  # of README.md, at most
CODE_LINES = 10  # of the program in its section "Ten lines"
BUILD = ["-std=c++20", "-O0", "-pthread", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-Iinclude"]


def programs(text):
    """[(file name, source, expected output or None)] of the complete programs."""
    found = []
    blocks = list(BLOCK.finditer(text))
    for block, following in zip(blocks, [*blocks[1:], None]):
        name = PROGRAM.match(block[2]) if block[1] == "cpp" else None
        if name:
            adjacent = following and following[1] == "text" and not text[block.end():following.start()].strip()
            found.append((name[1], block[2], following[2] if adjacent else None))
    return found


def sessions(text):
    """[(command, expected output)] of the console blocks that run a compiler."""
    found = []
    for block in BLOCK.finditer(text):
        if block[1] == "console":
            for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                if command.split()[0] in COMPILERS:
                    found.append((command, output))
    return found


def matches(expected, given):
    """Whether `given` matches `expected`, in which `...` matches anything. Instruction sets in names are treated as
    equal."""
    lines = [re.sub(r"\bcpu_only_\w+", "cpu_only_generic", line).rstrip() for line in given.strip().splitlines()]
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, "\n".join(lines), re.DOTALL) is not None


def differing(expected, given):
    return None if matches(expected, given) else f"expected:\n{expected}\nbut it printed:\n{given}"


def major_version(path):
    """12 for g++ 12.2.0 and for clang 12."""
    return int(common.run([path, "-dumpversion"])[1].split(".")[0])


def sound_programs(text):
    """The programs() that no console block shows failing."""
    def fails(name):
        return any(name in command and "error:" in output for command, output in sessions(text))

    return [program for program in programs(text) if not fails(program[0])]


def accepted_together(paths, clang):
    """Whether clang++ accepts the programs of these pages as namespaces of one file, in a third of the time of separate
    files. A program may depend on another one's includes there; g++ builds each alone."""
    with tempfile.TemporaryDirectory() as scratch:
        sources = []
        for i, path in enumerate(paths):
            (folder := pathlib.Path(scratch, str(i))).mkdir()
            for name, source, _ in sound_programs(path.read_text()):
                sources.append(folder / name)
                sources[-1].write_text(source)
        unit = pathlib.Path(scratch, "unit.cpp")
        unit.write_text(together.in_one_file(sources))
        # main() in a namespace has no implicit return.
        return common.run([clang, "-fsyntax-only", *BUILD, "-Wno-return-type", unit], cwd=common.ROOT) == (0, "")


CALLS = """
int call(int (*program)(), int, char**) { return program(); }
int call(int (*program)(int, char**), int argc, char** argv) { return program(argc, argv); }
int main(int argc, char** argv) {
  switch (argv[1][0] - 'a') {
%s
  }
  return 1;
}
"""


def libraries_of(source):
    return (["-lz"] + ["-llapack"] * ("<locus/linalg/" in source) +
            ["-lpcre2-8", "-lutf8proc"] * ("<locus/text/" in source or "<locus/models/generate" in source))


def precompile(gcc, folder):
    """Precompiles locus.hpp, the first include of most programs, with their options; returns the folder to search first."""
    (folder / "locus").mkdir(parents=True)
    (folder / "locus" / "locus.hpp").symlink_to(common.ROOT / "include" / "locus" / "locus.hpp")  # for a second #include
    (folder / "locus.hpp").write_text("#include <locus/locus.hpp>\n")
    common.run([gcc, *BUILD, "-x", "c++-header", folder / "locus.hpp", "-o", folder / "locus" / "locus.hpp.gch"], cwd=common.ROOT)
    return folder


class Built:
    """A program that was compiled with others: the command that runs it, and whether it shows that the source includes
    all that it uses."""

    def __init__(self, command, includes_all):
        self.command, self.includes_all = command, includes_all


def in_units(joined):
    """[(programs, whether all include the same headers)]: at most ROOM programs each."""
    same, units, others = {}, [], []
    for program in joined:
        same.setdefault(frozenset(INCLUDED.findall(program[2])), []).append(program)
    for group in same.values():
        if len(group) < FEW:
            others += group
            continue
        count = -(-len(group) // ROOM)
        units += [(group[i::count], True) for i in range(count)]
    count = -(-len(others) // ROOM)
    return units + [(others[i::count], False) for i in range(count)]


def build_together(gcc, pages, scratch, search):
    """{(page, name): Built}, of programs that are namespaces of one file. Programs with a main() of another form, with
    macros for Locus's headers, or with libraries of their own, are absent, and so are all of a file that does not compile:
    they are built alone."""
    joined = [(page, name, source) for page in pages for name, source, _ in sound_programs(page.read_text())
              if ENDS_WITH_MAIN.search(source) and "#define LOCUS_" not in source and libraries_of(source) == ["-lz"]]
    units = in_units(joined)

    def build(number):
        members, includes_all = units[number]
        files = []
        for i, (_, name, source) in enumerate(members):
            (folder := pathlib.Path(scratch, f"{number}_{i}")).mkdir()
            files.append(folder / name)
            # In a namespace, main() has no implicit return.
            files[-1].write_text(source.removesuffix("}\n") + " return 0; }\n")
        unit = pathlib.Path(scratch, f"unit{number}.cpp")
        calls = "\n".join(f"    case {i}: return call(of_{i}::main, argc - 1, argv + 1);" for i in range(len(members)))
        unit.write_text(together.in_one_file(files) + CALLS % calls)
        command = [gcc, f"-I{search}", *BUILD, unit, "-o", unit.with_suffix(""), "-lz"]
        if common.run(command, cwd=common.ROOT) != (0, ""):
            return {}
        return {(page, name): Built([unit.with_suffix(""), chr(ord("a") + i)], includes_all)
                for i, (page, name, _) in enumerate(members)}

    found = {}
    for _, commands in common.parallel(build, range(len(units))):
        found.update(commands)
    return found


def check_program(name, expected, folder, compilers, built=None, search=None):
    """The problem of a program that must compile and run, or None. built: a Built, if it is compiled already; search: the
    folder of precompiled headers."""
    if "clang" in compilers:
        status, output = common.run([compilers["clang"], "-fsyntax-only", *BUILD, name], cwd=folder)
        if status or output:
            return f"clang++ says:\n{output}"
    if "gcc" not in compilers:
        return None
    program = folder / pathlib.Path(name).stem
    target = ["-fsyntax-only"] if built else ["-o", program, *libraries_of((folder / name).read_text())]
    precompiled = [f"-I{search}"] if search else []
    if not (built and built.includes_all):
        status, output = common.run([compilers["gcc"], *precompiled, *BUILD, name, *target], cwd=folder)
        if status or output:
            return f"g++ says:\n{output}"
    try:
        status, output = common.run(built.command if built else [program], cwd=folder, timeout=300)
    except subprocess.TimeoutExpired:
        return "still running after 300 seconds"
    if status:
        return f"ends with status {status}:\n{output}"
    return None if expected is None else differing(expected, output)


def check_session(command, expected, folder, compilers):
    words = shlex.split(command)
    return differing(expected, common.run([compilers[COMPILERS[words[0]]], *words[1:]], cwd=folder)[1])


def anchors(text):
    """GitHub's anchors of the headings of a page, and the explicit anchors."""
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(BLOCK.sub("", text))]
    named = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in plain}
    return named | set(re.findall(r'<a id="([^"]+)">', text))


def problem_of_link(path, target, anchor):
    page = path.parent / target if target else path
    if not page.exists():
        return "leads nowhere"
    return "no heading of this name" if anchor and anchor not in anchors(page.read_text()) else None


def problem_of_python(source):
    try:
        ast.parse(source)
    except SyntaxError as error:
        return str(error)
    return None


def section(text, heading):
    found = re.search(SECTION % heading, text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def links_of(path):
    """The files that a page links to."""
    return {(path.parent / target).resolve() for target, _ in LINK.findall(BLOCK.sub("", path.read_text())) if target}


def check_overview(root, report):
    """The size and the quoted rows of README.md, and the links from it and from docs/README.md to each page of docs."""
    readme, index = root / "README.md", root / "docs" / "README.md"
    text = readme.read_text()
    lines, characters = text.count("\n"), len(text)
    report.add("README.md: its size", f"{lines} lines and {characters} characters; at most {LINES} and {CHARACTERS}: "
               "move something to a page of docs" if lines > LINES or characters > CHARACTERS else None)
    ten = [source.count("\n") for _, source, _ in programs(section(text, "Ten lines"))]
    report.add("README.md: ten lines", None if ten == [CODE_LINES] else f"programs of {ten} lines under that heading")
    pages = [page for page in sorted((root / "docs").glob("*.md")) if page != index]
    for source in (readme, index):
        missing = [page.name for page in pages if page.resolve() not in links_of(source)]
        report.add(f"{source.relative_to(root)}: pages of docs", f"no link to {missing}" if missing else None)
    measured = {row for page in pages for row in ROW.findall(page.read_text())}
    quoted = ROW.findall(section(text, "Benchmarks"))
    report.add("README.md: its figures", None if quoted else "no table under Benchmarks")
    for row in quoted:
        report.add(f"README.md: {row}", None if row in measured else "is in no table of docs; quote docs/performance.md")


def check_document(path, report, compilers=None, is_accepted=False, built=None, search=None):
    """is_accepted: clang++ has accepted all its programs; built, search: as build_together() and precompile() return."""
    compilers = common.find_compilers() if compilers is None else compilers
    builders = {name: compiler for name, compiler in compilers.items() if name != "clang" or not is_accepted}
    text = path.read_text()
    dialogue = sessions(text)
    named = path.relative_to(common.ROOT) if path.is_relative_to(common.ROOT) else path.name
    for target, anchor in LINK.findall(INLINE_CODE.sub("", BLOCK.sub("", text))):
        report.add(f"{named}: link to {target}#{anchor}", problem_of_link(path, target, anchor))
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            report.add(f"{named}: a block of Python", problem_of_python(block[2]))
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "include").symlink_to(common.ROOT / "include")
        for name, source, _ in programs(text):
            (folder / name).write_text(source)
        for name, _, output in sound_programs(text):
            report.add(f"{named}: {name}", check_program(name, output, folder, builders, (built or {}).get((path, name)), search))
        for command, output in dialogue:
            compiler = COMPILERS[command.split()[0]]
            if compiler in compilers and major_version(compilers[compiler]) == VERSIONS[compiler]:
                report.add(f"{named}: {command}", check_session(command, output, folder, compilers))
            else:
                report.skip(f"{named}: {command}", f"{compiler} {VERSIONS[compiler]} is not here")


def check(report, documents):
    if not documents:
        check_overview(common.ROOT, report)
        documents = [common.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md", "examples/lessons/README.md")]
        documents += sorted((common.ROOT / "docs").rglob("*.md"))
    documents.sort(key=lambda path: -len(programs(path.read_text())))  # the longest first
    compilers = common.find_compilers()
    accepted = {}
    if "clang" in compilers:
        parts = [documents[i::os.cpu_count()] for i in range(os.cpu_count())]
        for part, is_accepted in common.parallel(lambda part: accepted_together(part, compilers["clang"]), parts):
            accepted.update((path, is_accepted) for path in part)
    with tempfile.TemporaryDirectory() as scratch:
        search = precompile(compilers["gcc"], pathlib.Path(scratch, "precompiled")) if "gcc" in compilers else None
        built = build_together(compilers["gcc"], documents, scratch, search) if search else {}

        def check_one(path):
            of_one = common.Report()
            check_document(path, of_one, compilers, accepted.get(path, False), built, search)
            return of_one

        for _, of_one in common.parallel(check_one, documents):
            report.merge(of_one)


if __name__ == "__main__":
    common.main(lambda report: check(report, [pathlib.Path(name).resolve() for name in sys.argv[1:]]))
