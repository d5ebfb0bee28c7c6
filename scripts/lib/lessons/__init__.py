"""scripts/lessons: the course at the terminal.

    course    the lessons as shipped, in examples/lessons
    attempts  compiles and checks a learner's file
    folder    the learner's files, and which lessons are solved
    screen    the output to the terminal
    session   one learner at one terminal
    command   the options of scripts/lessons
    verify    for maintainers: every lesson fails as intended, and its solution passes; with form, which looks at the
              comments, and batch, which compiles many checks at once
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / folder) for folder in ("scripts/lib", "tests/tools")]  # whole_file; common and compile_fail
