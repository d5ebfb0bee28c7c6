"""A course of two small lessons for the tests of scripts/lessons, and calls of it."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "scripts" / "lib")]
import common  # noqa: E402
from cases import Scratch  # noqa: E402

HEAD = """// Lesson {number}: {title}
//
// INTENDED TO FAIL. This file does not do its work yet.
//
// Goal: {goal}
//
// In PyTorch this would be a number without a unit.
"""
HINTS = """//
// hint: Think of the
//       unit,
// hint: then of the number.
"""
UNITS = """struct Metres {
  double value;
};
struct Feet {
  double value;
};

inline Metres length(Feet feet) {
  Metres metres{0};
  metres = feet;  // <- mend this
  return metres;
}
"""
MENDED = "metres = Metres{feet.value * 0.3048};"
UNITS_CHECK = """// expect-error: Feet
#include LESSON

#include <cstdio>

int main() {
  if (length(Feet{10}).value > 3) return 0;
  std::puts("ten feet are more than three metres");
  return 1;
}
"""
TWICE = "inline int twice(int x) {\n  return x + 1;  // <- mend this\n}\n"
TWICE_CHECK = """// expect-output: twice 2 is 4
#include LESSON

#include <cstdio>

static_assert(sizeof(::twice(0)) == sizeof(int));

int main() {
  if (twice(2) == 4) return 0;
  std::puts("twice 2 is 4");
  return 1;
}
"""


class Course(Scratch):
    """Two lessons without includes, which compile quickly: one does not compile, one computes a wrong value."""

    def setUp(self):
        super().setUp()
        self.course, self.folder = self.root / "course", self.root / "learner"
        mended = ("metres = feet;  // <- mend this", MENDED)
        self.lesson(1, "units", "length() converts feet.", UNITS, mended, UNITS_CHECK)
        self.lesson(2, "twice", "twice() doubles.", TWICE, ("x + 1;  // <- mend this", "x + x;"), TWICE_CHECK)

    def lesson(self, number, title, goal, code, mend, check_text):
        head = HEAD.format(number=number, title=title, goal=goal)
        solved_head = re.sub(r"// INTENDED.*\n//\n", "", head) + HINTS
        name = f"{number:02}_{title}.cpp"
        self.write(f"course/{name}", head + code)
        self.write(f"course/solutions/{name}", solved_head + code.replace(*mend))
        self.write(f"course/checks/{name}", check_text)

    def edit(self, path, *replacement):
        file = self.root / path
        self.assertIn(replacement[0], file.read_text())
        file.write_text(file.read_text().replace(*replacement))


class Calls(Course):
    UNITS, TWICE = "01_units.cpp", "02_twice.cpp"

    def call(self, *options, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        command = [ROOT / "scripts" / "lessons", "--course", self.course, "--dir", self.folder, *options]
        status, output = common.run(command, **more)
        self.assertNotIn("Traceback", output)
        return status, output

    def expect(self, status, *texts, options=(), **more):
        """One call: checks its exit status and output. A text that begins with '!' must be absent."""
        got, output = self.call(*options, **more)
        self.assertEqual(got, status, output)
        for text in texts:
            self.assertIs(text.lstrip("!") in output, not text.startswith("!"), f"{text} in: {output}")
        return output

    def solve(self, name=UNITS):
        shutil.copy(self.course / "solutions" / name, self.folder / name)

    def progress(self):
        """(the current lesson, the solved ones)"""
        record = json.loads((self.folder / "progress.json").read_text())
        return record["current"], list(record["solved"])
