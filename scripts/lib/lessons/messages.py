"""For maintainers: the messages of the compilers for the exercises as shipped, recorded in messages.json beside them. The
site shows them, and `verify` compares them with the compilers that it finds.

{"compilers": {"gcc": "g++ 12", ...}, "messages": {lesson: {compiler: [line, ...]}}}. Of an exercise that compiles, the lines
that its check prints are recorded as those of the compiler "check".
"""

import functools
import json
import re
import tempfile

import common
import compile_fail
import json_text
import whole_file

from . import attempts, form

NAMES = {"clang": "clang", "gcc": "g++", "clang19": "clang", "nvcc": "nvcc"}
VERSION = re.compile(r"(?:version |release |\) )(\d+)\.\d+")


def path_of(lesson):
    return lesson.exercise.parent / "messages.json"


@functools.cache
def version_of(name, path):
    """'g++ 12', the version whose messages are recorded and compared."""
    found = VERSION.search(common.run([path, "--version"])[1])
    return f"{NAMES[name]} {found[1]}" if found else NAMES[name]


def lines_of(lesson, output):
    """The first error with its line of the program, as a learner reads it, with the file's name alone and the namespace of a
    plain build. The numbers of lines in headers change: the notes about them are left out, and nvcc's is `...`."""
    lines = output.splitlines() if lesson.expected_output() else attempts.first_error(output, lesson.exercise)
    text = attempts.ANSI.sub("", "\n".join(lines))
    text = text.replace(f"{lesson.exercise.parent}/", "").replace(f"{common.ROOT}/", "")
    text = re.sub(r"declared at line \d+", "declared at line ...", text)
    return [re.sub(r"\bcpu_only_\w+", "cpu_only_generic", line).rstrip() for line in text.splitlines()]


def output_of(lesson, name, path):
    """The output for the exercise as shipped, or of its check, if the exercise compiles."""
    if lesson.expected_output():
        return attempts.attempt_check(lesson, lesson.exercise, [path]).whole
    with tempfile.TemporaryDirectory() as scratch:
        if name == "nvcc":
            return common.run(compile_fail.command(name, path, lesson.exercise, scratch, must_fail=True))[1]
        return common.run(attempts.syntax_command([path], lesson.exercise))[1]


def write(lessons, present):
    """Records the messages of these compilers {name: path}, each with the others' errors out of sight."""
    def compilers_of(lesson):
        wanted, _ = form.expectations(lesson)
        return [name for name in NAMES if name in present and name in wanted] if wanted else ["check"]

    jobs = [(lesson, name) for lesson in lessons for name in compilers_of(lesson)]
    said = common.parallel(lambda job: output_of(*job, present["gcc" if job[1] == "check" else job[1]]), jobs)
    messages = {lesson.name: {} for lesson in lessons}
    for (lesson, name), output in said:
        messages[lesson.name][name] = lines_of(lesson, output)
    content = {"compilers": {name: version_of(name, path) for name, path in present.items()}, "messages": messages}
    whole_file.write(path_of(lessons[0]), json_text.text(content) + "\n")


def read(lesson):
    """The recorded messages {compiler: lines} of a lesson and the versions {compiler: name}; both empty if nothing is
    recorded for its course."""
    if not path_of(lesson).exists():
        return {}, {}
    content = json.loads(path_of(lesson).read_text())
    return content["messages"].get(lesson.name, {}), content["compilers"]


def problem(lesson, name, path, output):
    """None, or how the output of this compiler, or of the check, differs from the record. Nothing is compared with a compiler
    of another version, or for a course without a record."""
    recorded, versions = read(lesson)
    if not versions or name != "check" and versions.get(name) != version_of(name, path):
        return None
    before, now = recorded.get(name, ["nothing"]), lines_of(lesson, output)
    return None if before == now else "\n".join(
        ["messages.json has another message; scripts/lessons --write-messages writes it again", *before, "now:", *now])
