#!/usr/bin/env python3
"""The checks can fail: each is shown a tree or a log with a known fault and must report it."""

import contextlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest
import unittest.mock

import cases
import check_imports
import check_tree
import common
import compile_budget
import compile_errors_page
import compile_fail
import compilers
import fast_suite
import format as layout
import headers
import readme
import refusals
import summary
import test_tables
import together
import unchanged
from cases import Scratch

sys.path[:0] = [str(common.ROOT / folder) for folder in ("benchmarks", "benchmarks/support", "scripts/lib", "tests/cuda",
                                                          "tests/docs", "tests/fuzz", "tests/support")]
import command_lines_test as command_lines  # noqa: E402
import cpu_dry_run  # noqa: E402
import cpu_workloads  # noqa: E402
import report  # noqa: E402
import diagnostics  # noqa: E402
import floors  # noqa: E402
import generated_code_test as generated  # noqa: E402
import json_text  # noqa: E402
import kernels  # noqa: E402
import reference_page  # noqa: E402
import trace_events  # noqa: E402
import tutorials  # noqa: E402
import words  # noqa: E402


class CountedCases(unittest.TestCase):
    def test_a_subtest_that_fails_is_counted(self):
        class Parts(unittest.TestCase):
            def runTest(self):
                for number in range(3):
                    with self.subTest(number):
                        self.assertNotEqual(number, 1)

        counted, said = common.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            Parts().run(cases.Result(counted))
        self.assertEqual((counted.passed, counted.failed), (0, 1))
        self.assertIn("runTest [1]", said.getvalue())


class HeadersAlone(Scratch):
    def test_a_header_is_read_first_if_nothing_stands_before_it(self):
        include = "#include <locus/core/math.hpp>\n"
        for before, found in {"": True, "// Of #include <locus/expr/a.hpp>.\n\n": True, "#include <vector>\n": False,
                              "#ifdef X\n": False, "struct A;\n": False}.items():
            with self.subTest(before):
                self.write("a.hpp", "#pragma once\n" + before + include)
                expected = common.ROOT / "include/locus/core/math.hpp" if found else None
                self.assertEqual(headers.read_first(self.root / "a.hpp"), expected)


class CompilersPage(unittest.TestCase):
    PAGE = "Rows:\n\n| g++ 12.2.0 | yes | yes | yes | yes | yes |\n\nThe end.\n"

    def test_parts_that_did_not_run_keep_their_cells(self):
        self.assertEqual(compilers.with_row(self.PAGE, "g++ 12.2.0", {"headers": "no", "cuda": ""}),
                         self.PAGE.replace("| yes | yes | yes | yes | yes |", "| no | yes | yes | yes | yes |"))

    def test_another_compiler_has_a_new_row(self):
        self.assertEqual(compilers.with_row(self.PAGE, "clang 20.1.8", {"mistakes": "yes"}),
                         self.PAGE.replace("yes |\n", "yes |\n| clang 20.1.8 |  |  |  | yes |  |\n"))

    def test_rows_stand_in_the_order_of_versions(self):
        page = self.PAGE
        for name in ["clang 9.0.1", "g++ 13.3.0, C++26", "clang 20.1.8, libc++", "g++ 13.3.0"]:
            page = compilers.with_row(page, name, {"headers": "yes"})
        self.assertEqual([row[1] for row in compilers.ROW.finditer(page)],
                         ["g++ 12.2.0", "g++ 13.3.0", "g++ 13.3.0, C++26", "clang 9.0.1", "clang 20.1.8, libc++"])


class ShortMembers(unittest.TestCase):
    def test_a_member_of_one_statement_is_one_line(self):
        self.assertEqual(layout.join_short_members("struct Log {\n  template <class T>\n  T by_input(T x) const {\n    return {T(1) / x};\n  }\n};\n"),
                         "struct Log {\n  template <class T> T by_input(T x) const { return {T(1) / x}; }\n};\n")

    def test_other_functions_stay(self):
        for text in ["template <class T>\nT f(T x) {\n  return x;\n}\n",
                     "  template <class T>\n    requires Real<T>\n  T f(T x) {\n    return x;\n  }\n",
                     "  template <class T>\n  T f(T x) {\n    ++x;\n    return x;\n  }\n",
                     "  template <class T>\n  struct F {\n    T x;\n  };\n",
                     f"  template <class T>\n  T f(T x) {{\n    return {'x' * 90};\n  }}\n"]:
            self.assertEqual(layout.join_short_members(text), text)


class Tutorials(Scratch):
    ITEM = ["`.cuda()`", "`x.to<Cuda>()`", "[Copies](copies.md#between-devices)"]

    def problem(self, *cells):
        self.write("docs/copies.md", "# Copies\n\n## Between devices\n")
        return tutorials.problem_of_row(list(cells), {"x", "to", "Cuda", "nn", "first", "forget"}, ({"nn::Flatten"}, {"to"}), self.root / "docs" / "page.md", self.root)

    def test_an_item_with_its_answer(self):
        text = f"{tutorials.HEAD}\n|---|---|---|\n| {' | '.join(self.ITEM)} |\n\n| another | table |\n"
        self.assertEqual(tutorials.rows(text), [self.ITEM])
        self.assertIsNone(self.problem(*self.ITEM))

    def test_items_that_lack_something(self):
        says, answer, where = self.ITEM
        self.assertEqual(self.problem(says, answer), "2 cells; expected the tutorial's words, the answer, and where it stands")
        self.assertEqual(self.problem(says, "", where), "a cell is empty")
        self.assertEqual(self.problem(says, answer, "Copies"), "the last cell has no link")
        self.assertEqual(self.problem(says, answer, "[a](none.md)"), "link to none.md#: leads nowhere")
        self.assertEqual(self.problem(says, answer, "[a](copies.md#none)"), "link to copies.md#none: no heading of this name")

    def test_names_that_do_not_exist(self):
        says, _, where = self.ITEM
        self.assertEqual(self.problem(says, "`x.moved<Cuda>()`", where), "not in headers, examples or scripts: moved")
        self.assertEqual(self.problem(says, "`examples/none.cpp --device`", where), "not in headers, examples or scripts: examples/none.cpp")

    def test_names_that_only_exist_elsewhere(self):
        says, _, where = self.ITEM
        self.assertEqual(self.problem(says, "`nn::first(x)`", where), "not in the reference: nn::first")
        self.assertEqual(self.problem(says, "`x.forget()`", where), "not in the reference: forget")

    def test_questions_that_are_no_cases(self):
        text = ("## Quiz\n\n### A sum\n\n```cpp\nx + w;\n```\n\n<details>\n<summary>Answer</summary>\n\n```text\nclang 14: a + b\n```\n\n"
                "[The fix](compile-errors.md#sum)\n\n</details>\n")
        self.assertEqual(tutorials.questions(text), [question := ("sum", "x + w;\n", "clang 14: a + b")])
        case = '<a id="sum"></a>\n```cpp\nx + w;\n```\n```text\nclang 14: a + b\n```\n'
        self.assertIsNone(tutorials.problem_of_question(*question, case))
        self.assertEqual(tutorials.problem_of_question(*question, ""), "no case sum")
        for changed in (case.replace("x + w", "w + x"), case.replace("a + b", "a * b")):
            self.assertEqual(tutorials.problem_of_question(*question, changed), "the case sum has other code, or another message")

    def test_excerpts_that_are_not_lines_of_their_file(self):
        self.write("examples/pytorch/sum.py", "for x in batches:\n    y = x\n\n    y += 1\n    y *= 2\n")
        self.write("examples/sum.cpp", "for (x : batches) {\n  y = x;\n}\n")
        good = "```python\n# examples/pytorch/sum.py\ny = x\n\ny += 1\n```\n```cpp\n// examples/sum.cpp\nfor (x : batches) {\n// ...\n}\n```\n"

        def failures(page):
            with contextlib.redirect_stdout(io.StringIO()):
                tutorials.check_programs(report := common.Report(), page, self.root)
            return report.failed

        self.assertEqual(failures(good), 0)
        self.assertEqual(failures(good.replace("+= 1", "+= 2")), 1)
        self.assertEqual(failures(good.replace("y += 1", "  y += 1")), 1)
        self.assertEqual(failures(good.replace("y = x\n\n", "y = x\n")), 1)
        self.assertEqual(failures(good.replace("# examples/pytorch/sum.py\n", "")), 1)
        self.assertEqual(failures(good.replace("sum.cpp", "none.cpp")), 2)


class Refusals(Scratch):
    def test_a_message_lists_the_fields_of_the_struct(self):
        self.write("optim/sgd.hpp", "struct SgdOptions {\n  double lr = 0;  ///< x = 1\n  bool nesterov = false;\n};\n")
        row = {"head": "optimizer Sgd", "says": "Sgd: none; its options, in this order, are OPTIONS", "options": "optim/sgd.hpp SgdOptions"}
        with unittest.mock.patch.object(refusals, "INCLUDE", self.root):
            lines = refusals.stanza(row, declared := set())
        self.assertIn('#define LOCUS_REFUSED_TEXT "Sgd: none; its options, in this order, are .lr, .nesterov"', lines)
        self.assertEqual(declared, {"none", "the_options_are_lr_nesterov"})

    def test_a_file_that_is_not_what_the_tables_say_is_reported(self):
        self.write("refuse/sum.inc", "// Written by tests/tools/refusals.py from refusals/ops.txt.\n")
        self.write("refuse/mean.inc", "// Written by tests/tools/refusals.py from refusals/ops.txt.\n")
        with unittest.mock.patch.object(refusals, "FOLDER", self.root / "refuse"), \
             unittest.mock.patch.object(refusals, "written_files", lambda: {"sum.inc": "sum"}):
            self.assertEqual([text.partition(" ")[0] for text in refusals.problems()], ["sum.inc", "mean.inc"])

    def test_a_row_without_its_sentence_is_an_error(self):
        self.write("ops.txt", "[ops/sum]\nsum(...)\n  template: class X\n")
        with self.assertRaisesRegex(ValueError, r"ops.txt, \[ops/sum\], sum\(...\): 'says' is missing"):
            refusals.written_files(self.root)

    def test_a_key_that_stands_twice_is_an_error(self):
        self.write("ops.txt", "[ops/sum]\nsum(x)\n  mistake: A\n  mistake: B\n")
        with self.assertRaisesRegex(ValueError, "ops.txt, line 4: `mistake` stands there twice"):
            refusals.written_files(self.root)


class Imports(Scratch):
    def circles(self):
        return check_imports.circles(check_imports.graph(self.root))

    def test_a_clean_tree(self):
        self.write("scripts/lib/run.py", "import options\nimport lessons.course\n")
        self.write("scripts/lib/options.py", "import json\n")
        self.write("scripts/lib/lessons/__init__.py", "")
        self.write("scripts/lib/lessons/course.py", "from . import folder\n")
        self.write("scripts/lib/lessons/folder.py", "import options\n")
        self.assertEqual(self.circles(), [])

    def test_circles(self):
        self.write("scripts/lib/run.py", "import dry\n")
        self.write("scripts/lib/dry.py", "import options\n")
        self.write("scripts/lib/options.py", "def parse():\n    from run import start\n")
        self.assertEqual(self.circles(), [["dry", "options", "run", "dry"]])
        self.write("scripts/lib/options.py", "")
        self.write("tests/lessons/__init__.py", "")
        self.write("tests/lessons/course.py", "from .folder import Folder\n")
        self.write("tests/lessons/folder.py", "from . import course\n")
        self.assertEqual(self.circles(), [["lessons.course", "lessons.folder", "lessons.course"]])

    def test_one_name_for_two(self):
        self.write("scripts/lib/options.py", "")
        self.write("benchmarks/options.py", "")
        with self.assertRaisesRegex(ValueError, "options.py have the same name"):
            self.circles()


class Layering(Scratch):
    def problems(self):
        return [f"{path.relative_to(self.root).as_posix()}: {problem}"
                for path, found in check_tree.check_tree(self.root) for problem in found]

    def assert_only_problem(self, path, text):
        self.assertEqual(len(self.problems()), 1, self.problems())
        self.assertIn(path, self.problems()[0])
        self.assertIn(text, self.problems()[0])

    def test_a_clean_tree(self):
        self.write("include/locus/core/config.hpp", "#pragma once\n#if defined(__CUDACC__)\n#endif\n")
        self.write("include/locus/cuda/backend.hpp", "#pragma once\n#include <locus/cuda/map.cuh>\n")
        self.write("include/locus/nn/linear.hpp",
                   '#pragma once\n// "nn/x.hpp" <<<1>>> __CUDACC__\n#include <locus/core/config.hpp>\n'
                   '#include <locus/nn/module.hpp>\n#include <vector>\n')
        self.write("include/locus/locus.hpp", "#pragma once\n#include <locus/nn/linear.hpp>\n")
        self.write("cuda_kernels/locus/cuda/map.cuh", "#pragma once\n#include <locus/device/verbs.hpp>\nk<<<1, 1>>>();\n")
        self.write("examples/mnist.cpp", 'auto text = "<<<";\n')
        self.assertEqual(self.problems(), [])

    def test_a_version_that_differs(self):
        self.write("meson.build", "project('locus', 'cpp',\n  version: '0.2.0',\n")
        self.write("CHANGELOG.md", "# Changelog\n\n## [0.2.0] - 2026-01-01\n")
        self.write("include/locus/core/config.hpp", '#pragma once\n#define LOCUS_VERSION "0.1.0"\n')
        self.assert_only_problem("core/config.hpp", "says version 0.1.0; meson.build has 0.2.0")
        self.write("include/locus/core/config.hpp", '#pragma once\n#define LOCUS_VERSION "0.2.0"\n')
        self.write("python/meson.build", "project('locus-python', 'cpp',\n  version: '0.2.0',\n")
        self.write("python/pyproject.toml", '[project]\nversion = "0.1.0"\n')
        self.write("python/locus/__init__.py", '__version__ = "0.2.0"\n')
        self.assert_only_problem("python/pyproject.toml", "says version 0.1.0; meson.build has 0.2.0")

    def test_upward_include(self):
        self.write("include/locus/tensor/tensor.hpp", "#pragma once\n#include <locus/ops/reduce.hpp>\n")
        self.assert_only_problem("tensor/tensor.hpp", "<locus/ops/reduce.hpp>, which is not below it")

    def test_sideways_include(self):
        self.write("include/locus/optim/sgd.hpp", "#pragma once\n#include <locus/nn/module.hpp>\n")
        self.assert_only_problem("optim/sgd.hpp", "not below it")

    def test_a_name_of_std_without_its_header(self):
        self.write("include/locus/data/names.hpp", "#pragma once\n#include <locus/data/name.hpp>\nauto end() { return std::default_sentinel; }\n")
        self.write("include/locus/data/name.hpp", "#pragma once\n#include <string>\n// std::map\nusing Name = std::string;\n")
        self.assert_only_problem("data/names.hpp", "names std::default_sentinel; include <iterator>")
        self.write("include/locus/core/std/iterator.hpp", "#pragma once\n#include <iterator>\n")
        self.write("include/locus/data/name.hpp", "#pragma once\n#include <locus/core/std/iterator.hpp>\n#include <string>\nusing Name = std::string;\n")
        self.assertEqual(self.problems(), [])

    def test_umbrella_include(self):
        self.write("include/locus/io/npy.hpp", "#pragma once\n#include <locus/locus.hpp>\n")
        self.assert_only_problem("io/npy.hpp", "includes everything")

    def test_quoted_include(self):
        self.write("include/locus/io/npy.hpp", '#pragma once\n#include "plot.hpp"\n')
        self.assert_only_problem("io/npy.hpp", "write <locus/...>")

    def test_rooms_in_a_circle(self):
        self.write("include/locus/data/sets/parts.hpp", "#pragma once\n#include <locus/data/dataset.hpp>\n")
        self.write("include/locus/data/dataset.hpp", "#pragma once\n")
        self.write("include/locus/data/loading/loader.hpp", "#pragma once\n#include <locus/data/sets/parts.hpp>\n")
        self.assertEqual(self.problems(), [])
        self.write("include/locus/data/sets/mnist.hpp", "#pragma once\n#include <locus/data/loading/loader.hpp>\n")
        self.assertEqual(sorted(self.problems()), ["include/locus/data/loading: includes sets, which include it",
                                                   "include/locus/data/sets: includes loading, which include it"])

    def test_unranked_folder(self):
        self.write("include/locus/misc/x.hpp", "#pragma once\n")
        self.assert_only_problem("misc/x.hpp", "has no rank")

    def test_missing_pragma_once(self):
        self.write("include/locus/core/x.hpp", "// A header.\n")
        self.assert_only_problem("core/x.hpp", "#pragma once")

    def test_kernels_reached_from_elsewhere(self):
        self.write("cuda_kernels/locus/cuda/map.cuh", "#pragma once\n")
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n#include <locus/cuda/map.cuh>\n")
        self.assert_only_problem("ops/reduce.hpp", "only cuda/ may")

    def test_header_of_refusals(self):
        refusals = "#define LOCUS_REFUSED f(const L&)\n#include <locus/refuse/operands.inc>\n"
        self.write("include/locus/refuse/operands.inc", "")
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n" + "void g();\n" * 20 + refusals)
        self.assertEqual(self.problems(), [])
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n" + "void g();\n" * 2 + refusals)
        self.assert_only_problem("ops/reduce.hpp", "20% of its lines are refusals; make them rows [ops/reduce] of refusals/")

    def test_header_of_refusals_in_classes(self):
        self.write("include/locus/refuse/operands.inc", "")
        refusals = '#define LOCUS_REFUSED_CALL "f(x)"\n#include <locus/refuse/operands.inc>\n'
        layer = "struct S {\n  void f();\n" + "  void g();\n" * 9 + "};\n"
        outside = "namespace a::inline b {\n" + layer * 2 + "}\n" + refusals
        inside = "namespace a::inline b {\n" + layer.replace("};\n", refusals + "};\n") * 2 + "}\n"
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n" + outside)
        self.assertEqual(self.problems(), [])
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n" + inside)
        self.assert_only_problem("ops/reduce.hpp", "13% of its lines are refusals; make them rows [ops/reduce] of refusals/")
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n" + inside.replace("#define", "// define", 1))
        self.assertEqual(self.problems(), [])

    def test_list_of_instances(self):
        self.write("include/locus/instances/ops/reduce.inc", "#include <locus/instances/on_each_device.inc>\n")
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n#include <locus/instances/ops/reduce.inc>\n")
        self.write("compiled/locus.cpp", "#include <locus/instances/ops/reduce.inc>\n")
        self.assertEqual(self.problems(), [])
        self.write("compiled/locus.cpp", "")
        self.assert_only_problem("instances/ops/reduce.inc", "locus.cpp does not include it")
        self.write("compiled/locus.cpp", "#include <locus/instances/ops/reduce.inc>\n")
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n")
        self.assert_only_problem("instances/ops/reduce.inc", "reduce.hpp does not include it")

    def test_list_of_instances_of_another_header(self):
        self.write("include/locus/ops/sort.hpp", "#pragma once\n#include <locus/instances/ops/reduce.inc>\n")
        self.assert_only_problem("ops/sort.hpp", "only its own may")

    def test_cudacc_elsewhere(self):
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n#ifdef __CUDACC__\n#endif\n")
        self.assert_only_problem("ops/reduce.hpp", "__CUDACC__")

    def test_cuda_arch_elsewhere(self):
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n#ifdef __CUDA_ARCH__\n#endif\n")
        self.assert_only_problem("ops/reduce.hpp", "__CUDA_ARCH__")

    def test_costly_header(self):
        self.write("include/locus/ops/reduce.hpp", "#pragma once\n#include <algorithm>\n")
        self.assert_only_problem("ops/reduce.hpp", "core/std/bounds.hpp")
        (self.root / "include/locus/ops/reduce.hpp").unlink()
        self.write("cuda_kernels/locus/cuda/map.cuh", "#pragma once\n#include <memory>\n")
        self.assert_only_problem("map.cuh", "core/std/shared.hpp")

    def test_launch_elsewhere(self):
        self.write("include/locus/ops/reduce.hpp", "#pragma once\ninline void f() { g<<<1, 1>>>(); }\n")
        self.assert_only_problem("ops/reduce.hpp", "<<<")
        (self.root / "include/locus/ops/reduce.hpp").unlink()
        self.write("examples/mnist.cpp", "int main() { g<<<1, 1>>>(); }\n")
        self.assert_only_problem("examples/mnist.cpp", "<<<")

    def test_header_that_does_not_link_alone(self):
        self.write("include/locus/tensor/tensor.hpp", "#pragma once\n")
        self.write("include/locus/tensor/copy.hpp", "#pragma once\n#include <locus/tensor/tensor.hpp>\n"
                   "template <class T, class D>\nTensor<T, D> Tensor<T, D>::clone() const {\n"
                   "template <class T, class D>\ntemplate <class U>\nTensor<U, D> Tensor<T, D>::as() const {\n")
        self.write("include/locus/ops/a.hpp", "#pragma once\n#include <locus/tensor/tensor.hpp>\nauto y = x.as<int>();\n")
        self.assert_only_problem("ops/a.hpp", "calls .as() of tensors; include <locus/tensor/copy.hpp>")
        self.write("include/locus/ops/a.hpp", "#pragma once\n#include <locus/tensor/tensor.hpp>\nauto y = x.reshape({2});\n")
        self.assert_only_problem("ops/a.hpp", "calls .reshape() of tensors")
        self.write("include/locus/ops/b.hpp", "#pragma once\n#include <locus/tensor/copy.hpp>\n")
        self.write("include/locus/ops/a.hpp", "#pragma once\n#include <locus/ops/b.hpp>\nauto y = x.reshape({2}).clone();\n")
        self.assertEqual(self.problems(), [])

    def test_kernel_that_includes_upwards(self):
        self.write("cuda_kernels/locus/cuda/map.cuh", "#include <locus/tensor/tensor.hpp>\n")
        self.assert_only_problem("map.cuh", "kernels may include only")

    def test_test_that_says_not_where_it_runs(self):
        self.write("tests/core/shape_test.cpp", "// Runs on: host, cuda (rows), reference; loops, alone.\n")
        self.assertEqual(self.problems(), [])
        for line, problem in (("// Shapes.", "the first line is '// Shapes.'; expected one like '// Runs on: host"),
                              ("// Runs on: hots.", "unknown word 'hots' in the first line; allowed: host, reference"),
                              ("// Runs on: cuda (row).", "unknown word 'cuda (row)'"),
                              ("// Runs on: host; lops.", "unknown word 'lops' in the first line; allowed: loops, alone"),
                              ("// Runs on: host, host.", "'host' stands twice"),
                              ("// Runs on: reference; alone.", "'alone' in the first line is for tests that run on: host")):
            self.write("tests/core/check_test.cpp", line + "\n")
            self.assert_only_problem("tests/core/check_test.cpp", problem)

    def test_a_python_test_that_no_build_names_is_reported(self):
        self.write("tests/io/a_test.py", "")
        self.write("tests/io/b_test.py", "A = 'a_test.py'\n")
        self.write("tests/meson.build", "test('b', files('io/b_test.py'))\n")
        self.assertEqual(self.problems(), [])
        self.write("tests/meson.build", "test('big', files('io/big_b_test.py'))\n")
        self.assert_only_problem("tests/io/b_test.py", "is in no meson.build: it never runs")

    def test_a_test_that_chooses_devices_is_not_compiled_with_others(self):
        self.write("tests/core/check_test.cpp", "// Runs on: host.\n")
        self.write("tests/core/shape_test.cpp", "// Runs on: host.\n#define LOCUS_TEST_DEVICES Cpu\n")
        self.assert_only_problem("tests/core/shape_test.cpp", "does not choose the devices of tests/core/check_test.cpp")
        self.write("tests/core/shape_test.cpp", "// Runs on: host; alone.\n#define LOCUS_TEST_DEVICES Cpu\n")
        test_tables.tables(self.root / "tests")

    def test_build_folder_older_than_a_test(self):
        self.write("tests/core/shape_test.cpp", "// Runs on: host.\n")
        configured = self.root / "build/tests/test_tables.txt"
        self.assertIn("run meson setup --reconfigure", test_tables.stale(configured, self.root / "tests"))
        self.write("build/tests/test_tables.txt", test_tables.text_of(test_tables.tables(self.root / "tests")))
        self.assertIsNone(test_tables.stale(configured, self.root / "tests"))
        self.write("tests/core/check_test.cpp", "// Runs on: host.\n")
        self.assertIn("have changed since", test_tables.stale(configured, self.root / "tests"))


class Unchanged(Scratch):
    def setUp(self):
        super().setUp()
        self.write("build/tests/one_test", "")
        self.write("build/tests/two_test", "")
        self.build = self.root / "build"
        self.tests = {name: (["fast"], [str(self.build / "tests" / f"{name}_test")]) for name in ("one", "two")}
        self.tests["a check"] = (["fast"], [sys.executable])
        self.tests["slow"] = (["slow"], [sys.executable])
        patched = unittest.mock.patch.object(unchanged, "tests_of", lambda build: self.tests)
        patched.start()
        self.addCleanup(patched.stop)

    def run_with(self, **results):
        lines = [json.dumps({"name": f"locus:fast / {name}", "result": "OK" if good else "FAIL", "returncode": 0 if good else 1,
                             "stdout": "1 passed, 0 failed, 0 skipped" if good else "0 passed, 1 failed, 0 skipped"})
                 for name, good in results.items()]
        self.write("build/meson-logs/testlog.json", "\n".join(lines))
        unchanged.record(self.build)

    def test_all_run_at_first(self):
        self.assertEqual(unchanged.choose(self.build, "fast"), (0, ["one", "two", "a check"]))

    def test_what_passed_is_left_out_until_it_is_built(self):
        self.run_with(one=True, two=False)
        self.assertEqual(unchanged.choose(self.build, "fast"), (1, ["two", "a check"]))
        program = self.build / "tests" / "one_test"
        os.utime(program, ns=(0, program.stat().st_mtime_ns + 1))
        self.assertEqual(unchanged.choose(self.build, "fast"), (0, ["one", "two", "a check"]))

    def test_what_failed_later_runs_again(self):
        self.run_with(one=True)
        self.run_with(one=False)
        self.assertEqual(unchanged.choose(self.build, "fast")[1], ["one", "two", "a check"])

    def test_a_program_of_the_fast_suite_that_is_not_built_with_it(self):
        self.assertEqual(fast_suite.not_built(self.tests, self.build, {"tests/one_test", "tests/two_test"}), [])
        self.assertEqual(fast_suite.not_built(self.tests, self.build, {"tests/one_test"}), ["two"])

    def test_a_record_that_is_damaged(self):
        self.write("build/passed.json", "{")
        self.assertEqual(unchanged.choose(self.build, "fast")[0], 0)


class CommandLines(Scratch):
    def failures(self, script, runs=3):
        program = self.write("program", f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()) as said, unittest.mock.patch.dict(os.environ, LOCUS_FUZZ_COUNT=str(runs)), \
                unittest.mock.patch.object(command_lines, "WALL_SECONDS", 1):
            command_lines.try_programs(common.Report(), [f"{program}:--ranks,--epochs"], 0.1)
        return said.getvalue()

    def test_a_program_that_refuses_some(self):
        self.assertEqual(self.failures("""case "$*" in *--ranks*) echo no such; exit 1;; esac""", 12), "")

    def test_programs_that_never_end(self):
        busy = self.failures("while :; do :; done")
        self.assertIn("half of the runs end by themselves\n    0 of 3 did", busy)
        self.assertNotIn("neither ended", busy)
        self.assertIn("neither ended nor worked for 0.1 seconds within 1", self.failures("exec sleep 20"))

    def test_programs_that_do_nothing_or_crash(self):
        self.assertIn("one of twenty runs does what its options say\n    0 of 3 did", self.failures("echo no; exit 1"))
        self.assertIn("without a word", self.failures("exit 1"))
        self.assertIn("ended by signal", self.failures("kill -SEGV $$"))

    def test_no_program_starts_very_many_ranks(self):
        choose = command_lines.random.Random(1)
        lines = [command_lines.arguments(choose, ["--ranks"]) for _ in range(3000)]
        self.assertFalse([line for line in lines if "65536" in line[line.index("--ranks") + 1:][:1]])


class CompileFail(Scratch):
    GOOD = "// expect-error: no match|invalid operands\nstruct A {}; struct B {};\n" \
           "#ifdef LOCUS_MUST_FAIL\nauto c = A{} + B{};\n#endif\n"

    def judge(self, text):
        """The harness's output for one file, with g++ alone; empty if the file is as expected."""
        self.write("case.cpp", text)
        compilers = {name: path for name, path in common.find_compilers().items() if name == "gcc"}
        if not compilers:
            self.skipTest("no g++ here")
        report, printed = common.Report(), io.StringIO()
        with contextlib.redirect_stdout(printed):
            compile_fail.check_folder(self.root, report, compilers=compilers)
        self.assertEqual((report.passed, report.failed), (0, 1) if "FAILED" in printed.getvalue() else (1, 0))
        return "".join(line for line in printed.getvalue().splitlines(True) if not line.startswith("skipped"))

    def test_expectation_cut_short(self):
        self.assertIn("cut short", self.judge(self.GOOD.replace("struct A", "// operands\nstruct A", 1)))

    def test_a_case_that_fails_as_it_should(self):
        self.assertEqual(self.judge(self.GOOD), "")

    def test_control_that_does_not_compile(self):
        self.assertIn("control does not compile", self.judge(self.GOOD + "int x = unknown;\n"))

    def test_failing_branch_that_compiles(self):
        self.assertIn("compiles with -DLOCUS_MUST_FAIL", self.judge(self.GOOD.replace("A{} + B{}", "A{}")))

    def test_another_message(self):
        self.assertIn("does not match 'Cuda'", self.judge("// expect-error: Cuda\n" + self.GOOD))

    def test_message_of_another_compiler_does_not_count(self):
        self.assertEqual(self.judge("// expect-error(clang): Cuda\n" + self.GOOD), "")
        self.assertIn("does not match 'Cuda'", self.judge("// expect-error(gcc): Cuda\n" + self.GOOD))

    def test_error_inside_a_header(self):
        self.write("library.hpp", "template <class A> auto twice(A a) { return a.missing; }\n")
        text = '// expect-error: .\n#include "library.hpp"\n' \
               "#ifdef LOCUS_MUST_FAIL\nauto c = twice(1);\n#endif\n"
        self.assertIn("not in the file itself", self.judge(text))

    def test_too_many_lines(self):
        self.assertIn("2 allowed", self.judge("// lines: 2\n" + self.GOOD))

    def test_flags_of_a_file(self):
        needs_it = self.GOOD + "#ifndef A_FLAG\n#error a flag is missing\n#endif\n"
        self.assertEqual(self.judge("// flags(gcc): -DA_FLAG\n" + needs_it), "")
        self.assertIn("control does not compile", self.judge("// flags(clang): -DA_FLAG\n" + needs_it))

    def test_malformed_files(self):
        self.assertIn("no '// expect-error", self.judge("#ifdef LOCUS_MUST_FAIL\nx\n#endif\n"))
        self.assertIn("no LOCUS_MUST_FAIL", self.judge("// expect-error: x\n"))


class CompileErrorsPage(Scratch):
    def test_a_message_is_the_same_in_every_build(self):
        for build, first in (("generic", 52), ("v4", 7)):
            said = f"/a/b.cpp:3:4: error: <lambda(auto:{first}, auto:{first + 1}, auto:{first})> of locus::cpu_only_{build}::f"
            self.assertEqual(compile_errors_page.message(said), "<lambda(auto:1, auto:2, auto:1)> of locus::cpu_only_generic::f")

    def test_the_index_has_sentences_and_types_without_places_and_remedies(self):
        self.assertEqual(compile_errors_page.sentence("'Tensor' is unavailable: construction: the source is on Cpu, the target is on "
                                                      "Cuda; copy with .to<Cuda>()"),
                         "construction: the source is on ..., the target is on ...")
        self.assertEqual(compile_errors_page.sentence("softmax(x): along which axis? Name it"), "softmax(x): along which axis?")
        error = "locus::error::"
        for mistake, names in ((f"device_mismatch<{error}left_is_on<locus::Cpu>, {error}right_is_on<A<int, B<C> > >, {error}move>; T = X<int>]",
                                "left_is_on<...>, right_is_on<...>"),
                               (f"not_possible<{error}no_axis, {error}name_it>]'", "no_axis")):
            self.assertEqual(compile_errors_page.names_of_type(f"f [with L = A<int>; why = {error}{mistake}"), names)

    def test_the_index_is_alphabetical_regardless_of_signs(self):
        rows = compile_errors_page.index({"one": "b: x", "two": ".a(): y", "three": "b: x"}).splitlines()[2:]
        self.assertEqual(rows, ["| `.a(): y` | [two](#two) |", "| `b: x` | [one](#one), [three](#three) |"])

    def test_an_example_of_the_rules_that_is_no_case_is_found(self):
        self.write("case.cpp", "#ifdef LOCUS_MUST_FAIL\n  return x + w;\n#else\n  return x + w.to<Cpu>();\n#endif\n")
        good = "```cpp\n// return x + w;  x: Cpu, w: Cuda\nreturn x + w.to<Cpu>();\n```\n"
        program = "```cpp\n// asked.cpp\nint main() {}\n```\n"
        bad = good.replace("x + w;", "x - w;"), good.replace("<Cpu>()", "<Cuda>()"), good[:-4] + "\n// y;\nz;\n```\n"
        self.assertEqual(compile_errors_page.unknown_examples(good + program, self.root), [])
        for text in bad:
            self.assertEqual(len(compile_errors_page.unknown_examples(program + text, self.root)), 1, text)

    def test_a_message_of_the_rules_that_is_not_in_the_catalogue_is_found(self):
        text = "```text\nclang 14: a + b: on Cpu\n```\n\n```text\nnvcc 13: another\n```\n"
        self.assertEqual(compile_errors_page.unknown_messages(text, "clang 14: a + b: on Cpu\n"), [])
        self.assertEqual(compile_errors_page.unknown_messages(text, "clang 14: a - b"), ["clang 14: a + b: on Cpu"])


class ReferencePage(unittest.TestCase):
    def test_labels_are_a_list_and_examples_are_code(self):
        comment = """/// The sum
/// of x<T>.
/// shape: ()     gradient: g
/// cost:  one launch, which
///        reads x once
///
///     auto s = sum<T>(x);
/// Not for integers."""
        self.assertEqual(reference_page.prose(comment), "The sum of x&lt;T>.\n\n- shape: ()\n- gradient: g\n"
                         "- cost:  one launch, which reads x once\n\n```cpp\nauto s = sum<T>(x);\n```\n\nNot for integers.")

    def test_a_label_in_mid_sentence_is_an_error(self):
        self.assertEqual(reference_page.prose("/// Starts no GPU.\n/// throws DataError"), "Starts no GPU.\n\n- throws DataError")
        for comment in ("/// Starts no GPU, and never\n/// throws for want of one.", "/// Of the\n/// shape: (n)"):
            with self.assertRaisesRegex(RuntimeError, "(never|Of the)' and '(throws|shape)"):
                reference_page.prose(comment)

    def test_a_page_that_lags_behind_the_headers_is_reported(self):
        report = common.Report()
        with unittest.mock.patch.multiple(reference_page, cindex=object(), pages=lambda: {"reference.md": "another"}), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            reference_page.check(report)
        self.assertEqual((report.passed, report.failed), (0, 1))
        self.assertIn("--write", said.getvalue())


class ArchitecturePage(Scratch):
    def test_paths_that_lead_nowhere_are_named(self):
        for path in ("include/locus/expr/expr.hpp", "cuda_kernels/locus/cuda/map.cuh", "docs/floors.svg", "tests/ops/softmax_test.cpp"):
            self.write(path, "")
        text = ("`expr/expr.hpp`, `expr/`, `cuda_kernels/locus/cuda/map.cuh`, `tests/ops`, ![floors](floors.svg), [above](#above)\n"
                "`h / k`, `.cpp`, `relu(a * b + c)`, *ops/pool.hpp*\n```cpp\n// `gone/within_code.hpp`\n```\n")
        self.assertEqual(floors.missing_paths(text, self.root), [])
        text += "`expr/nowhere.hpp`, `gone/`, `cuda/map.cuh`, `tests/gone`, `bare.hpp`, [there](nothing.md)"
        self.assertEqual(floors.missing_paths(text, self.root),
                         ["bare.hpp", "cuda/map.cuh", "expr/nowhere.hpp", "gone/", "nothing.md", "tests/gone"])


class CompileTogether(Scratch):
    """Many programs in one file, and the messages for each."""

    def sources(self, *texts):
        return [self.write(f"case_{i}.cpp", text) for i, text in enumerate(texts)]

    def test_each_line_keeps_its_place_and_each_file_its_names(self):
        text = together.in_one_file(self.sources("#ifdef A\n#include <vector>\n#endif\nint x = 1;\n", "int x = 2;\n#include <a.inc>\n"))
        self.assertTrue(text.startswith(f'#line 1 "{self.root / "case_0.cpp"}"\n#ifdef A\n#include <vector>\n#endif\n'))
        self.assertIn(f'#line 1 "{self.root / "case_1.cpp"}"\nint x = 2;\n#include <a.inc>', text)
        self.assertIn(f'#line 4 "{self.root / "case_0.cpp"}"\nint x = 1;\n', text)
        self.assertRegex(text, r"namespace of_0 \{[^{}]*int x = 1;[^{}]*\}\s*namespace of_1 \{[^{}]*int x = 2;")

    def test_a_namespace_that_is_opened_again_keeps_its_names(self):
        names = self.write("names.hpp", "#pragma once\nnamespace bench { struct Form {}; }\n")
        source = f'#include "{names}"\nnamespace bench {{\nstruct Own {{ Form form; }};\nbench::Form f(Own x) {{ return x.form; }}\n}}\n'
        unit = self.write("unit.cpp", together.in_one_file(self.sources(source, source), reopened="bench"))
        compiler = next(iter(common.find_compilers().values()))
        self.assertEqual(common.run([compiler, "-std=c++20", "-fsyntax-only", unit]), (0, ""))

    def test_sources_that_include_sources_are_not_joined(self):
        sources = self.sources("#include <ops/sort_test.cpp>\n", "")
        with self.assertRaisesRegex(ValueError, "case_0.cpp: includes sources"):
            together.in_one_file(sources)
        self.assertIn("sort_test", together.in_one_file(sources[:1]))

    def test_sources_of_several_devices_are_not_joined(self):
        sources = self.sources("#define LOCUS_TEST_DEVICES A\n#include <x>\n", "#include <x>\n")
        with self.assertRaisesRegex(ValueError, "case_0.cpp, case_1.cpp: not all"):
            together.in_one_file(sources)
        self.assertIn("#include <x>", together.in_one_file(sources, devices_given=True))

    def test_errors_are_told_by_their_file(self):
        first, second, third = self.sources("", "", "")
        said = compile_fail.split_errors(
            f'{third}(2): error: locus::error::x [with why=of_2::A]\n  code\n\n{first}(1): error #20014-D: b\n'
            f"          detected during: locus::error::y\n2 errors detected in the compilation of \"all.cpp\".\n",
            [first, second, third])
        self.assertEqual(said[third].strip(), f"{third}(2): error: locus::error::x [with why=A]\n  code")
        self.assertIn("detected during", said[first])
        self.assertEqual(said[second], "")

    def test_an_error_elsewhere_may_be_any_ones(self):
        first, second = self.sources("", "")
        said = compile_fail.split_errors(f"{first}:1:1: error: a\n  code\n/lib/header.hpp:1:1: error: c\n  its code\n",
                                         [first, second])
        self.assertEqual(said, {})

    def test_context_goes_to_the_error_after_it(self):
        first, second = self.sources("", "")
        context = f"{second}: In function 'void of_1::f()':\n{second}:3:4:   required from here\n"
        said = compile_fail.split_errors(f"{first}:1:1: error: a\n{context}{second}:3:4: error: b\n", [first, second])
        self.assertEqual(said[first], f"{first}:1:1: error: a")
        self.assertEqual(said[second], context.replace("of_1::", "") + f"{second}:3:4: error: b")

    def test_one_compiler_takes_files_with_other_includes_apart(self):
        sources = self.sources("#include <a>\n", "#include <b>\n", "#include <a>\n")
        apart = [[sources[0], sources[2]]]
        for names, careful, expected in ((["gcc"], "gcc", apart), (["clang19"], None, [sources]),
                                         (["nvcc", "clang", "gcc"], "gcc", [sources, sources, *apart])):
            batches = compile_fail.batches([[name, "", source] for name in names for source in sources], careful)
            self.assertEqual([batch[2] for batch in batches], expected, names)

    def test_one_bad_control_among_good_ones(self):
        clang = common.find_compilers().get("clang")
        if not clang:
            self.skipTest("no clang++ here")
        bad = CompileFail.GOOD + "int x = unknown;\n"
        for texts, failed in (((CompileFail.GOOD,) * 3, 0), ((CompileFail.GOOD, bad, CompileFail.GOOD), 1)):
            for i, text in enumerate(texts):
                self.write(f"case_{i}.cpp", text)
            report, printed = common.Report(), io.StringIO()
            with contextlib.redirect_stdout(printed):
                compile_fail.check_folder(self.root, report, compilers={"clang": clang})
            self.assertEqual((report.passed, report.failed), (3 - failed, failed), printed.getvalue())


class Diagnostics(Scratch):
    """The comparison of compile errors, with sample compiler output."""
    DIRECTIVES = {"both": "Host.*Cuda|Cuda.*Host", "remedy": "(?i)cast", "unnoticed": "aborts"}

    def judge(self, status, output, control=""):
        return diagnostics.judge("/user/mine.cpp", self.DIRECTIVES, status, output, control)

    def answers(self, row):
        return [diagnostics.cell(row, column) for column in ("outcome", "lines", "names both", "remedy", "your file")]

    def test_all_in_the_first_error(self):
        row = self.judge(1, "/user/mine.cpp:3:1: error: Host meets Cuda; cast\n\n  ~~~\n")
        self.assertEqual(self.answers(row), ["error", "2", "yes", "yes", "yes"])

    def test_found_later_or_not_at_all(self):
        row = self.judge(1, "/lib/Host/Cuda.hpp(7): error: no such thing\n  [A=Host, B=Cuda] at line 9 of /user/mine.cpp\n"
                            "/lib/cast.hpp(2): error: incompatible\n")
        self.assertEqual(self.answers(row), ["error", "3", "line 2", "no", "line 2"])

    def test_what_the_corrected_program_prints_too_does_not_count(self):
        row = self.judge(1, "warning: old\n/user/mine.cpp(1): error: USE_CAST\n", control="warning: old\n")
        self.assertEqual(self.answers(row), ["error", "1", "no", "yes", "yes"])

    def test_a_mistake_that_compiles(self):
        self.assertEqual(self.answers(self.judge(0, "")), ["compiles", "0", "-", "-", "-"])
        row = self.judge(0, "/user/mine.cpp:3:1: warning: Cuda becomes Host\n")
        self.assertEqual(self.answers(row), ["warning", "1", "yes", "no", "yes"])
        self.assertIn("aborts", diagnostics.table([self.judge(0, "")]))

    def test_programs(self):
        for program in diagnostics.PROGRAMS.rglob("*.cpp"):
            self.assertTrue(program.stem.startswith(tuple(diagnostics.MISTAKES)), program)
            directives = diagnostics.read_directives(program.read_text())
            self.assertLessEqual(set(directives["compilers"]), set(diagnostics.COMPILERS), program)
        with self.assertRaises(ValueError):
            diagnostics.read_directives("// both: x\n#ifdef MISTAKE\n#endif\n")

    def test_a_corrected_program_that_does_not_compile(self):
        compilers = common.find_compilers()
        if "gcc" not in compilers:
            self.skipTest("no g++ here")
        program = self.write("mixed_types.cpp", "// both: x\n// remedy: y\n#ifdef MISTAKE\n#endif\nint x = unknown;\n")
        row = diagnostics.measure("gcc", compilers["gcc"], diagnostics.Library("Mine", "1", {"gcc": []}), program)
        self.assertEqual(row["outcome"], "void")
        self.assertIn("unknown", diagnostics.table([row]))


class Summary(Scratch):
    def counts(self, **test):
        *counts, why = summary.count({"name": "t", "result": "OK", "returncode": 0, "stdout": "", **test})
        return counts, why is not None

    def test_a_check_that_begins_too_late_is_skipped(self):
        script = self.write("check.py", f"import sys\nsys.path.insert(0, {str(common.ROOT / 'tests' / 'tools')!r})\nimport common\n"
                                        "common.main(lambda report: report.ok('a case'))\n")
        for until, counts in (("0", "0 passed, 0 failed, 1 skipped"), ("9e9", "1 passed, 0 failed, 0 skipped")):
            status, output = common.run([sys.executable, script], env={"LOCUS_TEST_UNTIL": until})
            self.assertEqual((status, output.splitlines()[-1]), (0, counts), output)
        said = f"skipped check.py: {common.TOO_LATE}\n0 passed, 0 failed, 1 skipped\n"
        self.write("build/meson-logs/testlog.json", json.dumps({"name": "a check", "result": "OK", "returncode": 0, "stdout": said}) + "\n")
        totals, lines = summary.summarize([self.root / "build"])
        self.assertEqual((totals, lines[-1]), ([0, 0, 1], f"1 checks did not run, as {common.TOO_LATE}: a check"))

    def test_counts_of_a_test(self):
        self.assertEqual(self.counts(stdout="x\n3 passed, 0 failed, 2 skipped\n"), ([3, 0, 2], False))
        self.assertEqual(self.counts(stdout="3 passed, 1 failed, 0 skipped\n", returncode=1), ([3, 1, 0], True))
        self.assertEqual(self.counts(stdout="0 passed, 0 failed, 4 skipped\n"), ([0, 0, 4], False))

    def test_silence_and_crashes_are_failures(self):
        self.assertEqual(self.counts(), ([0, 1, 0], True))
        self.assertEqual(self.counts(stdout="3 passed, 0 failed, 0 skipped\n", returncode=-11), ([3, 1, 0], True))
        self.assertEqual(self.counts(stdout="0 passed, 0 failed, 0 skipped\n"), ([0, 1, 0], True))
        self.assertEqual(self.counts(stdout="3 passed, 0 failed, 0 skipped\n", result="TIMEOUT"), ([3, 1, 0], True))

    def test_sum_over_builds(self):
        for build, text in {"a": "3 passed, 0 failed, 1 skipped\n", "b": "2 passed, 1 failed, 0 skipped\n"}.items():
            record = {"name": build, "result": "OK", "returncode": int("1 failed" in text), "stdout": text}
            self.write(f"{build}/meson-logs/testlog.json", json.dumps(record) + "\n")
        totals, lines = summary.summarize([self.root / "a", self.root / "b"])
        self.assertEqual(totals, [5, 1, 1])
        self.assertIn("FAILED b", "\n".join(lines))

    def test_the_slowest_are_named(self):
        records = [{"name": f"t{i}", "result": "OK", "duration": i / 2} for i in range(20)]
        self.write("a/meson-logs/testlog.json", "".join(json.dumps(record) + "\n" for record in records))
        self.write("a/.ninja_log", "# ninja log v5\n0\t90000\t1\tx.o\tf\n0\t8200\t1\tx.o\tf\n0\t1\t1\ty.o\tf\n")
        lines = [line.replace(str(self.root), "") for line in summary.slowest([self.root / "a"], most=4)]
        self.assertEqual([line.strip() for line in lines],
                         ["Slowest:", "9.5 s  t19 in /a", "9.0 s  t18 in /a", "8.5 s  t17 in /a", "8.2 s  building x.o in /a"])

    def test_steps_of_an_earlier_run_are_not_named(self):
        self.write("a/meson-logs/testlog.json", json.dumps({"name": "t", "result": "OK", "stdout": "1 passed, 0 failed, 0 skipped"}))
        self.write("a/.ninja_log", "# ninja log v5\n0\t9000\t1\told.o\tf\n0\t8000\t1\tnew.o\tf\n0\t7000\t1\tgone.o\tf\n")
        for name, seconds in {"a/old.o": 100, "started": 200, "a/new.o": 200}.items():
            os.utime(self.write(name, ""), (seconds, seconds))
        _, output = common.run([sys.executable, common.ROOT / "tests/tools/summary.py", "--since", self.root / "started",
                                self.root / "a"])
        self.assertEqual([line for line in output.splitlines() if " building " in line],
                         [f"    8.0 s  building new.o in {self.root}/a"])


class HostBenchmarks(unittest.TestCase):
    """benchmarks/cpu.py: its targets, and the problems that its dry run finds."""

    @staticmethod
    def ratios(**medians):
        return {"Locus": {name.replace("_", " "): {"best": {"median": value}} for name, value in medians.items()}}

    def judged(self, **medians):
        work = cpu_workloads.Workload("softmax", "softmax 1000 1000")
        return [(entry["value"], entry["met"]) for entry in cpu_workloads.judge(work, self.ratios(**medians))
                if "libtorch" in entry["target"]]

    def test_the_faster_peer_is_the_one_to_beat(self):
        self.assertEqual(self.judged(libtorch_1=2.0, libtorch_2=1.6), [(1.6, True)])
        self.assertEqual(self.judged(libtorch_1=2.0, libtorch_2=1.4, Eigen=3.0), [(1.4, False)])
        self.assertEqual(self.judged(Eigen=3.0), [(None, None)])

    def test_rows_bound_by_memory_are_held_against_the_copy(self):
        def judged(line, **medians):
            entries = cpu_workloads.judge(cpu_workloads.Workload(line.split()[0], line), self.ratios(**medians))
            return [(entry["value"], entry["limit"], entry["met"]) for entry in entries if "1000 columns" in entry["target"]]
        self.assertEqual(judged("softmax 1000 1000", libtorch_1=1.1, memcpy=0.95), [(0.95, 0.9, True)])
        self.assertEqual(judged("softmax 1000 1000", libtorch_1=1.1, memcpy=0.8), [(0.8, 0.9, False)])
        self.assertEqual(judged("softmax 1000 1000", libtorch_1=1.4, memcpy=0.5), [(1.4, 1.5, False)])
        self.assertEqual(judged("layer_norm 1000 1000", libtorch_1=1.35, memcpy=0.8), [(1.35, 1.3, True)])
        self.assertEqual(judged("layer_norm 1000 1000", memcpy=0.95), [(None, 1.3, None)])
        bound = cpu_workloads.judge(cpu_workloads.Workload("softmax", "softmax 1000 1000"), self.ratios(libtorch_1=1.1, memcpy=0.95))
        self.assertIn("bound by memory, of copy bandwidth", [entry["target"] for entry in bound][0])

    def test_programs_are_held_against_half_and_a_fifth_of_the_peers_compile_time(self):
        row = lambda source, ratio: {"source": source, "compiler": "gcc", "seconds": 1.0, "over_empty": 0.9,  # noqa: E731
                                     "of_peer": {"torch_mnist.cpp": ratio}}
        lines, _ = report.compile_time({"rows": [row("mnist.cpp", 0.47), row("mnist.cpp + library", 0.21)], "date": "", "commit": ""})
        self.assertEqual([(line["limit"], line["met"], line["missed"]) for line in lines], [(0.5, 1, 0), (0.2, 0, 1)])

    def test_programs_of_either_build_are_held_against_the_other(self):
        judged = {entry["target"]: entry["met"] for entry in cpu_workloads.judge(
            cpu_workloads.Workload("chain", "chain 1024"),
            {**self.ratios(**{"Locus_-O2": 0.8}), "Locus -O2": {"Locus": {"best": {"median": 1.25}}}})}
        self.assertEqual(judged, {"plain -O2, of -march=native": True, "-march=native, of plain -O2": False})

    def test_only_the_shapes_that_a_target_names(self):
        judged = lambda line: cpu_workloads.judge(cpu_workloads.Workload("square", line), self.ratios(Eigen=9.0))  # noqa: E731
        texts = [len([entry for entry in judged(f"gemm_nn {n} {n} {n}") if "squares" in entry["target"]]) for n in (127, 128, 2048, 2049)]
        self.assertEqual(texts, [0, 4, 4, 0])

    def test_verdicts(self):
        entry = lambda value, met, **more: {"target": "t", "limit": 1, "value": value, "met": met, **more}  # noqa: E731
        line, = cpu_workloads.verdicts([("a", [entry(1.5, True)]), ("b", [entry(0.5, False)]), ("c", [entry(None, None)])])
        self.assertEqual([line[key] for key in ("met", "missed", "unmeasured", "worst", "worst_workload")], [1, 1, 1, 0.5, "b"])
        line, = cpu_workloads.verdicts([(name, [entry(value, value <= 1, at_most=True)]) for name, value in (("a", 0.1), ("b", 2))])
        self.assertEqual((line["worst"], line["worst_workload"]), (2, "b"))

    def test_random_shapes_are_those_of_the_seed(self):
        shapes = cpu_workloads.random_products(3, 50)
        self.assertEqual(shapes, cpu_workloads.random_products(3, 50))
        self.assertNotEqual(shapes, cpu_workloads.random_products(4, 50))
        self.assertTrue(all(2 <= work.flops <= 2 ** 32 for work in shapes))

    def test_faults_in_a_report(self):
        times = {"median": 2.0, "p10": 1.0, "p90": 3.0, "error": 0.5}
        problems = lambda problems=(), **programs: cpu_dry_run.problems_of_workload(  # noqa: E731
            {"programs": programs, "problems": list(problems)}, "Locus")
        self.assertEqual(problems(Locus={"1": times}), [])
        self.assertEqual(problems(Eigen={"1": times}), ["was not measured with Locus"])
        self.assertEqual(problems(["Eigen: wrong"], Locus={"1": times}), ["Eigen: wrong"])
        self.assertIn("p10, median", problems(Locus={"1": {**times, "p10": 2.5}})[0])
        self.assertIn("not found right", problems(Locus={"1": {**times, "error": 2}})[0])
        self.assertEqual(cpu_dry_run.problem_of_page("<p><svg><g/></svg></p>"), None)
        for page, why in (("<p></p>", "no plot"), ("<p><svg></svg>", "p does not end"), ("<p><svg><g></svg></p>", "no XML"), ("<p><svg></svg></div>", "div ends")):
            self.assertIn(why, cpu_dry_run.problem_of_page(page) or "")


class Readme(Scratch):
    PROGRAM = """```cpp
// small.cpp
#include <cstdio>
int main() { std::puts("seven is 7"); }
```

```text
%s
```
"""
    SESSION = """```cpp
// wrong.cpp
int main() { return 1 }
```

```console
$ g++ -fsyntax-only wrong.cpp
%s
```
"""

    def problems(self, text, versions=None):
        report, said = common.Report(), io.StringIO()
        compilers = {"gcc": shutil.which("g++")}
        with contextlib.redirect_stdout(said):
            with unittest.mock.patch.dict(readme.VERSIONS, versions or {"gcc": readme.major_version(compilers["gcc"])}):
                readme.check_document(self.write("README.md", text), report, compilers)
        return report, said.getvalue()

    def test_programs_of_pages_together(self):
        clang = common.find_compilers().get("clang")
        if not clang:
            self.skipTest("no clang++ here")
        # g++ has no such warning.
        warned = self.PROGRAM.replace("int main", "class A { int unused = 1; };\nint main") % "seven is 7"
        good, sound, bad = (self.write(name, text) for name, text in (
            ("good.md", self.PROGRAM % "seven is 7"), ("sound.md", self.SESSION % "wrong.cpp:2:22: error: expected"), ("bad.md", warned)))
        self.assertTrue(readme.accepted_together([good, sound, good], clang))
        self.assertFalse(readme.accepted_together([good, bad], clang))
        report, said = common.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            readme.check(report, [good, bad, self.write("other.md", self.PROGRAM % "seven is 8")])
        self.assertEqual((report.passed, report.failed), (1, 2), said.getvalue())
        self.assertIn("other.md: small.cpp\n    expected:\n    seven is 8", said.getvalue())
        self.assertIn("bad.md: small.cpp", said.getvalue())
        self.assertIn("private field 'unused'", said.getvalue())

    def test_which_programs_g_plus_plus_builds_together(self):
        mains = ("int main() {}\n", "int main() { run(); }\n", "int main(int argc, char** argv) {\n  run();\n\n  return argc;\n}\n")
        for source in mains:
            self.assertTrue(readme.ENDS_WITH_MAIN.search("// a.cpp\n" + source), source)
            self.assertFalse(readme.ENDS_WITH_MAIN.search(source + "void run() {\n}\n"), source)
        self.assertFalse(readme.ENDS_WITH_MAIN.search("int main() try {\n} catch (...) {\n}\n"))

    def test_only_programs_of_the_same_includes_prove_theirs(self):
        plain = [("page", f"{i}.cpp", "#include <a>\n#include <b>\n") for i in range(12)]
        other = [("page", "x.cpp", "#include <b>\n"), ("page", "y.cpp", '#include <a>\n#include <b>\n#include "c"\n')]
        units = readme.in_units([*plain, *other])
        self.assertEqual([(len(members), same) for members, same in units], [(6, True), (6, True), (2, False)])
        self.assertEqual(units[2][0], other)

    def assert_one_failure(self, text, why):
        report, said = self.problems(text)
        self.assertEqual(report.failed, 1, said)
        self.assertIn(why, said)

    def test_programs_and_sessions_as_shown(self):
        error = "wrong.cpp: In function 'int main()':\nwrong.cpp:2:22: error: expected ';'..."
        report, said = self.problems(self.PROGRAM % "seven ... 7" + self.SESSION % error + "[here](README.md)")
        self.assertEqual((report.passed, report.failed, report.skipped), (3, 0, 0), said)

    def test_another_output(self):
        self.assert_one_failure(self.PROGRAM % "seven is 8", "but it printed:")

    def test_another_message(self):
        self.assert_one_failure(self.SESSION % "wrong.cpp:2:22: error: all is lost", "error: all is lost")

    def test_a_program_that_does_not_compile(self):
        self.assert_one_failure("```cpp\n// bad.cpp\nint main() { return x; }\n```\n", "g++ says:")

    def test_a_link_that_leads_nowhere(self):
        self.assert_one_failure("[there](docs/nothing.md)", "leads nowhere")

    def test_links_to_headings(self):
        text = "# A `x.y()`, and b\n\n```text\n# no heading\n```\n\n[here](#a-xy-and-b) [again](README.md#a-xy-and-b)\n"
        self.assertEqual(self.problems(text)[0].failed, 0)
        self.assert_one_failure(text + "[there](#no-heading)", "no heading of this name")
        self.assert_one_failure(text + "[there](README.md#a-x-y)", "no heading of this name")

    def test_python_that_does_not_parse(self):
        self.assert_one_failure("```python\nfor x in y\n```\n", "FAILED README.md: a block of Python")

    TEN_LINES = "## Ten lines\n\n```cpp\n// ten.cpp\n" + 9 * "//\n" + "```\n\n"
    FIGURES = "| what | EPYC |\n|---|---|\n| sums | 1.5 |\n"
    OVERVIEW = TEN_LINES + "## Benchmarks\n\n" + FIGURES + "\n## Pages\n\n[figures](docs/figures.md)\n"

    def overview(self, text=OVERVIEW, index="[figures](figures.md)\n", figures=FIGURES):
        self.write("README.md", text), self.write("docs/README.md", index)
        page, report, said = self.write("docs/figures.md", figures + "| rows | 2.5 |\n"), common.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            readme.check_overview(page.parents[1], report)
        return report.failed, said.getvalue()

    def test_the_readme_as_a_whole(self):
        self.assertEqual(self.overview(), (0, ""))
        for change, why in (
                ({"text": self.OVERVIEW + 220 * "\n"}, "at most 220"),
                ({"text": self.OVERVIEW + 14000 * "x"}, "at most 220 and 14000"),
                ({"text": self.OVERVIEW.replace("//\n", "", 1)}, "programs of [9] lines"),
                ({"text": self.OVERVIEW.replace("Ten lines", "Lines")}, "programs of [] lines"),
                ({"text": self.OVERVIEW.replace("[figures](docs/figures.md)", "")}, "README.md: pages of docs\n    no link to ['figures.md']"),
                ({"index": ""}, "docs/README.md: pages of docs\n    no link to ['figures.md']"),
                ({"figures": self.FIGURES.replace("1.5", "1.4")}, "FAILED README.md: | sums | 1.5 |"),
                ({"text": self.OVERVIEW.replace("EPYC", "Xeon")}, "FAILED README.md: | what | Xeon |"),
                ({"text": self.OVERVIEW.replace(self.FIGURES, "")}, "no table under Benchmarks")):
            failed, said = self.overview(**change)
            self.assertEqual(failed, 1, said)
            self.assertIn(why, said)

    def test_messages_of_another_version_are_not_compared(self):
        report, _ = self.problems(self.SESSION % "error: all is lost", {"gcc": 1})
        self.assertEqual((report.failed, report.skipped), (0, 1))


class GeneratedCode(unittest.TestCase):
    """The checks of kernels, with sample compiler output."""
    NAME = ("void locus::abi::cuda::detail::map_contiguous<locus::abi::cuda::detail::MapKernels<locus::abi::detail::Forward<"
            "locus::abi::Apply<locus::abi::functor::Multiply, locus::abi::Apply<locus::abi::functor::Add, locus::abi::Symbol<0>, "
            "locus::abi::Constant<float> >, locus::abi::Symbol<1> >, float, float, float>, locus::abi::Pack<float const*, float "
            "const*>, locus::abi::Pack<float*>, std::integer_sequence<int, 0, 1>, std::integer_sequence<int, 0> > >"
            "(locus::abi::cuda::detail::MapKernels<int>::Arguments, unsigned int, long)")
    BODY = "".join(f"\t@%p1 ld.global.nc.L1::no_allocate.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd{i}];\n"
                   f"\tld.global.b32 %r5, [%rd{i}+4];\n\tld.param.b64 %rd9, [p];\n" for i in range(2)) + \
           "\tst.global.v4.f32 [%rd3], {%f1, %f2, %f3, %f4};\n\tst.global.b32 [%rd3], %r5;\n"
    ROW = {"sm_80": 40, "sm_90": 50, "code": 200, "shared": 0, "stack": 0, "spills": 0, "load": 16, "store": 16}

    def problems(self, check, *arguments):
        report, said = common.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            check(report, *arguments)
        self.assertEqual(report.failed, said.getvalue().count("FAILED"))
        return said.getvalue()

    def accesses(self, body, name=NAME):
        return self.problems(generated.check_accesses, {"k": kernels.describe(name)}, {"k": body})

    def test_names(self):
        self.assertEqual(kernels.describe(self.NAME).name, "map contiguous: (x0 + c) * x1, float")
        self.assertEqual(kernels.describe("void a::rows_by_warp<8, a::SoftmaxRow<__half, false> >(long)").name,
                         "rows by warp of 8: SoftmaxRow<half, false>")
        self.assertEqual(kernels.describe("void a::map_strided<a::MapKernels<a::ConvertElement<unsigned char, float>, a::Pack<"
                                          "unsigned char const*>, a::Pack<float*> >, 1>(int)").name,
                         "map elements: convert, uint8 -> float")

    def test_full_width_accesses(self):
        self.assertEqual(self.accesses(self.BODY), "")

    def test_narrow_accesses(self):
        self.assertIn("vectors of 4 elements", self.accesses(self.BODY.replace(".v4.f32", ".v2.f32")))
        self.assertIn("vectors of 4 elements", self.accesses(self.BODY.replace("L1::no_allocate.v4.b32", "b32", 1)))
        self.assertIn("vectors of 4 elements", self.accesses(self.BODY + "\tld.global.b32 %r7, [%rd7];\n"))

    def test_arithmetic_in_double(self):
        body = self.BODY + "\tcvt.f64.f32 %fd1, %f1;\n"
        self.assertIn("cvt.f64.f32", self.accesses(body))
        self.assertNotIn("double", self.accesses(body, self.NAME.replace("Constant<float>", "Constant<double>")))
        self.assertEqual(self.accesses("\t.reg .f64 %fd<3>;\n" + self.BODY), "")

    def test_what_ptxas_says(self):
        said = ("ptxas info    : Function properties for k\n    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
                "ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem\n")
        self.assertEqual(kernels.resources(said), {"k": {"registers": 40, "shared": 1024, "stack": 8, "spills": 16}})

    def test_instructions(self):
        names = b"\0.text.k\0.nv.info\0"
        headers = [(0, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 640), (9, 1, 0, 0, 0, 96), (0, 3, 0, 0, 0x40, len(names))]
        elf = bytearray(0x40) + names
        struct.pack_into("<Q", elf, 0x28, len(elf))
        struct.pack_into("<HHH", elf, 0x3A, 0x40, len(headers), 3)
        for header in headers:
            elf += struct.pack("<IIQQQQ", *header).ljust(0x40, b"\0")
        self.assertEqual(kernels.instructions(bytes(elf)), {"k": 40})

    def test_rows_against_the_record(self):
        recorded, release = kernels.read_record(kernels.write_record({"a kernel": self.ROW}, "13.0"))
        self.assertEqual((recorded, release), ({"a kernel": self.ROW}, "13.0"))
        for change, why in (({}, ""), ({"sm_90": 55}, ""), ({"sm_90": 56}, "56 registers on sm_90, 50 on record"),
                            ({"code": 221}, "221 instructions, 200 on record"),
                            ({"shared": 16}, "shared: 16"), ({"load": 4}, "load: 4 bytes, 16 on record"),
                            ({"spills": 8}, "local memory"), ({"stack": 8}, "local memory")):
            said = self.problems(generated.check_rows, {"a kernel": {**self.ROW, **change}}, recorded)
            self.assertIn(why, said)
            self.assertEqual(said == "", why == "", said)
        self.assertIn("is not in kernels.txt", self.problems(generated.check_rows, {"a kernel": self.ROW, "new": self.ROW}, recorded))
        self.assertIn("are no longer", self.problems(generated.check_rows, {}, recorded))
        spilled = {"a kernel": {**self.ROW, "sm_90": 99, "spills": 8}}
        self.assertIn("local memory", self.problems(generated.check_rows, spilled, recorded, False))
        self.assertEqual(self.problems(generated.check_rows, {"a kernel": {**self.ROW, "sm_90": 99}}, recorded, False), "")

    def test_bytes_in_flight(self):
        self.assertEqual([kernels.resident_threads(x, 256) for x in (16, 32, 33, 64, 65, 255)],
                         [2048, 2048, 1536, 1024, 768, 256])
        kernel = kernels.describe(self.NAME)  # vectors of 16 bytes of two inputs
        self.assertIsNone(generated.in_flight_problem(kernel, 1, 40, "sm_90"))
        self.assertIn(f"{1024 * 32} bytes in flight", generated.in_flight_problem(kernel, 1, 64, "sm_90"))
        self.assertIsNone(generated.in_flight_problem(kernel, 1, 64, "sm_80"))
        self.assertIsNone(generated.in_flight_problem(kernel, 2, 64, "sm_90"))

    def test_two_kernels_of_one_name(self):
        twice = {"k": kernels.describe(self.NAME), "l": kernels.describe(self.NAME)}
        self.assertIn("(x0 + c) * x1", self.problems(generated.check_names, twice))

    def test_number_of_kernels(self):
        self.assertIsNone(generated.kernels_problem({"a"}, {"a"}))
        self.assertIn("too many: b", generated.kernels_problem({"a", "b"}, {"a"}))
        self.assertIn("missing: b", generated.kernels_problem({"a"}, {"a", "b"}))


class CompileBudget(unittest.TestCase):
    REPORT = "\n phase parsing  :   0.61 ( 40%)   57M ( 41%)\n TOTAL          :   1.19          1.42          2.77          141M\n"

    def test_the_total_of_a_time_report(self):
        self.assertEqual(compile_budget.megabytes(self.REPORT), 141)
        self.assertEqual(compile_budget.megabytes(" TOTAL  :   0.00   0.00   0.01   2099k\n"), 2.1)
        self.assertIsNone(compile_budget.megabytes("error: no such file"))

    def test_a_program_within_its_budget(self):
        self.assertIsNone(compile_budget.problem(100, 119))

    def test_a_program_that_needs_a_fifth_more(self):
        self.assertIn("21 % above", compile_budget.problem(100, 121))

    def test_a_program_that_is_not_on_record(self):
        self.assertIn("--write", compile_budget.problem(None, 10))


class Packages(Scratch):
    def test_without_root_the_line_to_type_is_printed(self):
        for name, body in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": "exit 1"}.items():
            self.write(f"bin/{name}", f"#!/bin/sh\n{body}\n").chmod(0o755)
        script = f"set -euo pipefail; . '{common.ROOT}/scripts/lib/common.sh'; require_packages one two"
        status, output = common.run(["bash", "-c", script], env={"PATH": f"{self.root / 'bin'}:/usr/bin:/bin"},
                                    stdin=subprocess.DEVNULL)
        self.assertEqual(status, 1)
        self.assertIn("apt-get update && apt-get install -y --no-install-recommends one two", output)


class Words(Scratch):
    def here(self, name, text):
        """The counts of one file."""
        path = self.write(name, text)
        with unittest.mock.patch.object(words, "files", lambda: [(name, path)]):
            return words.counts()[words.place(name)]

    def test_comments_are_counted_and_neither_code_nor_questions(self):
        here = self.here("include/locus/ops/x.hpp", '// It adds what those of x hold.\nint what = f("// what");  // what?\n'
                                                    "/// What is added? That of x.\n")
        self.assertEqual(here, {"words": 14, "what": 1, "that of": 2})

    def test_pages_are_counted_without_code(self):
        here = self.here("docs/x.md", "What it does, and `what`.\n\n```cpp\n// what\n```\n")
        self.assertEqual((here["what"], words.place("docs/x.md")), (1, "docs/x.md"))

    def test_comments_and_docstrings_of_scripts_are_counted(self):
        text = '#!/usr/bin/env python3\n"""What it\nis."""\nwhat = "# what"  # of what.\n\n\ndef f():\n    """What?"""\n'
        self.assertEqual(self.here("scripts/x.py", text), {"words": 6, "what": 2, "that of": 0})
        self.assertEqual(self.here("scripts/x", text), {"words": 6, "what": 2, "that of": 0})
        self.assertEqual(self.here("tests/x.sh", "#!/bin/sh\n# what\necho ${#what} $#  # those of x\n"),
                         {"words": 4, "what": 1, "that of": 1})
        self.assertEqual(self.here("meson.build", "x = 'what'  # what it is\n")["what"], 1)

    def test_scripts_and_build_files_are_found(self):
        found = {name for name, _ in words.files()}
        self.assertLessEqual({"scripts/test", "scripts/lib/pack.py", "tests/docs/words.py", "meson.build", "CMakeLists.txt",
                              "benchmarks/meson.build", ".ci/run", "cmake/locus-targets.cmake"}, found)

    def test_a_folder_with_too_many_fails(self):
        report = common.Report()
        with unittest.mock.patch.object(words, "counts", lambda: {"docs/x.md": {"words": 1000, "what": 3, "that of": 0},
                                                                  "docs/y.md": {"words": 1000, "what": 2, "that of": 2}}), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            words.check(report)
        self.assertEqual((report.passed, report.failed), (1, 1))
        self.assertIn('3 "what" in 1000 words', said.getvalue())


class TraceEvents(unittest.TestCase):
    NAMES = [{"name": "process_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "locus"}},
             {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "main"}},
             {"name": "thread_name", "ph": "M", "pid": 1, "tid": 9, "args": {"name": "cuda:0 stream 0"}}]

    @staticmethod
    def event(name="a", start=0, duration=1, **members):
        return {"name": name, "cat": "phase", "ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": duration, **members}

    @staticmethod
    def launch(start, tid, category):
        return TraceEvents.event("map", start, cat=category, tid=tid, args={"verb": "map", "device": "cuda:0"})

    def faults(self, *events):
        return trace_events.faults_of([*self.NAMES, *events])

    def test_sound_events_have_no_fault(self):
        inner, after = self.event("inner", 0.25, 0.75), self.event("after", 1)
        self.assertEqual(self.faults(self.event(), inner, after, self.launch(3, 1, "launch"), self.launch(4, 9, "gpu")), [])

    def test_members_are_checked(self):
        for members in ({"ts": "0"}, {"dur": -1}, {"pid": 2**32}, {"tid": 1.5}, {"name": ""}, {"ph": "Q"}, {"cat": "x"},
                        {"args": {"bytes": 1}}, {"cat": "launch"}, {"cat": "copy", "args": {"device": "cpu", "bytes": True}}):
            self.assertEqual(len(self.faults(self.event(**members))), 1, members)
        self.assertEqual(len(self.faults({"name": "memory", "cat": "memory", "ph": "C", "pid": 1, "ts": 1, "args": {}})), 1)
        self.assertEqual(len(self.faults({"name": "thread_name", "ph": "M", "pid": 1, "tid": 3, "args": {"name": 3}})), 1)

    def test_events_of_a_thread_nest(self):
        self.assertIn("begins within 'a'", self.faults(self.event(), self.event("late", 0.5, 1))[0])

    def test_tracks_have_names_and_work_of_a_gpu_its_own(self):
        self.assertIn("has no name", self.faults(self.event(tid=2))[0])
        self.assertIn("of category launch on the track 'cuda:0", self.faults(self.launch(3, 9, "launch"))[0])

    def test_work_takes_time_and_the_nth_follows_the_nth_call(self):
        calls = self.launch(3, 1, "launch"), self.launch(5, 1, "launch")
        first, second = self.launch(4, 9, "gpu"), self.launch(5, 9, "gpu")
        self.assertEqual(self.faults(*calls, first, second), [])
        self.assertEqual(self.faults(*calls, second), [])  # the first was captured
        self.assertIn("before call 1 of", self.faults(*calls, self.launch(2, 9, "gpu"), second)[0])
        self.assertIn("before call 2 of", self.faults(*calls, self.launch(3, 9, "gpu"), self.launch(4, 9, "gpu"))[0])
        self.assertIn("took no time", self.faults(*calls, {**first, "dur": 0.0004}, second)[0])
        self.assertIn("ran 2 times on cuda:0, and was called 1 times", self.faults(calls[0], first, second)[0])

    def test_awaited_work_ends_before_its_phase(self):
        def faults(*events):
            return list(trace_events.faults_of_awaited([self.event("step", 0, 5000), *events], ["step", "forward"]))

        call, later = self.launch(3, 1, "launch"), {**self.launch(6000, 1, "launch"), "name": "later"}
        self.assertEqual(faults(call, self.launch(5900, 9, "gpu"), later), [])
        self.assertIn("ends on cuda:0 1001000 ns after 'step'", faults(call, self.launch(6000, 9, "gpu"))[0])
        self.assertIn("was called 1 times, and ran 0 times", faults(call)[0])
        self.assertIn("no work is queued in phases step, forward", faults(later)[0])

    def test_the_file_of_a_killed_process_lacks_its_end(self):
        text = json.dumps(self.NAMES).replace("}, {", "},\n{")
        self.assertEqual(trace_events.events_of(text[:-1], True), self.NAMES)
        self.assertEqual(trace_events.events_of(text[:-20], True), self.NAMES[:-1])
        self.assertRaises(ValueError, trace_events.events_of, text[:-1], False)


class JsonText(unittest.TestCase):
    def test_an_entry_of_a_list_has_a_line(self):
        value = {"machine": {"name": "x", "cores": 2}, "empty": [], "rows": [{"n": i, "seconds": [0.5] * 20} for i in range(3)]}
        text = json_text.text(value)
        self.assertEqual(json.loads(text), value)
        self.assertEqual(len(text.splitlines()), 2 + 2 + 2 + 3)

    def test_names_that_are_numbers_are_quoted(self):
        value = {number: [0.5] * 20 for number in range(1000, 1005)}
        self.assertEqual(json.loads(json_text.text(value)), {str(number): [0.5] * 20 for number in range(1000, 1005)})


if __name__ == "__main__":
    common.main(cases.check)
