"""For maintainers: every lesson fails as intended as shipped, and every solution passes its check."""

import pathlib
import re
import tempfile

import common
import compile_fail

from . import attempts, course

MEND = "<- mend this"


def form_problems(lesson, number):
    """What is wrong with the comments of a lesson's three files."""
    missing = [path for path in (lesson.solution, lesson.check) if not path.is_file()]
    if missing:
        return [f"{path} is missing" for path in missing]
    head = course.TITLE.fullmatch(lesson.paragraphs[0][0]) if lesson.paragraphs else None
    starts = [" ".join(lines) for lines in lesson.paragraphs]
    kept, hints = course.split_hints(course.comment_paragraphs(course.read(lesson.solution)))
    includes = re.findall(r"^#include (\S+)", course.read(lesson.check), re.M)
    rules = {
        f"is not lesson {number}, which comes next": lesson.number == number,
        "does not begin with '// Lesson N: title'": head and int(head.group(1)) == lesson.number,
        f"has no paragraph '{course.BANNER}'": any(text.startswith(course.BANNER) for text in starts),
        "has no paragraph 'Goal:'": any(text.startswith("Goal:") for text in starts),
        "has no paragraph about PyTorch": any("PyTorch" in text for text in starts if not text.startswith("Goal:")),
        f"has no '// {MEND}'": f"// {MEND}" in course.read(lesson.exercise),
        "differs from its solution in the first comment": kept == lesson.paragraphs[:1] + lesson.story(),
        "has a solution without '// hint: '": hints,
        "has a check whose first include is not '#include LESSON'": includes[:1] == ["LESSON"],
    }
    return [problem for problem, holds in rules.items() if not holds]


def expectations(lesson):
    """({compiler: [regex]}, line budget) of an exercise that does not compile, {} of one that does."""
    if lesson.expected_output():
        return {}, 0
    # A lesson is such a program in two files: its check is the passing half, the exercise the branch that must fail.
    return compile_fail.read_expectations(course.read(lesson.check) + "// LOCUS_MUST_FAIL")


def count_lines(output):
    return sum(1 for line in output.splitlines() if line.strip())


def judge_exercise(lesson, name, path, wanted):
    """(problem or None, lines printed, seconds) of the exercise as shipped."""
    with tempfile.TemporaryDirectory() as scratch:
        if name == "nvcc":
            command = compile_fail.command(name, path, lesson.exercise, scratch)
        else:
            command = attempts.syntax_command([path], lesson.exercise)
        status, output, seconds = common.run_timed(command)
    return judge_shipped(lesson, name, path, status, output, wanted), count_lines(output), seconds


def judge_shipped(lesson, name, path, status, output, wanted):
    regexes, budget = wanted
    if not lesson.expected_output():
        if status == 0:
            return "compiles as shipped"
        return compile_fail.judge(lesson.exercise, status, output, regexes, budget)
    if status:
        return f"its check has '// expect-output', but it does not compile:\n{output}"
    return None if name == "nvcc" else judge_output(lesson, path)


def judge_output(lesson, path):
    """None, or what is wrong with how an exercise that compiles fails when it runs."""
    tried = attempts.attempt_check(lesson, lesson.exercise, [path])
    if tried.solved:
        return "passes its check as shipped"
    if not tried.ran:
        return f"its check does not compile with it:\n{tried.whole}"
    for regex in lesson.expected_output():
        if not re.search(regex, tried.whole):
            return f"the check does not print '{regex}':\n{tried.whole}"
    return None


def judge_solution(lesson, path):
    """(problem or None, seconds). The check includes the solution first, which shows that it compiles by itself."""
    tried = attempts.attempt_check(lesson, lesson.solution, [path])
    return None if tried.solved else f"{tried.verdict}\n{tried.whole}", tried.seconds


def without_the_mistake(text):
    """The exercise of a learner who deletes what is to be mended: the marked line, or the one below the mark."""
    lines = text.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if MEND in line)
    if lines[at].lstrip().startswith("//"):
        at += 1
    return "".join(lines[:at] + lines[at + 1:])


def judge_deletion(lesson, path):
    """None where that learner is not let through."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / lesson.exercise.name
        file.write_text(without_the_mistake(course.read(lesson.exercise)))
        solved = attempts.attempt_check(lesson, file, [path]).solved
    return "counts as solved when the marked line is deleted" if solved else None


def nvcc_problems(path, sources):
    """{source: problem or None} of sources that must compile: all of them as one file, or each where that fails."""
    if len(sources) > 1 and compile_fail.compile_together("nvcc", path, sources)[0] == 0:
        return dict.fromkeys(sources)

    def alone(source):
        with tempfile.TemporaryDirectory() as scratch:
            return compile_fail.control_problem(compile_fail.command("nvcc", path, source, scratch))

    return dict(common.parallel(alone, sources))


def stray_files(folder, lessons):
    known = {lesson.exercise.name for lesson in lessons}
    return [path for part in ("solutions", "checks") for path in sorted((folder / part).glob("*.cpp"))
            if path.name not in known]


def well_formed(lessons, report):
    """[(lesson, wanted)] of the lessons whose files are in order; the others are reported."""
    good = []
    for number, lesson in enumerate(lessons, 1):
        problems = form_problems(lesson, number)
        try:
            wanted = None if problems else expectations(lesson)
        except (ValueError, re.error) as error:
            problems.append(str(error))
        report.add(f"{lesson.name} (comments)", "\n".join(problems))
        if not problems:
            good.append((lesson, wanted))
    for path in stray_files(lessons[0].exercise.parent, lessons):
        report.fail(path.name, f"{path} belongs to no lesson")
    return good


def cases(lessons, names, present, report):
    """[(lesson, name, path, wanted)] of the exercises as shipped, [(lesson, name, path)] of the solutions; compilers
    that are not here are reported."""
    exercises, solutions = [], []
    for lesson, (regexes, budget) in well_formed(lessons, report):
        for name in names:
            if name not in present:
                report.skip(f"{lesson.name} ({name})", f"{name} is not here")
                continue
            if regexes and name not in regexes:  # the check says '// compilers:'
                report.skip(f"{lesson.name} as shipped ({name})", "not a compiler of this lesson")
            else:
                exercises.append((lesson, name, present[name], (regexes.get(name, []), budget)))
            solutions.append((lesson, name, present[name]))
    return exercises, solutions


def verify(lessons, names, report):
    """Every case of these compilers, reported; returns tables of the lines printed and of the time it took."""
    present = common.find_compilers(every=True)
    lines, until_error, until_solved = {}, {}, {}
    exercises, solutions = cases(lessons, names, present, report)
    for (lesson, name, *_), found in common.parallel(lambda case: judge_exercise(*case), exercises):
        problem, printed, until_error[lesson.name, name] = found
        report.add(f"{lesson.name} as shipped ({name})", problem)
        lines[lesson.name, name] = "FAILED" if problem else "runs" if lesson.expected_output() else str(printed)
    must_compile = [lesson.solution for lesson, name, _ in solutions if name == "nvcc"]
    by_nvcc = nvcc_problems(present["nvcc"], must_compile) if must_compile else {}

    def judge_solved(case):
        lesson, name, path = case
        return (by_nvcc[lesson.solution], None) if name == "nvcc" else judge_solution(lesson, path)

    for (lesson, name, _), (problem, seconds) in common.parallel(judge_solved, solutions):
        report.add(f"{lesson.name} solved ({name})", problem)
        until_solved[lesson.name, name] = seconds
        if problem:
            lines[lesson.name, name] = "FAILED"
    # A function that no longer returns does what it likes, with each compiler something else. nvcc, which takes seconds
    # for each and leaves host code to g++, would say nothing new.
    deletions = [(lesson, name, path) for lesson, name, path in solutions if name != "nvcc"]
    for (lesson, name, _), problem in common.parallel(lambda case: judge_deletion(case[0], case[2]), deletions):
        report.add(f"{lesson.name} deleted ({name})", problem)
    return table("lines printed", lessons, names, lines) + times(lessons, names, until_error, until_solved)


def times(lessons, names, until_error, until_solved):
    """A report and no test, since machines differ. nvcc is not what a learner compiles with."""
    names = [name for name in names if name != "nvcc"]
    shown = {(lesson.name, name): f"{until_error[lesson.name, name]:.1f} {until_solved[lesson.name, name]:.1f}"
             for lesson in lessons for name in names
             if (lesson.name, name) in until_error and until_solved.get((lesson.name, name))}
    if not shown:
        return ""
    text = "\n\n" + table("seconds to error, to solved", lessons, names, shown)
    for title, seconds in (("to its error", until_error), ("to be solved", until_solved)):
        seconds, lesson, name = max((seconds[key], *key) for key in shown)
        text += f"\nslowest {title}: {lesson}, {seconds:.1f} s ({name})"
    return text


def table(title, lessons, names, cells):
    width = max(len(title), *(len(lesson.name) for lesson in lessons))
    rows = [[title, *names]] + [[lesson.name] + [cells.get((lesson.name, name), "-") for name in names]
                                for lesson in lessons]
    return "\n".join(f"{row[0]:<{width}}" + "".join(f"{cell:>9}" for cell in row[1:]) for row in rows)
