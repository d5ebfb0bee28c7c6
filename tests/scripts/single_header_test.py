#!/usr/bin/env python3
"""The single header of scripts/single_header: programs of the pages compile and run with it, and mistakes have the messages
of the catalogue. Small trees of headers show each rule of the joiner.

usage: single_header_test.py [--all]

--all takes 20 s more: it also trains README.md's network, and compiles the links about ranks with their own header.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "scripts" / "lib"), str(HERE.parents[1] / "tools"), str(HERE.parents[1] / "docs")]
import cases  # noqa: E402
import common  # noqa: E402
import compile_errors_page  # noqa: E402
import compile_fail  # noqa: E402
import explorer  # noqa: E402
import readme  # noqa: E402
import single_header  # noqa: E402
import together  # noqa: E402
from lessons import course, form  # noqa: E402

MISTAKE = compile_fail.FOLDER / "add_cpu_cuda.cpp"
PAGES = ["README.md", "docs/placement.md"]
ALL = "--all" in sys.argv
CONFIG = '#pragma once\n#define LOCUS_VERSION "1.2.3"\n'


class Joined(cases.Scratch):
    """Of trees with few lines."""

    def join(self, headers=("locus/a.hpp",), **files):
        """The lines that the joiner makes of files {name with _ for . before its suffix: text}, without its own."""
        folder = self.root / "include" / "locus"
        for path, text in {"core/config_hpp": CONFIG, **files}.items():
            file = folder / re.sub(r"_(?=\w+$)", ".", path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        lines = single_header.single_header(headers, root=self.root).splitlines()
        begin = max(i for i, line in enumerate(lines) if line.startswith("#define LOCUS_ZLIB"))
        return lines[begin + 1:-2]

    def test_a_header_stands_where_it_is_first_included(self):
        self.assertEqual(self.join(a_hpp="#pragma once\n#include <locus/b.hpp>\nint a;\n#include <locus/b.hpp>\n",
                                   b_hpp="#pragma once\n#include <vector>\nint b;  // a remark\n"),
                         ["#include <vector>", "int b;", "int a;"])

    def test_conditions_of_cuda_are_decided_and_others_stay(self):
        text = ("#if LOCUS_CUDA && __has_include(<nccl.h>)\n#include <nccl.h>\n#elif defined(__clang__)\nint clang;\n#else\nint other;\n"
                "#endif\n#if !LOCUS_NVCC\nint host;\n#endif\n")
        self.assertEqual(self.join(a_hpp=text), ["#if defined(__clang__)", "int clang;", "#else", "int other;", "#endif", "int host;"])

    def test_a_true_condition_after_one_that_stays_is_its_else(self):
        text = "#if defined(__clang__)\nint clang;\n#elif !LOCUS_CUDA\nint host;\n#else\nint never;\n#endif\n"
        self.assertEqual(self.join(a_hpp=text), ["#if defined(__clang__)", "int clang;", "#else", "int host;", "#endif"])

    def test_a_header_that_a_compiler_alone_includes_is_there_for_the_others_later(self):
        guard = "LOCUS_SINGLE_LOCUS_B_HPP"
        text = "#if defined(__clang__)\n#include <locus/b.hpp>\n#endif\n#include <locus/b.hpp>\n"
        copy = [f"#ifndef {guard}", f"#define {guard}", "int b;", "#endif"]
        self.assertEqual(self.join(a_hpp=text, b_hpp="#pragma once\nint b;\n"), ["#if defined(__clang__)", *copy, "#endif", *copy])

    def test_arguments_of_a_file_are_expanded(self):
        text = ("#define LOCUS_REFUSED f(const X&)\n#define LOCUS_REFUSED_REMEDY(to) \"move to \" to\n#include <locus/refuse/if.inc>\n"
                "#define LOCUS_REFUSED g()\n#include <locus/refuse/if.inc>\n")
        refuse = ("#ifndef LOCUS_REFUSED_REMEDY\n#define LOCUS_REFUSED_REMEDY(to) \"\"\n#endif\n#if defined(__clang__)\n"
                  "void LOCUS_REFUSED text(LOCUS_REFUSED_REMEDY(\"Cpu, or\"));\n#endif\n#undef LOCUS_REFUSED\n#undef LOCUS_REFUSED_REMEDY\n")
        self.assertEqual(self.join(**{"a_hpp": text, "refuse/if_inc": refuse}),
                         ["#if defined(__clang__)", 'void f(const X&) text("move to " "Cpu, or");', "#endif",
                          "#if defined(__clang__)", 'void g() text("");', "#endif"])

    def test_literals_are_no_comments(self):
        text = 'auto a = "// no remark";\nauto b = R"(/* nor\n// this)";\nauto c = \'"\'; // "one\nconstexpr int d = 1\'000\'000; /* two */ int e;\n'
        self.assertEqual(self.join(a_hpp=text), ['auto a = "// no remark";', 'auto b = R"(/* nor', '// this)";', "auto c = '\"';",
                                                 "constexpr int d = 1'000'000;   int e;"])

    def test_docs_and_zlib_are_options(self):
        text = "/// Adds.\n// a remark\nint a;\n#if LOCUS_ZLIB\nint zlib;\n#endif\n"
        self.assertEqual(self.join(a_hpp=text), ["int a;"])
        joined = single_header.single_header(["locus/a.hpp"], root=self.root, docs=True, zlib=True)
        self.assertIn("#define LOCUS_ZLIB 1\n/// Adds.\nint a;\nint zlib;\n", joined)

    def test_a_raw_string_that_would_change_is_refused(self):
        for text in ("one\n\ntwo", "one\n#two {}", "one \ntwo"):
            with self.subTest(text), self.assertRaisesRegex(single_header.Unsupported, "a raw string has a line"):
                self.join(a_hpp=f'auto a = R"({text})";\n')

    def test_an_argument_that_depends_on_the_compiler_is_refused(self):
        text = "#if defined(__clang__)\n#define LOCUS_REFUSED f()\n#else\n#define LOCUS_REFUSED g()\n#endif\nvoid LOCUS_REFUSED;\n"
        with self.assertRaisesRegex(single_header.Unsupported, "LOCUS_REFUSED: its value depends"):
            self.join(a_hpp=text)

    def test_a_header_that_is_not_there_is_refused(self):
        for name in ("vector", "locus/b.hpp", "a.hpp"):
            with self.assertRaisesRegex(single_header.Unsupported, f"'{name}' is no header in"):
                self.join([name], a_hpp="")


class Real(cases.Scratch):
    """Of Locus itself."""

    @classmethod
    def setUpClass(cls):
        cls.text = single_header.single_header()
        cls.compilers = common.find_compilers()

    def setUp(self):
        super().setUp()
        (self.root / "locus").mkdir()
        (self.root / "locus" / "locus.hpp").write_text(self.text)

    def options(self, *more):
        return [*readme.BUILD[:-1], f"-I{self.root}", *more]  # without the include folder of the tree

    def test_nothing_of_the_tree_is_left_to_include(self):
        lines = self.text.splitlines()
        self.assertEqual([line for line in lines if re.match(r'\s*#\s*include\b(?!\s*<[\w./]+>$)|\s*#\s*include\s*<locus/', line)], [])
        self.assertFalse(str(common.ROOT) in self.text, "it names this folder")
        self.assertIn("Licensed under the Apache License", " ".join(lines[:3]))

    def test_programs_of_the_pages_compile_and_run(self):
        if "gcc" not in self.compilers:
            self.skipTest("no g++ here")
        pages = [common.ROOT / page for page in PAGES]
        found = [program for page in pages for program in readme.sound_programs(page.read_text()) if ALL or "training" not in program[0]]
        self.assertGreaterEqual(len(found), 2)
        for name, source, _ in found:
            (self.root / name).write_text(re.sub(r"\}\n\Z", " return 0; }\n", source))
        calls = "\n".join(f"    case {i}: return call(of_{i}::main, argc - 1, argv + 1);" for i in range(len(found)))
        unit, built = self.root / "unit.cpp", self.root / "built"
        unit.write_text(together.in_one_file([self.root / name for name, *_ in found]) + readme.CALLS % calls)
        self.assertEqual(common.run([self.compilers["gcc"], *self.options(unit, "-o", built)]), (0, ""))
        for i, (name, _, expected) in enumerate(found):
            with self.subTest(name):
                status, said = common.run([built, chr(ord("a") + i)], cwd=self.root, timeout=300)
                self.assertEqual(status, 0, said)
                if expected is not None:
                    self.assertIsNone(readme.differing(expected, said))

    def test_a_mistake_has_the_message_of_the_catalogue(self):
        if "gcc" not in self.compilers or readme.major_version(self.compilers["gcc"]) != readme.VERSIONS["gcc"]:
            self.skipTest("no g++ 12 here")
        status, said = common.run([self.compilers["gcc"], *self.options("-fsyntax-only", "-DLOCUS_MUST_FAIL", MISTAKE)])
        self.assertEqual(status, 1)
        self.assertTrue(compile_fail.points_into(MISTAKE, compile_fail.first_error(said)), said)
        self.assertIn(f"g++ 12: {compile_errors_page.message(compile_fail.first_error(said))}\n", compile_errors_page.PAGE.read_text())
        self.assertLessEqual(compile_fail.lines_printed(said), compile_fail.LINES)

    def linked(self):
        """[(name, its program, patterns of its first error or None)] of the links."""
        found = []
        for name, program in explorer.programs_of("https://locus.example/single").items():
            case = compile_fail.FOLDER / f"{name}.cpp"
            if case.exists():
                wanted, _ = compile_fail.read_expectations(case.read_text())
            else:
                wanted, _ = form.expectations(course.find_lesson(course.read_course(course.SHIPPED), name))
            found.append((name, program, wanted.get("clang")))
        self.assertGreaterEqual(len(found), 40)
        return found

    def test_the_programs_of_the_links_have_their_messages(self):
        if "clang" not in self.compilers:
            self.skipTest("no clang here")
        # Its own name: compile_together() searches the include folder first.
        self.write("single.hpp", single_header.single_header(explorer.HEADERS[explorer.OF_RANKS]) if ALL else self.text)
        programs = {}
        for name, source, wanted in self.linked():
            if explorer.OF_RANKS in source and not ALL:
                continue
            source = re.sub(r"#include <https://.*>", "#include <single.hpp>", source)
            programs[self.write(f"{name}.cpp", source)] = wanted
        self.assertGreaterEqual(len(programs), 35)
        _, said = compile_fail.compile_together("clang", self.compilers["clang"], list(programs), True,
                                                [f"-I{self.root}", *compile_fail.EVERY_ERROR["clang"]])
        said = compile_fail.split_errors(said, list(programs))
        self.assertEqual(set(said), set(programs))
        for program, wanted in programs.items():
            with self.subTest(program.stem):
                if wanted is None:  # a mistake that shows when it runs
                    self.assertEqual(said[program], "")
                else:
                    self.assertIsNone(compile_fail.judge(program, 1, said[program], wanted, compile_fail.LINES))

    def run_script(self, *options):
        done = subprocess.run([common.ROOT / "scripts" / "single_header", *options], capture_output=True, text=True, cwd=self.root)
        return done.returncode, done.stdout + done.stderr

    def test_the_script_writes_a_whole_file_or_none(self):
        status, said = self.run_script("--out", "new/one.hpp", "vector")
        self.assertEqual(status, 1)
        self.assertIn("'vector' is no header in", said)
        self.assertFalse((self.root / "new").exists())
        status, said = self.run_script("--out", "new/one.hpp", "--docs", "--zlib", "locus/core/shape.hpp")
        self.assertRegex(said, r"^new/one.hpp: \d+ kB\n$")
        self.assertEqual((self.root / "new" / "one.hpp").read_text(),
                         single_header.single_header(["locus/core/shape.hpp"], docs=True, zlib=True))

    def test_the_script_prints_a_link(self):
        program = self.write("program.cpp", "#include <locus/locus.hpp>\nint main() {}\n")
        status, said = self.run_script("--link", program, "--address", "https://locus.example/single/")
        self.assertEqual(status, 0)
        self.assertEqual(explorer.source_of(said.strip()), "#include <https://locus.example/single/locus.hpp>\nint main() {}\n")
        for options, text in (
            (("--link", program), "--link PROGRAM goes with --address URL"),
            (("--link", program, "--address", "locus.example"), "--link PROGRAM goes with --address URL"),
            (("--link", self.write("none.cpp", "int main() {}\n"), "--address", "https://locus.example"), "includes no header of Locus"),
        ):
            status, said = self.run_script(*options)
            self.assertNotEqual(status, 0)
            self.assertIn(text, said)


if __name__ == "__main__":
    common.main(cases.check)
