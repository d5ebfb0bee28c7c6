#!/usr/bin/env python3
"""g++ vectorizes the loops of Cpu, checked by its remarks on each loop: for every instruction set of a program built
with plain -O2, and for the single one of a program built for a processor. A program compiled or tuned for a processor
has loops as wide as the ones that a plain build selects at run time, checked by the registers in their instructions."""

import pathlib
import platform
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

CPU = common.ROOT / "include" / "locus" / "cpu"
MAP = CPU / "loops" / "map.hpp", "for (std::int64_t k = 0; k < n; ++k) {"
FOLD = CPU / "reduce" / "fold_lanes.hpp", "for (int lane = 0; lane < lanes; ++lane)  // a whole register"
FOLD_TAIL = CPU / "reduce" / "fold_lanes.hpp", "for (Lane lane = 0; lane < lanes; ++lane) {"
RUN = CPU / "reduce" / "fold_lanes.hpp", "for (int lane = 0; lane < side_by_side; ++lane) partial[lane] = op.combine(partial[lane], element(k"
UPDATE_AND_FOLD = CPU / "reduce" / "rows.hpp", "for (int lane = 0; lane < row_lanes; ++lane) {  // a whole vector"
UPDATE_TAIL = CPU / "reduce" / "rows.hpp", "for (std::int32_t lane = 0; lane < row_lanes; ++lane) {"
STORE = CPU / "reduce" / "rows.hpp", "for (std::int64_t c = begin; c < end; ++c) values[c - begin] = static_cast<V>(f("
SUMS = CPU / "reduce" / "column_sums.hpp", "for (int lane = 0; lane < row_lanes; ++lane) {  // a whole vector"
SUMS_TAIL = CPU / "reduce" / "column_sums.hpp", "for (std::int32_t lane = 0; lane < row_lanes; ++lane) {"
PAIRS = CPU / "reduce" / "column_sums.hpp", "for (std::int64_t i = 0; i < n; ++i) sum[i] += other[i];"
TOGETHER = CPU / "reduce" / "reduce_loops.hpp", "for (std::int64_t k = 0; k < n; ++k) totals[k] = op.combine(totals[k], of_rows("
COLUMNS = CPU / "reduce" / "reduce_loops.hpp", "for (std::int64_t k = 0; k < n; ++k) totals[k] = op.combine(totals[k], f("
ACTIVATE = CPU / "gemm" / "gemm.hpp", "for (std::int64_t j = 0; j < cols; ++j) c[j] = from_register<T>(activation("

# Expressions, and how many loops of each kind g++ vectorizes for them.
CASES = [
    ("x + y", {MAP: 1}),
    ("relu(x * y) - 1.f", {MAP: 1}),
    ("where(x > y, x, y)", {MAP: 1}),
    ("exp(x)", {MAP: 1}),
    ("sigmoid(x)", {MAP: 1}),
    ("silu(x)", {MAP: 1}),
    ("gelu(x)", {MAP: 1}),
    ("floor(tanh(x)) + sqrt(x)", {MAP: 1}),
    ("pow(x, y)", {MAP: 1}),
    ("pow(abs(x), y)", {MAP: 1}),
    ("pow(exp(x), y)", {MAP: 1}),
    ("clamp(x, -1, 1)", {MAP: 1}),
    ("x.as<locus::bfloat16>().as<float>()", {MAP: 2}),
    ("elementwise(Root{}, x)", {MAP: 1}),
    ("sum(x)", {RUN: 1, FOLD_TAIL: 1, COLUMNS: 1, TOGETHER: 1}),
    ("max(x)", {RUN: 1, FOLD_TAIL: 1, COLUMNS: 1, TOGETHER: 1}),
    ("gradient(locus::operation::Extreme<true>{{1}, true}, x)", {RUN: 1, COLUMNS: 1, MAP: 2}),
    ("var(x)", {RUN: 4, COLUMNS: 1, TOGETHER: 2}),
    ("stddev(x)", {RUN: 5, COLUMNS: 1, TOGETHER: 2}),
    ("argmax(x).as<float>()", {RUN: 1}),
    ("any(x).as<float>()", {RUN: 1, FOLD_TAIL: 1, COLUMNS: 1}),
    ("softmax(x, 1)", {RUN: 1, FOLD_TAIL: 1, UPDATE_AND_FOLD: 1, UPDATE_TAIL: 1}),
    ("log_softmax(x, 1)", {FOLD: 2, FOLD_TAIL: 2}),
    ("logsumexp(x, 1)", {FOLD: 2, FOLD_TAIL: 2}),
    ("layer_norm(x, {8}, y, y)", {RUN: 2, FOLD_TAIL: 2, STORE: 4}),
    ("layer_norm(x.as<locus::half>(), {8}).as<float>()", {RUN: 2, FOLD_TAIL: 2, STORE: 4}),
    ("rms_norm(x, {8}, y)", {RUN: 1, FOLD_TAIL: 1, STORE: 4}),
    ("gradient(locus::operation::Softmax<true>{1}, x)", {RUN: 1, FOLD_TAIL: 1, STORE: 1}),
    ("gradient(locus::operation::LayerNorm<true>{{8}, 1e-5}, x)", {SUMS: 1, SUMS_TAIL: 1, PAIRS: 1, STORE: 1}),
    ("gradient(locus::operation::BatchNorm<float, locus::Cpu>{{}, {}, true, {}}, x)", {MAP: 8, RUN: 6, COLUMNS: 2, TOGETHER: 2}),
    ("gradient(locus::operation::BatchNorm<float, locus::Cpu>{{}, {}, true, {}}, x.as<locus::bfloat16>().eval())", {MAP: 8, RUN: 6}),
    ("step_of_bfloat16(x)", {MAP: 1}),
    ("step_that_may_be_skipped<locus::bfloat16, locus::bfloat16>(x)", {MAP: 1}),
    ("step_that_may_be_skipped<locus::half, float>(x)", {MAP: 1}),
    ("linear(x, y, locus::functor::Tanh{})", {ACTIVATE: 1}),
    ("linear(x, y, locus::functor::Gelu{})", {ACTIVATE: 1}),
    ("matmul(x.as<locus::bfloat16>(), y.as<locus::bfloat16>()).as<float>()", {ACTIVATE: 1}),
]
# Expressions whose registers are no wider than AVX2's.
NARROW = {"argmax(x).as<float>()", "any(x).as<float>()"}
# Beside the maps, the expressions that are compiled for a processor, too: a loop of each kind. The loops are the ones that a
# plain build has for AVX-512.
OF_A_PROCESSOR = {"sum(x)", "argmax(x).as<float>()", "softmax(x, 1)", "log_softmax(x, 1)", "layer_norm(x, {8}, y, y)",
                  "gradient(locus::operation::LayerNorm<true>{{8}, 1e-5}, x)", "linear(x, y, locus::functor::Tanh{})"}
# Flags, and the number of instruction sets for which each loop is vectorized.
PROCESSORS = [((), 2), (("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mavx2", "-mfma"), 1)]

# Compilers, and flags with which they prefer 256-bit vectors unless told otherwise.
TUNED = [("gcc", ("-march=sapphirerapids",)), ("gcc", ("-march=icelake-server",)), ("gcc", ("-mtune=sapphirerapids",)),
         ("gcc", ("-march=sapphirerapids", "-mprefer-vector-width=256")),
         ("clang", ("-march=sapphirerapids",)), ("clang", ("-march=icelake-server",)),
         ("clang", ("-mtune=sapphirerapids",))]
# The loop of argmax is for registers no wider than AVX2's.
WIDTHS = """#include <locus/ops/extreme.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/softmax.hpp>
auto wide(const locus::Tensor<float>& x) { return (exp(x) + tanh(x)).eval(); }
auto rows(const locus::Tensor<float>& x) { return softmax(x, 1); }
auto normalized(const locus::Tensor<float>& x) { return layer_norm(x, {8}); }
auto narrow(const locus::Tensor<float>& x) { return argmax(x); }
"""


def line_of(loop):
    path, text = loop
    found = [number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line]
    if len(found) != 1:
        raise ValueError(f"{path.name} has {len(found)} lines with '{text}'; expected one")
    return found[0]


# The includes of every case, precompiled once for each set of flags.
HEADER = """#include <locus/autograd/graph.hpp>
#include <locus/ops/batch_norm.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/optim/sgd.hpp>
"""
SOURCE = """#include "case.hpp"
using X = locus::Tensor<float>;
struct Root {
  LOCUS_FN float operator()(float v) const { return locus::math::sqrt(v); }
};
template <class Operation, class T>
X gradient(const Operation& operation, const locus::Tensor<T>& x) {
  locus::LeafNode<T, locus::Cpu> node(x.shape(), locus::Cpu{});
  locus::Gradient<T, locus::Cpu> dx(&node);
  operation.backward(operation.forward(x).saved, x, dx);
  return node.gradient().template as<float>();
}
template <class T>
X step_of_bfloat16(const locus::Tensor<T>& x) {
  using Rule = locus::optim::detail::WithMasterWeights<locus::optim::detail::SgdRule<T>, locus::bfloat16>;
  using Halves = const locus::bfloat16*;
  locus::cpu::MapLoop<locus::optim::detail::StepOfOneGroup<Rule>, locus::Pack<Halves, Halves, const T*, const T*>,
                      locus::Pack<locus::bfloat16*, T*, T*>>::run(&x, 0, 0, nullptr, nullptr);
  return x;
}
template <class T, class Read, class R>
X step_that_may_be_skipped(const locus::Tensor<R>& x) {
  using Rule = locus::optim::detail::WithMasterWeights<locus::optim::detail::SgdRule<R>, T>;
  using Step = locus::optim::detail::StepUnless<Rule>;
  using Inputs = locus::Pack<const Read*, const Read*, const R*, const R*, const R*, const R*, const R*, const bool*,
                             const float*>;
  locus::cpu::MapLoop<Step, Inputs, locus::Pack<Read*, R*, R*>, Step::repeated>::run(&x, 0, 0, nullptr, nullptr);
  return x;
}
"""
FUNCTION = "X f{}(const X& x, [[maybe_unused]] const X& y) {{ return {}; }}\n"


def gcc(flags, *rest):
    return common.run([common.find_compilers()["gcc"], *common.CXX, "-O2", *flags, *common.INCLUDES, *rest])


def precompile(place, flags):
    """Writes the precompiled header into this folder; returns the error or None."""
    place.mkdir()
    (place / "case.hpp").write_text(HEADER)
    status, output = gcc(flags, "-x", "c++-header", place / "case.hpp", "-o", place / "case.hpp.gch")
    return output if status else None


def remarks(name, expressions, processor):
    """g++'s remarks on a file that computes the expressions."""
    place, flags, _ = processor
    source = place / f"{name}.cpp"
    source.write_text(SOURCE + "".join(FUNCTION.format(i, expression) for i, expression in enumerate(expressions)))
    return gcc(flags, "-Winvalid-pch", f"-I{place}", "-fopt-info-vec", "-S", source, "-o", source.with_suffix(".s"))


def compile_case(case):
    (number, (expression, _)), processor = case
    return remarks(f"case{number}", [expression], processor)


def vectorized(output, place):
    return len(re.findall(rf"{re.escape(place)}:\d+: optimized: loop vectorized", output))


def place_of(loop):
    return f"{loop[0]}:{line_of(loop)}"


def all_vectorized(cases, processor):
    """Whether a file with all of these expressions has as many vectorized maps as they have one by one, in a tenth of the
    time. g++ 12 has two remarks on a map: on its loop, and on the rest of it in shorter vectors. Where one is missing, or
    another g++ says it otherwise, each expression is compiled alone."""
    status, output = remarks("maps", [expression for expression, _ in cases], processor)
    expected = sum(loops[MAP] for _, loops in cases) * processor[2]
    return status == 0 and vectorized(output, place_of(MAP)) == 2 * expected


def registers_of(job):
    """{loop: (instructions with 512-bit registers, with 256-bit registers)} of the loops for AVX-512 and for AVX2."""
    compiler, flags = job
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "widths.cpp"
        source.write_text(WIDTHS)
        target = source.with_suffix(".s")
        status, output = common.run([common.find_compilers()[compiler], *common.CXX, "-O2", *flags, *common.INCLUDES, "-S",
                                     source, "-o", target])
        if status:
            return None, output
        counts = {"avx512": [0, 0], "avx2": [0, 0]}
        version = None
        for line in target.read_text().splitlines():
            if label := re.match(r"(_Z\w+)[.\w]*:", line):
                found = re.search(r"8Versions.*\d(avx512|avx2)E", label[1])
                version = found and found[1]
            elif version:
                counts[version][0] += "%zmm" in line
                counts[version][1] += "%ymm" in line
        return counts, output


def check_widths(report):
    compilers = common.find_compilers()
    tuned = [job for job in TUNED if job[0] in compilers]
    plain = [(compiler, ()) for compiler in dict(tuned)]
    counts = dict(common.parallel(registers_of, plain + tuned))
    for job in plain + tuned:
        name = " ".join(["widths:", job[0], "-O2", *job[1]])
        found, output = counts[job]
        chosen, _ = counts[job[0], ()]
        if not found or not chosen:
            report.fail(name, output)
            continue
        wide, narrow = found["avx512"][0], found["avx2"]
        problem = None
        if wide < 0.9 * chosen["avx512"][0] or not wide:
            problem = f"{wide} instructions of 512 bits; a plain build has {chosen['avx512'][0]}"
        elif narrow[0] or not narrow[1]:
            problem = f"loops for AVX2 have {narrow[0]} instructions of 512 bits and {narrow[1]} of 256"
        report.add(name, problem)


def cases_alone(processors, together):
    """The cases that are compiled alone for each processor: maps where they were not vectorized together, and for one
    processor a loop of each other kind."""
    def is_alone(case, processor):
        expression, loops = case
        if set(loops) == {MAP}:
            return not together[processor]
        return not processor[1] or expression in OF_A_PROCESSOR

    return [(case, processor) for case in enumerate(CASES) for processor in processors if is_alone(case[1], processor)]


def check(report):
    assert OF_A_PROCESSOR <= {expression for expression, _ in CASES}
    if platform.machine() != "x86_64" or "gcc" not in common.find_compilers():
        return report.skip("vectorized loops", "there is no g++ for x86_64")
    maps = [case for case in CASES if set(case[1]) == {MAP}]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        processors = [(folder / str(i), *processor) for i, processor in enumerate(PROCESSORS)]
        for (_, flags, _), problem in common.parallel(lambda processor: precompile(*processor[:2]), processors):
            if problem:
                return report.fail(" ".join(["the precompiled header", *flags]), problem)
        together = dict(common.parallel(lambda processor: all_vectorized(maps, processor), processors))
        for expression, _ in maps:
            for _, flags, _ in filter(together.get, processors):
                report.ok(" ".join([expression, *flags[:1]]))
        results = common.parallel(compile_case, cases_alone(processors, together))
    for ((_, (expression, loops)), (_, flags, versions)), (status, output) in results:
        name = " ".join([expression, *flags[:1]])
        if status:
            report.fail(name, output)
            continue
        for loop, count in loops.items():
            place = place_of(loop)
            found = vectorized(output, place)
            expected = count * (1 if expression in NARROW else versions)
            report.add(f"{name} ({place})",
                       f"{found} loops vectorized; expected {expected}" if found < expected else None)
    check_widths(report)


if __name__ == "__main__":
    common.main(check)
