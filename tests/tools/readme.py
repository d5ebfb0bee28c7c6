#!/usr/bin/env python3
"""The documents keep their word: what README.md, CONTRIBUTING.md and docs/threads.md show is what compilers make of it.

A ```cpp block that begins with `// NAME.cpp` is a complete program. g++ builds it, clang++ accepts it, and it prints
the ```text block that comes right after it, if one does.

A ```console block with `$ g++ ...` or `$ clang++ ...` in it runs in a folder that holds all these programs, and prints
what the block says. Messages are those of g++ 12 and clang 14; other versions are not asked. A program that such a block
shows failing is not built otherwise. Other console blocks are left alone.

In expected output, `...` stands for anything. Links to files of the repository must lead somewhere.

usage: readme.py [DOCUMENT...]
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import common

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"// (\w+\.cpp)\n")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
VERSIONS = {"gcc": 12, "clang": 14}
COMPILERS = {"g++": "gcc", "clang++": "clang"}
BUILD = ["-std=c++20", "-O1", "-pthread", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-Iinclude"]


def programs(text):
    """[(file name, source, what it prints or None)] of the complete programs."""
    found = []
    blocks = list(BLOCK.finditer(text))
    for block, following in zip(blocks, [*blocks[1:], None]):
        name = PROGRAM.match(block[2]) if block[1] == "cpp" else None
        if name:
            adjacent = following and following[1] == "text" and not text[block.end():following.start()].strip()
            found.append((name[1], block[2], following[2] if adjacent else None))
    return found


def sessions(text):
    """[(command, what it prints)] of the console blocks that ask a compiler."""
    found = []
    for block in BLOCK.finditer(text):
        if block[1] == "console":
            for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                if command.split()[0] in COMPILERS:
                    found.append((command, output))
    return found


def matches(expected, given):
    """Whether `given` is `expected`, in which `...` stands for anything. Instruction sets in names are all alike."""
    lines = [re.sub(r"\bcpu_only_\w+", "cpu_only_generic", line).rstrip() for line in given.strip().splitlines()]
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, "\n".join(lines), re.DOTALL) is not None


def differing(expected, given):
    return None if matches(expected, given) else f"expected:\n{expected}\nbut it printed:\n{given}"


def major_version(path):
    """12 for g++ 12.2.0 and for clang 12."""
    return int(common.run([path, "-dumpversion"])[1].split(".")[0])


def fails(name, dialogue):
    return any(name in command and "error:" in output for command, output in dialogue)


def check_program(name, expected, folder, compilers):
    """None, or what is wrong with a program that must compile and run."""
    if "clang" in compilers:
        status, output = common.run([compilers["clang"], "-fsyntax-only", *BUILD, name], cwd=folder)
        if status or output:
            return f"clang++ says:\n{output}"
    if "gcc" not in compilers:
        return None
    program = folder / pathlib.Path(name).stem
    status, output = common.run([compilers["gcc"], *BUILD, name, "-o", program, "-lz"], cwd=folder)
    if status or output:
        return f"g++ says:\n{output}"
    try:
        status, output = common.run([program], cwd=folder, timeout=300)
    except subprocess.TimeoutExpired:
        return "still running after 300 seconds"
    if status:
        return f"ends with status {status}:\n{output}"
    return None if expected is None else differing(expected, output)


def check_session(command, expected, folder, compilers):
    words = shlex.split(command)
    return differing(expected, common.run([compilers[COMPILERS[words[0]]], *words[1:]], cwd=folder)[1])


def check_document(path, report, compilers=None):
    compilers = common.find_compilers() if compilers is None else compilers
    text = path.read_text()
    dialogue = sessions(text)
    for target in LINK.findall(BLOCK.sub("", text)):
        report.add(f"{path.name}: link to {target}", None if (path.parent / target).exists() else "leads nowhere")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "include").symlink_to(common.ROOT / "include")
        shown = programs(text)
        for name, source, _ in shown:
            (folder / name).write_text(source)
        sound = [(name, output) for name, _, output in shown if not fails(name, dialogue)]
        for (name, _), problem in common.parallel(lambda case: check_program(*case, folder, compilers), sound):
            report.add(f"{path.name}: {name}", problem)
        for command, output in dialogue:
            compiler = COMPILERS[command.split()[0]]
            if compiler in compilers and major_version(compilers[compiler]) == VERSIONS[compiler]:
                report.add(f"{path.name}: {command}", check_session(command, output, folder, compilers))
            else:
                report.skip(f"{path.name}: {command}", f"{compiler} {VERSIONS[compiler]} is not here")


if __name__ == "__main__":
    documents = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    documents = documents or [common.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "docs/threads.md")]
    common.main(lambda report: [check_document(path, report) for path in documents])
