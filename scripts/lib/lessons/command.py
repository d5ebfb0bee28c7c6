"""A course in the terminal: small programs with one mistake each, fixed with the help of the compiler's messages.

The exercises are copied into a folder of your own. Open the file that is shown in an editor: each time you save it, it
is compiled again, and once it compiles a check is run. Your changes are never overwritten, and the course continues
where you left it.

If input or output is no terminal, the lesson is shown and checked once. Exit status: 0 solved, 1 not solved yet,
2 any other error, 130 left with Ctrl-C.
"""

import argparse
import os
import sys

import common

from . import attempts, course
from .course import Trouble
from .folder import DEFAULT, Folder
from .screen import KEYS, Painter, finale, show_attempt, show_hints, show_lesson, show_list, shown_path, what_next
from .session import Session


def check_once(folder, lesson, compiler, painter, whole):
    print("\n".join(show_lesson(folder, lesson, painter)), flush=True)
    tried = folder.attempt(lesson, shown_path(folder.file(lesson)), compiler)
    print("\n".join(show_attempt(tried, painter, whole, "--whole")))
    if tried.solved:
        print("\n".join(what_next(folder, lesson)))
    return 0 if tried.solved else 1


def reset(folder, which):
    for lesson in folder.lessons if which == "all" else [course.find_lesson(folder.lessons, which)]:
        kept = folder.reset(lesson)
        print(f"{lesson.name}: as shipped" + (f"; what you wrote is kept as {kept}" if kept else ""))
    if which == "all":
        folder.begin_again()
    return 0


def verify_all(lessons, names):
    from . import verify  # imported only here, because learners do not need it
    unknown = set(names) - set(verify.compile_fail.COMPILERS)
    if unknown:
        expected = ",".join(verify.compile_fail.COMPILERS)
        raise Trouble(f"--compilers {','.join(sorted(unknown))}; expected {expected}")
    report = common.Report()
    print(verify.verify(lessons, names, report))
    return report.finish()


def write_messages(lessons):
    from . import messages
    present = common.find_compilers(every=True)
    missing = set(messages.NAMES) - set(present)
    if missing:
        raise Trouble(f"--write-messages needs four compilers; not here: {', '.join(sorted(missing))}")
    messages.write(lessons, present)
    return 0


def at_a_terminal():
    """Whether the terminal shows colours and reads single keys."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def make_painter():
    seen = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Painter(seen and not os.environ.get("NO_COLOR"))


def say_warning(folder):
    warning = folder.take_warning()
    if warning:
        print(f"scripts/lessons: {warning}", file=sys.stderr, flush=True)


def work(folder, asked, options):
    """Shows and checks a lesson, once or until the learner leaves."""
    compiler, painter = attempts.find_compiler(options.compiler), make_painter()
    folder.prepare()
    lesson = asked or (folder.current() if options.check else folder.ahead())
    if lesson is None:
        say_warning(folder)
        print("\n".join(painter.good(line) for line in finale(folder)))
        return 0
    if not options.check or not folder.progress.current:
        folder.go_to(lesson)
    if at_a_terminal() and not options.check:
        return Session(folder, compiler, painter, options.whole).run()
    say_warning(folder)
    return check_once(folder, lesson, compiler, painter, options.whole)


def read_options():
    parser = argparse.ArgumentParser(prog="scripts/lessons", description=__doc__, epilog="keys: " + "   ".join(KEYS),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("lesson", nargs="?", metavar="NN", help="this lesson, instead of going on where you left")
    add("--dir", default=DEFAULT, help="your folder; default: build/lessons")
    add("--list", action="store_true", help="list the lessons: done, changed since it passed, current or open")
    add("--check", action="store_true", help="check the lesson once, and do not wait for changes")
    add("--whole", action="store_true", help="show all that the compiler printed, not the first error alone")
    add("--hint", action="store_true", help="print the hint of the lesson")
    add("--reset", nargs="?", const="", metavar="NN|all",
        help="the lesson, or all, as shipped; what you wrote is kept under the name with .bak")
    add("--compiler", metavar="PATH", help="g++, clang++-14 or a path; default: $CXX, else g++, else clang++")
    add("--verify-all", action="store_true",
        help="for maintainers: each exercise fails as intended and each solution passes")
    add("--compilers", default="gcc,clang,clang19,nvcc", metavar="LIST", help="for --verify-all; default: %(default)s")
    add("--write-messages", action="store_true",
        help="for maintainers: records what the four compilers print for each exercise, for the site")
    add("--course", default=course.SHIPPED, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = read_options()
    lessons = course.read_course(options.course)
    if options.verify_all:
        return verify_all(lessons, options.compilers.split(","))
    if options.write_messages:
        return write_messages(lessons)
    asked = course.find_lesson(lessons, options.lesson) if options.lesson else None
    folder = Folder(options.dir, lessons)
    if not (options.list or options.hint or options.reset is not None):
        return work(folder, asked, options)
    say_warning(folder)
    if options.reset is not None:
        return reset(folder, options.reset or (asked or folder.current()).name)
    hinted = asked or folder.ahead() or folder.current()
    print("\n".join(show_list(folder, make_painter()) if options.list else show_hints(hinted)))
    return 0


def run():
    """main(), and the exit status if it throws Trouble."""
    try:
        return main()
    except Trouble as trouble:
        print(f"scripts/lessons: {trouble}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
