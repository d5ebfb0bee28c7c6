#!/usr/bin/env python3
"""g++ and clang vectorize loops over the functions of core/math.hpp, for SSE2 and for newer instruction sets: checked
by the compilers' remarks on each loop."""

import pathlib
import platform
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

OF_FLOAT = ["exp(x)", "expm1(x)", "log(x)", "log1p(x)", "tanh(x)", "sigmoid(x)", "silu(x)", "softplus(x)", "mish(x)", "mish_slope(x)", "erf(x)",
            "gelu(x)", "gelu_exact(x)", "gelu_slope(x)", "gelu_tanh(x)", "gelu_tanh_slope(x)", "sin(x)", "cos(x)", "pow(x, y)", "sqrt(x)",
            "rsqrt(x)", "round(x)", "floor(x)", "ceil(x)", "trunc(x)", "tan(x)", "asin(x)", "acos(x)", "atan(x)", "atan2(x, y)", "sinh(x)",
            "cosh(x)", "asinh(x)", "acosh(x)", "atanh(x)", "exp2(x)", "log2(x)", "log10(x)", "cbrt(x)", "hypot(x, y)", "logit(x)", "xlogy(x, y)",
            "erfc(x)"]
OF_DOUBLE = ["exp(x)", "sigmoid(x)", "silu(x)", "sqrt(x)", "rsqrt(x)", "round(x)",
             "floor(x)", "ceil(x)", "trunc(x)"]
CASES = [("float", call) for call in OF_FLOAT] + [("double", call) for call in OF_DOUBLE]
PROCESSORS = [(), ("-mavx2", "-mfma"), ("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mavx2", "-mfma")]
REPORTS = {"gcc": ("-fopt-info-vec", "optimized: loop vectorized"),
           "clang": ("-Rpass=loop-vectorize", "remark: vectorized loop")}

HEAD = "".join(f"#include <locus/core/{name}.hpp>\n" for name in ["math", "math/hyperbolic", "math/inverse_trigonometric",
                                                              "math/logarithms", "math/special"]) + "using namespace locus::math;\n"
LOOP = ("LOCUS_VECTORIZED void f{number}(const {type}* __restrict a, [[maybe_unused]] const {type}* b, {type}* __restrict c) "
        "{{ LOCUS_IVDEP for (int k = 0; k < 4096; ++k) {{ [[maybe_unused]] const {type} x = a[k], y = b[k]; "
        "c[k] = locus::math::{call}; }} }}\n")


def compile_all(job):
    """The compiler's remarks on a file with one loop per line."""
    (compiler, path), flags = job
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "loops.cpp"
        source.write_text(HEAD + "".join(LOOP.format(number=number, type=of, call=call)
                                         for number, (of, call) in enumerate(CASES)))
        return common.run([path, *common.CXX, "-O2", *flags, *common.INCLUDES, REPORTS[compiler][0], "-c", source, "-o",
                           source.with_suffix(".o")])


def check(report):
    compilers = {name: path for name, path in common.find_compilers().items() if name in REPORTS}
    if platform.machine() != "x86_64" or not compilers:
        return report.skip("vectorized functions", "there is no g++ or clang for x86_64")
    jobs = [(compiler, flags) for compiler in compilers.items() for flags in PROCESSORS]
    for ((compiler, _), flags), (status, output) in common.parallel(compile_all, jobs):
        name = " ".join([compiler, *flags[:1]])
        if status:
            report.fail(name, output)
            continue
        for line, (of, call) in enumerate(CASES, HEAD.count("\n") + 1):
            vectorized = re.search(rf"loops\.cpp:{line}:\d+: {REPORTS[compiler][1]}", output)
            report.add(f"{call} of {of}, {name}", None if vectorized else "the loop stays scalar")


if __name__ == "__main__":
    common.main(check)
