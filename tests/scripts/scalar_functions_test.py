#!/usr/bin/env python3
"""benchmarks/scalar_functions: programs find the faults of a library, a library of theirs compiles, and tables are made
from results. Takes about twenty seconds of processor time."""

import pathlib
import platform
import re
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve()
BENCHMARKS = HERE.parents[2] / "benchmarks"
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(BENCHMARKS), str(BENCHMARKS / "studies"), str(BENCHMARKS / "support")]
import cases  # noqa: E402
import common  # noqa: E402
import float_errors  # noqa: E402
import scalar_functions  # noqa: E402

SOURCES = BENCHMARKS / "scalar_functions"
FLAGS = ["g++", *scalar_functions.CXX, *scalar_functions.WARNINGS, "-Werror", "-O1"]

# Right but for: three units too much at 0.75, a number for NaN, a finite number for infinity, infinity at 88.7, 0 for -0, no
# subnormal results, and a number for NaN in whole vectors alone.
FAULTY = """
#include "library.hpp"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
namespace {
template <auto f>
void each(const void* x, const void*, void* z, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) static_cast<float*>(z)[k] = f(static_cast<const float*>(x)[k]);
}
float sine(float x) {
  float y = static_cast<float>(std::sin(static_cast<double>(x)));
  if (x == 0.75f) for (int step = 0; step < 3; ++step) y = std::nextafter(y, 2.f);
  return x == 0 ? 0 : y;
}
float exponential(float x) {
  const auto y = static_cast<float>(std::exp(static_cast<double>(x)));
  if (x != x) return 1;
  if (x == 88.7f) return std::numeric_limits<float>::infinity();
  return x > 1e38f ? std::numeric_limits<float>::max() : y < std::numeric_limits<float>::min() ? 0 : y;
}
void cosine(const void* x, const void*, void* z, std::size_t n) {
  const auto* const given = static_cast<const float*>(x);
  for (std::size_t k = 0; k < n; ++k)
    static_cast<float*>(z)[k] =
        given[k] != given[k] && k < n / 16 * 16 ? 1 : static_cast<float>(std::cos(static_cast<double>(given[k])));
}
/// The upper 16 bits, cut off: never rounded up.
void root(const void* x, const void*, void* z, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    const auto bits = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(x)[k]) << 16;
    float y = 0;
    std::memcpy(&y, &bits, sizeof y);
    y = std::sqrt(y);
    std::uint32_t result = 0;
    std::memcpy(&result, &y, sizeof y);
    static_cast<std::uint16_t*>(z)[k] = static_cast<std::uint16_t>(result >> 16);
  }
}
constexpr accuracy::Function floats[] = {{"sin", &each<&sine>}, {"cos", &cosine}, {"exp", &each<&exponential>}};
constexpr accuracy::Function halves[] = {{"sqrt", &root}};
constexpr accuracy::Library all[] = {{"faulty", "1", "float", floats, 3}, {"faulty", "1", "bfloat16", halves, 1}};
}
extern "C" accuracy::Libraries accuracy_libraries() { return {all, 2}; }
"""

# Loops over functions whose result at a zero is a zero.
LOOPS = """
#include "library.hpp"
#include <locus/core/math/hyperbolic.hpp>
#include <locus/core/math/inverse_trigonometric.hpp>
#include <locus/core/math/logarithms.hpp>
namespace {
#define NAMES(X) X(gelu) X(gelu_exact) X(gelu_tanh) X(silu) X(mish) X(expm1) X(log1p) X(tanh) X(sinh) X(asinh) X(atan) X(cbrt) X(erf) X(round)
#define LOOP(name) LOCUS_VECTORIZED void run_##name(const void* x, const void*, void* z, std::size_t n) { \\
  LOCUS_IVDEP \\
  for (std::size_t k = 0; k < n; ++k) static_cast<float*>(z)[k] = locus::math::name(static_cast<const float*>(x)[k]); }
#define ENTRY(name) {#name, &run_##name},
NAMES(LOOP)
constexpr accuracy::Function functions[] = {NAMES(ENTRY)};
constexpr accuracy::Library all[] = {{"loops", "1", "float", functions, sizeof functions / sizeof *functions}};
}
extern "C" accuracy::Libraries accuracy_libraries() { return {all, 1}; }
"""
NAMES_OF_LOOPS = re.search(r"#define NAMES.X. (.*)", LOOPS)[1].replace("X(", "").replace(")", "").split()


def compiled(*arguments):
    status, output = common.run([*FLAGS, f"-I{SOURCES}", *arguments])
    if status:
        raise AssertionError(output)


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.root = pathlib.Path(cls.scratch.name)
        (cls.root / "faulty.cpp").write_text(FAULTY)
        compiled("-fPIC", "-shared", cls.root / "faulty.cpp", "-o", cls.root / "faulty.so")
        objects = [cls.root / "reference.o", cls.root / "environment.o"]
        compiled("-c", SOURCES / "reference.cpp", "-o", objects[0])
        compiled("-c", BENCHMARKS / "support" / "environment.cpp", "-o", objects[1])
        for name in ("floats", "sixteen_bits"):
            compiled(SOURCES / f"{name}.cpp", *objects, "-ldl", "-o", cls.root / name)

    def answers(self, *command, requests):
        return [answer for _, answer in scalar_functions.answers([self.root / command[0], *command[1:]], requests)]

    def test_faults_are_found(self):
        requests = [f"{function} 65536 1048576 faulty" for function in ("sin", "cos", "exp")]
        sine, cosine, exponential = self.answers("floats", self.root / "faulty.so", requests=requests)
        row = sine["libraries"][0]
        self.assertTrue(2.5 <= row["normal"]["ulp"] <= 3.5, row)
        self.assertAlmostEqual(float(row["normal"]["x"]), 0.75)
        self.assertEqual(row["first_wrong"], ["-0: 0, not -0"])
        self.assertEqual((row["specials"], row["wrong"], row["nan"], row["infinity"]), (46, 1, 0, 0))
        row = cosine["libraries"][0]
        self.assertEqual(row["first_wrong"], ["nan: 1, not nan", "-nan: 1, not -nan"])
        row = exponential["libraries"][0]
        self.assertEqual(row["normal"]["given"], "inf")
        self.assertIn("88.6999969: inf, not 3.32597686e+38", row["first_wrong"])
        self.assertGreater(row["subnormal"]["ulp"], 8e6)
        self.assertGreater(row["nan"], 0)
        self.assertGreater(row["infinity"], 0)
        self.assertIn("nan: 1, not nan", row["first_wrong"])
        self.assertIn("inf: 3.40282347e+38, not inf", row["first_wrong"])

    def test_rounding_of_16_bits_is_checked(self):
        answer, = self.answers("sixteen_bits", "bfloat16", self.root / "faulty.so", requests=["sqrt 1 faulty"])
        row = answer["libraries"][0]
        self.assertEqual(row["inputs"], 65536)
        self.assertTrue(0.9 < row["ulp"] < 1, row)
        self.assertTrue(10000 < row["not_nearest"] < 22000, row)  # about half of the positive numbers
        self.assertEqual((row["nan"], row["infinity"], row["zero"]), (0, 0, 0))

    def test_what_is_asked_wrongly(self):
        faulty = self.root / "faulty.so"
        for command, request, said in ((["floats", faulty], "sine 1 1 faulty", '"sine" is no function'),
                                       (["floats", faulty], "sin 0 1 faulty", "a stride of 0; expected 1 to"),
                                       (["floats", faulty], "sin 4 4 right", '"right" is no library'),
                                       (["floats", faulty], "sin 4", "expected FUNCTION INNER OUTER LIBRARY"),
                                       (["floats", self.root / "no.so"], "", "cannot open"),
                                       (["sixteen_bits", "float", faulty], "", '"float" is no type; expected half or bfloat16'),
                                       (["sixteen_bits", "bfloat16", faulty], "sqrt 1000000 faulty", "a stride of 1000000; expected 1 to 65536")):
            with self.assertRaisesRegex(scalar_functions.Wrong, said):
                self.answers(*command, requests=[request])

    def test_special_cases_by_each_compiler_at_its_best(self):
        """clang takes -0 for the larger of 0 and -0 where it makes a maximum of a condition, from -O2 on."""
        source = self.root / "loops.cpp"
        source.write_text(LOOPS)
        for name, compiler in common.find_compilers().items():
            if name not in ("gcc", "clang"):
                continue
            library = self.root / f"{name}.so"
            status, output = common.run([compiler, *scalar_functions.CXX, f"-I{SOURCES}", "-O2", "-fPIC", "-shared", source, "-o", library])
            self.assertEqual(status, 0, output)
            for answer in self.answers("floats", library, requests=[f"{function} 262144 1048576 loops" for function in NAMES_OF_LOOPS]):
                row = answer["libraries"][0]
                self.assertEqual((row["wrong"], row["nan"], row["infinity"], row["zero"]), (0, 0, 0, 0), (name, answer["function"], row))

    @unittest.skipUnless(platform.machine() == "x86_64", "libmvec is glibc's for x86-64")
    def test_libraries_compile(self):
        compiled("-mavx2", "-mfma", "-fPIC", "-shared", SOURCES / "libraries" / "glibc.cpp", "-lmvec", "-o", self.root / "glibc.so")
        compiled("-mavx2", "-mfma", "-c", SOURCES / "reference.cpp", "-o", self.root / "vectors.o")
        compiled("-fsyntax-only", "-DTYPE=half", SOURCES / "libraries" / "locus.cpp")
        answer, = self.answers("floats", self.root / "glibc.so", requests=["exp 65536 1048576 glibc"])
        self.assertLess(answer["libraries"][0]["normal"]["ulp"], 0.51)


class Results(cases.Scratch):
    def test_a_row_of_more_inputs_stays(self):
        results = scalar_functions.Results(self.root / "results.json")
        for inputs in (10, 1000, 100):
            results.add("floats", ("function", "library"), {"function": "exp", "library": "locus", "inputs": inputs})
        self.assertEqual([row["inputs"] for row in results.document["floats"]], [1000])

    def test_errors_are_rounded_up(self):
        shown = [float_errors.ulps(error) for error in (0.5, 0.50001, 1.991, 12.31, 123.4, 8388608.0)]
        self.assertEqual(shown, ["0.500", "0.501", "2.00", "12.4", "124", "8e6"])

    def test_locus_keeps_its_bounds(self):
        """In the published results."""
        study = float_errors.FloatErrors()
        for name, found in float_errors.functions(study.host_results(scalar_functions.RESULTS)).items():
            for library, row in found.items():
                if library.startswith("locus"):
                    self.assertLessEqual(row["normal"]["ulp"], 2 if name != "gelu" else 150, row)
                    self.assertEqual((row["wrong"], row["nan"], row["infinity"], row["zero"]), (0, 0, 0, 0), row)

    def test_the_page_names_what_others_compute_best(self):
        page = (BENCHMARKS.parent / "docs" / "accuracy.md").read_text()
        said = re.search(r"^- \*\*Where others win.*?(?=^- )", page, re.MULTILINE | re.DOTALL)[0]
        for row in re.findall(r"^\| (`\w+`) \| [\d.]+ \|.*\*\*.*$", page, re.MULTILINE):
            self.assertIn(row, said)


if __name__ == "__main__":
    common.main(cases.check)
