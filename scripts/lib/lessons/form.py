"""For maintainers: checks the form of a lesson's three files."""

import re

import compile_fail

from . import course

MEND = "<- mend this"


def includes_of(file):
    return re.findall(r"^#include (\S+)", course.read(file), re.M)


def form_problems(lesson, number):
    """Problems in the comments of a lesson's three files."""
    missing = [path for path in (lesson.solution, lesson.check) if not path.is_file()]
    if missing:
        return [f"{path} is missing" for path in missing]
    head = course.TITLE.fullmatch(lesson.paragraphs[0][0]) if lesson.paragraphs else None
    starts = [" ".join(lines) for lines in lesson.paragraphs]
    kept, hints = course.split_hints(course.comment_paragraphs(course.read(lesson.solution)))
    rules = {
        f"is not lesson {number}, which comes next": lesson.number == number,
        "does not begin with '// Lesson N: title'": head and int(head.group(1)) == lesson.number,
        f"has no paragraph '{course.BANNER}'": any(text.startswith(course.BANNER) for text in starts),
        "has no paragraph 'Goal:'": any(text.startswith("Goal:") for text in starts),
        "has no paragraph about PyTorch": any("PyTorch" in text for text in starts if not text.startswith("Goal:")),
        f"has no '// {MEND}'": f"// {MEND}" in course.read(lesson.exercise),
        "differs from its solution in the first comment": kept == lesson.paragraphs[:1] + lesson.story(),
        "has a solution without '// hint: '": hints,
        "includes other headers than its solution": includes_of(lesson.exercise) == includes_of(lesson.solution),
        "has a check whose first include is not '#include LESSON'": includes_of(lesson.check)[:1] == ["LESSON"],
    }
    return [problem for problem, holds in rules.items() if not holds]


def expectations(lesson):
    """({compiler: [regex]}, line budget) of an exercise that must not compile, ({}, 0) of one that does."""
    if lesson.expected_output():
        return {}, 0
    # A lesson is a compile-fail case in two files: the check is the passing half, the exercise the branch that must
    # fail.
    return compile_fail.read_expectations(course.read(lesson.check) + "// LOCUS_MUST_FAIL")


def stray_files(folder, lessons):
    known = {lesson.exercise.name for lesson in lessons}
    return [path for part in ("solutions", "checks") for path in sorted((folder / part).glob("*.cpp"))
            if path.name not in known]


def well_formed(lessons, report):
    """[(lesson, wanted)] of the lessons with well-formed files; the others are reported."""
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
