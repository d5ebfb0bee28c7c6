"""For maintainers: every lesson fails as intended as shipped, and every solution passes its check."""

import pathlib
import re
import tempfile

import common
import compile_fail

from . import attempts, batch, course, form, messages


def count_lines(output):
    return sum(1 for line in output.splitlines() if line.strip())


# ---- exercises as shipped

def problem_of_message(lesson, name, path, output, wanted):
    return compile_fail.judge(lesson.exercise, 1, output, *wanted) or messages.problem(lesson, name, path, output)


def judge_exercise(lesson, name, path, wanted):
    """(problem or None, lines printed, seconds) of an exercise that must not compile."""
    with tempfile.TemporaryDirectory() as scratch:
        if name == "nvcc":
            command = compile_fail.command(name, path, lesson.exercise, scratch, must_fail=True)
        else:
            command = attempts.syntax_command([path], lesson.exercise)
        status, output, seconds = common.run_timed(command)
    problem = "compiles as shipped" if status == 0 else problem_of_message(lesson, name, path, output, wanted)
    return problem, count_lines(output), seconds


def judge_exercises(name, path, cases):
    """{lesson: (problem or None, lines printed, None)} of exercises compiled in one file. The output for each is judged
    as if it were compiled alone; if that fails, it is compiled alone. The recorded messages of nvcc are compared only where
    exercises are compiled alone, as it takes seconds for each."""
    options = [*compile_fail.EVERY_ERROR[name], *([] if name == "nvcc" else attempts.WARNINGS)]
    sources = [lesson.exercise for lesson, _ in cases]
    said = compile_fail.split_errors(compile_fail.compile_together(name, path, sources, True, options)[1], sources)

    def judge(lesson, wanted):
        text = said.get(lesson.exercise)
        problem = compile_fail.judge(lesson.exercise, 1, text, *wanted) if text and name == "nvcc" else \
            problem_of_message(lesson, name, path, text or "", wanted)
        if problem is None:
            return None, count_lines(text), None
        return *judge_exercise(lesson, name, path, wanted)[:2], None

    return {lesson: judge(lesson, wanted) for lesson, wanted in cases}


# ---- programs: solutions, exercises that compile as shipped, and exercises without the line to be fixed

def problem_of_solution(tried, _):
    return None if tried.solved else f"{tried.verdict}\n{tried.whole}"


def problem_of_run(tried, lesson):
    """None, or why the run of an exercise that compiles does not fail as intended."""
    if tried.solved:
        return "passes its check as shipped"
    if not tried.ran:
        return f"its check has '// expect-output', but it does not compile:\n{tried.whole}"
    for regex in lesson.expected_output():
        if not re.search(regex, tried.whole):
            return f"the check does not print '{regex}':\n{tried.whole}"
    return messages.problem(lesson, "check", None, tried.whole)


def problem_of_deletion(tried, _):
    return "counts as solved when the marked line is deleted" if tried.solved else None


def without_the_mistake(text):
    """The exercise of a learner who deletes the line to be fixed: the marked line, or the line below the mark."""
    lines = text.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if form.MEND in line)
    if lines[at].lstrip().startswith("//"):
        at += 1
    return "".join(lines[:at] + lines[at + 1:])


def judge_programs(name, path, programs, alone):
    """{(lesson, kind): (problem or None, seconds or None)} of programs [(lesson, kind, file, problem_of)]. A problem is
    always found by compiling the program alone."""
    cases = [(lesson, file) for lesson, _, file, _ in programs]
    found = {} if alone or len(cases) < 2 else batch.outcomes(cases, name, path)

    def judge(lesson, file, problem_of):
        tried = found.get((lesson, file))
        if tried and problem_of(tried, lesson) is None:
            return None, None
        tried = attempts.attempt_check(lesson, file, [path])
        return problem_of(tried, lesson), tried.seconds

    return {(lesson, kind): judge(lesson, file, problem_of) for lesson, kind, file, problem_of in programs}


def judge_by_itself(name, path, lesson):
    """Checks that the solution and its check include the headers that they use: in one file with others, missing
    includes go unnoticed."""
    command = [*attempts.check_flags([path]), f'-DLESSON="{lesson.solution.absolute()}"', "-fsyntax-only", lesson.check]
    status, output = common.run(command)
    return {(lesson, "by itself"): (output if status else None, None)}


def judge_by_nvcc(path, programs):
    """Whether the programs compile with nvcc, which takes seconds for each: as one file, or each alone if that fails.
    They are not run, because nvcc passes host code to g++."""
    sources = [file for _, _, file, _ in programs]
    together = len(sources) > 1 and compile_fail.compile_together("nvcc", path, sources, False)[0] == 0

    def judge(source):
        with tempfile.TemporaryDirectory() as scratch:
            return compile_fail.control_problem(compile_fail.command("nvcc", path, source, scratch, must_fail=False))

    return {(lesson, kind): (None if together else judge(file), None) for lesson, kind, file, _ in programs}


# ---- all programs

def jobs_of(name, path, good, deleted, alone, by_itself):
    """Functions that return {(lesson, kind): (problem, seconds)} or, of exercises that must not compile, {lesson:
    (problem, lines, seconds)}. good: [(lesson, ({compiler: [regex]}, line budget))]. by_itself: this compiler also
    checks that each lesson compiles without the others in the file; it prints more of an error at its first
    occurrence."""
    exercises = [(lesson, (regexes[name], budget)) for lesson, (regexes, budget) in good if name in regexes]
    programs = [(lesson, "solved", lesson.solution, problem_of_solution) for lesson, _ in good]
    programs += [(lesson, "as shipped", lesson.exercise, problem_of_run) for lesson, (regexes, _) in good if not regexes]
    deletions = [(lesson, "deleted", deleted[lesson], problem_of_deletion) for lesson, _ in good]
    if name == "nvcc":
        return [lambda: judge_exercises(name, path, exercises), lambda: judge_by_nvcc(path, programs)]
    jobs = [lambda: judge_programs(name, path, deletions, alone=False)]
    if alone:
        jobs += [lambda program=program: judge_programs(name, path, [program], alone=True) for program in programs]
    else:
        jobs.append(lambda: judge_programs(name, path, programs, alone=False))
        jobs += [lambda lesson=lesson: judge_by_itself(name, path, lesson) for lesson, _ in good if by_itself]
    if not alone and not by_itself:
        return [*jobs, lambda: judge_exercises(name, path, exercises)]
    return jobs + [lambda lesson=lesson, wanted=wanted: {lesson: judge_exercise(lesson, name, path, wanted)}
                   for lesson, wanted in exercises]


def judge_all(good, names, present, alone):
    """{(lesson, kind, compiler): (problem, lines printed or None, seconds or None)}"""
    judged = {}
    with tempfile.TemporaryDirectory() as scratch:
        deleted = {lesson: pathlib.Path(scratch) / lesson.exercise.name for lesson, _ in good}
        for lesson, file in deleted.items():
            file.write_text(without_the_mistake(course.read(lesson.exercise)))
        one = next((name for name in ("gcc", "clang", "clang19") if name in present and name in names), None)
        jobs = [(name, job) for name in reversed(names) if name in present
                for job in jobs_of(name, present[name], good, deleted, alone, name == one)]
        for (name, _), found in common.parallel(lambda job: job[1](), jobs):
            for key, result in found.items():
                lesson, kind = key if isinstance(key, tuple) else (key, "as shipped")
                judged[lesson, kind, name] = result if len(result) == 3 else (result[0], None, result[1])
    return judged


def verify(lessons, names, report, alone=True):
    """Reports every case of these compilers; returns tables of the lines printed and of the time taken. alone: compiles
    each lesson by itself, as a learner does; otherwise many are compiled in one file, in a third of the time."""
    present = common.find_compilers(every=True)
    good = form.well_formed(lessons, report)
    judged = judge_all(good, names, present, alone)
    lines, until_error, until_solved = {}, {}, {}
    for lesson, (regexes, _) in good:
        for name in names:
            if name not in present:
                report.skip(f"{lesson.name} ({name})", f"{name} is not here")
                continue
            for kind in ("as shipped", "solved", "by itself", "deleted"):
                case = f"{lesson.name} {kind} ({name})"
                if (lesson, kind, name) in judged:
                    report.add(case, judged[lesson, kind, name][0])
                elif kind == "as shipped":  # excluded by '// compilers:'
                    report.skip(case, "not a compiler of this lesson")
            problem, printed, until_error[lesson.name, name] = judged.get((lesson, "as shipped", name), (None, "-", None))
            failed = problem or judged[lesson, "solved", name][0]
            lines[lesson.name, name] = "FAILED" if failed else "runs" if printed is None else str(printed)
            until_solved[lesson.name, name] = judged[lesson, "solved", name][2]
    return table("lines printed", lessons, names, lines) + times(lessons, names, until_error, until_solved)


def times(lessons, names, until_error, until_solved):
    """A report and no test, because machines differ. Without nvcc, which learners do not use."""
    names = [name for name in names if name != "nvcc"]
    shown = {(lesson.name, name): f"{until_error[lesson.name, name]:.1f} {until_solved[lesson.name, name]:.1f}"
             for lesson in lessons for name in names
             if until_error.get((lesson.name, name)) and until_solved.get((lesson.name, name))}
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
