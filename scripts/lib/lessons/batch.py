"""For maintainers: compiles the checks of several lessons as one program, in a fraction of the time of separate ones.

Each check is in a namespace of its own, together with the file that it tests, after the includes of all checks.
"""

import pathlib
import re
import tempfile

import common
import compile_fail
import together

from . import attempts, course

GLOBAL = re.compile(r"(?<![\w>:])::(?=\w)")  # ::name, which is not global inside the namespace


def unit(cases):
    """The text of the program; `program N` runs the check of cases[N]. cases: [(lesson, file to be judged)]"""
    heads, spaces = [], []
    for i, (lesson, file) in enumerate(cases):
        check = course.read(lesson.check)
        for text in (check, course.read(file)):
            heads += [line for line in together.INCLUDE.findall(text) if "<" in line]
        spaces += [f"namespace of_{i} {{", f'#define LESSON "{file.absolute()}"', f'#line 1 "check_{i}.cpp"',
                   GLOBAL.sub(f"of_{i}::", check), "#undef LESSON", "}"]
    calls = [f"    case {i}: return of_{i}::main();" for i in range(len(cases))]
    return "\n".join([*dict.fromkeys(heads), "#include <cstdlib>", *spaces, "int main(int, char** arguments) {",
                      "  switch (std::atoi(arguments[1])) {", *calls, "  }", "  return 2;", "}", ""])


def refused(output, cases):
    """The numbers of the cases with a compiler error in the tested file or in its check."""
    errors = [line for line in output.splitlines() if compile_fail.says("error", line)]
    return {i for i, (_, file) in enumerate(cases)
            if any(compile_fail.points_into(name, line) for name in (file.absolute(), f"check_{i}.cpp") for line in errors)}


def outcomes(cases, name, path):
    """{case: Attempt} of cases whose checks are compiled together. Cases with errors are left out of the next try until
    the others compile. Cases are missing if an error belongs to none of them."""
    found, left = {}, list(cases)
    with tempfile.TemporaryDirectory() as scratch:
        source, program = pathlib.Path(scratch) / "checks.cpp", pathlib.Path(scratch) / "checks"
        while left:
            source.write_text(unit(left))
            command = [*attempts.check_flags([path]), *compile_fail.EVERY_ERROR[name], source, "-o", program]
            status, output = common.run(command)
            if status == 0:
                found.update((case, attempts.attempt_run([program, str(i)])) for i, case in enumerate(left))
                return found
            wrong = refused(output, left)
            if not wrong:
                return found
            found.update((left[i], attempts.Attempt(False, "does not compile", whole=output)) for i in wrong)
            left = [case for i, case in enumerate(left) if i not in wrong]
    return found
