#!/usr/bin/env python3
"""Each kind of fault in a course is reported."""

import contextlib
import io
import shutil
import unittest.mock

from small_course import MENDED, Course, common

import cases
from lessons import batch, course, messages, verify


@unittest.skipUnless(shutil.which("g++"), "no g++ here")
class Verification(Course):
    """A course with a known fault must be reported, whether its lessons are compiled alone or in one file."""

    def faults(self, names=("gcc",), alone=True):
        report, said = common.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            table = verify.verify(course.read_course(self.course), list(names), report, alone)
        return report, said.getvalue() + table

    def assert_fault(self, *texts, names=("gcc",), modes=(True, False)):
        for alone in modes:
            report, said = self.faults(names, alone)
            self.assertGreater(report.failed, 0, said)
            for text in texts:
                self.assertIn(text, said)

    def test_a_good_course(self):
        report, said = self.faults(alone=False)
        self.assertEqual((report.passed, report.failed, report.skipped), (10, 0, 0), said)
        self.assertRegex(said, r"01_units +\d+\n02_twice +runs$")
        report, said = self.faults()
        self.assertEqual((report.passed, report.failed, report.skipped), (8, 0, 0), said)
        self.assertRegex(said, r"01_units +\d+\n02_twice +runs\n")
        self.assertRegex(said, r"01_units +\d\.\d \d\.\d\n02_twice +\d\.\d \d\.\d\nslowest to its error: 0")

    def test_checks_in_one_program(self):
        units, twice = course.read_course(self.course)
        deleted = self.write("deleted/01_units.cpp", "struct Metres { double value; };\nstruct Feet { double value; };\n"
                             "Metres length(Feet) {}\n")
        cases = {(units, units.exercise): "error", (units, units.solution): True, (units, deleted): "error",
                 (twice, twice.exercise): "twice 2 is 4\n", (twice, twice.solution): True}
        found = batch.outcomes(list(cases), "gcc", shutil.which("g++"))
        for case, expected in cases.items():
            self.assertEqual(found[case].solved, expected is True, found[case])
            self.assertIn(expected if isinstance(expected, str) else "", found[case].whole)

    def test_what_is_wrong_with_none_of_them(self):
        units, twice = course.read_course(self.course)
        self.write("course/checks/02_twice.cpp", "#include <no_such_header>\n#include LESSON\nint main() { return 0; }\n")
        cases = [(units, units.solution), (twice, twice.solution)]
        self.assertEqual(batch.outcomes(cases, "gcc", shutil.which("g++")), {})

    def test_a_header_that_another_lesson_includes(self):
        for path in ("01_units.cpp", "solutions/01_units.cpp"):
            self.edit(f"course/{path}", "struct Metres {", "std::vector<int> borrowed;\nstruct Metres {")
        for path in ("02_twice.cpp", "solutions/02_twice.cpp"):
            self.edit(f"course/{path}", "inline int", "#include <vector>\ninline int")
        self.assert_fault("01_units solved (gcc)", modes=[True])
        self.assert_fault("01_units by itself (gcc)", modes=[False])

    def test_a_compiler_that_is_not_here(self):
        with unittest.mock.patch.object(common, "find_compilers", return_value={}):
            report, said = self.faults()
        self.assertEqual((report.passed, report.failed, report.skipped), (2, 0, 2), said)

    def test_an_exercise_that_compiles(self):
        self.edit("course/01_units.cpp", "metres = feet;", MENDED)
        self.assert_fault("01_units as shipped (gcc)", "compiles as shipped")

    def test_another_message(self):
        self.edit("course/checks/01_units.cpp", "expect-error: Feet", "expect-error: Miles")
        self.assert_fault("does not match 'Miles'")

    def test_a_message_that_is_recorded_otherwise(self):
        lessons = course.read_course(self.course)
        messages.write(lessons, {"gcc": shutil.which("g++")})
        self.assertEqual(messages.read(lessons[1])[0], {"check": ["twice 2 is 4"]})
        self.assertEqual(self.faults()[0].failed, 0)
        self.edit("course/messages.json", "Feet", "Foot")
        self.assert_fault("01_units as shipped (gcc)", "has another message")
        self.edit("course/messages.json", "Foot", "Feet")
        self.edit("course/messages.json", "twice 2 is 4", "twice 2 is 5")
        self.assert_fault("02_twice as shipped (gcc)", "has another message")
        self.edit("course/messages.json", '"gcc": "g++', '"gcc": "g++ of old')
        self.edit("course/messages.json", "Feet", "Foot")
        self.edit("course/messages.json", "twice 2 is 5", "twice 2 is 4")
        self.assertEqual(self.faults()[0].failed, 0)

    def test_too_many_lines(self):
        self.edit("course/01_units.cpp", "metres = feet;", "metres = feet; " * 4)
        self.assert_fault("12 allowed")

    def test_another_output(self):
        self.edit("course/checks/02_twice.cpp", "expect-output: twice 2 is 4", "expect-output: five")
        self.assert_fault("02_twice as shipped (gcc)", "does not print 'five'")

    def test_a_run_time_lesson_that_does_not_compile(self):
        self.edit("course/02_twice.cpp", "x + 1", "y + 1")
        self.assert_fault("02_twice as shipped (gcc)", "it does not compile")

    def test_a_solution_that_is_none(self):
        self.edit("course/solutions/01_units.cpp", "0.3048", "0.1")
        self.assert_fault("01_units solved (gcc)", "ten feet are more")

    def test_a_check_that_lets_everybody_through(self):
        self.edit("course/checks/01_units.cpp", "if (length(Feet{10}).value > 3) return 0;", "return 0;")
        self.assert_fault("01_units deleted (gcc)")

    @unittest.skipUnless("clang" in common.find_compilers(), "no clang++ here")
    def test_a_deletion_that_clang_alone_lets_through(self):
        self.edit("course/checks/01_units.cpp", "int main() {", "int main() {\n#ifdef __clang__\n  return 0;\n#endif")
        self.assert_fault("01_units deleted (clang)", names=["gcc", "clang"])

    def test_comments(self):
        for path, *replacement, said in [
                ("01_units.cpp", "Lesson 1:", "Lesson 3:", "does not begin with"),
                ("01_units.cpp", "INTENDED TO FAIL.", "Careful.", "no paragraph 'INTENDED TO FAIL.'"),
                ("01_units.cpp", "// Goal:", "// Aim:", "no paragraph 'Goal:'"),
                ("01_units.cpp", "PyTorch", "NumPy", "no paragraph about PyTorch"),
                ("01_units.cpp", "// <- mend this", "", "has no '// <- mend this'"),
                ("solutions/01_units.cpp", "converts feet", "converts", "differs from its solution"),
                ("01_units.cpp", "struct Metres", "#include <vector>\nstruct Metres", "includes other headers than its solution"),
                ("solutions/01_units.cpp", "// hint:", "//", "without '// hint: '"),
                ("checks/01_units.cpp", "// expect-error", "// expected", "no '// expect-error"),
                ("checks/01_units.cpp", "#include LESSON", "", "whose first include is not '#include LESSON'")]:
            before = (self.course / path).read_text()
            self.edit(f"course/{path}", *replacement)
            self.assert_fault("01_units (comments)", said)
            (self.course / path).write_text(before)

    def test_files_without_their_others(self):
        self.write("course/checks/05_gone.cpp", "")
        (self.course / "solutions/02_twice.cpp").unlink()
        self.assert_fault("05_gone.cpp belongs to no lesson", "02_twice.cpp is missing")


if __name__ == "__main__":
    common.main(cases.check)
