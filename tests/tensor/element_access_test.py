#!/usr/bin/env python3
"""x(i, j) is inlined: g++ -O2 compiles a loop over elements without calls, except to functions that throw."""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

SOURCE = """#include <locus/tensor/tensor.hpp>
float f(const locus::Tensor<float>& x, std::int64_t rows, std::int64_t columns) {
  float sum = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) sum += x(i, j);
  return sum;
}
"""


def check(report):
    compilers = common.find_compilers()
    if "gcc" not in compilers:
        return report.skip("element access", "there is no g++")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "access.cpp"
        source.write_text(SOURCE)
        assembly = source.with_suffix(".s")
        status, output = common.run([compilers["gcc"], *common.CXX, "-O2", *common.INCLUDES, "-S", source, "-o", assembly])
        if status:
            return report.fail("element access", output)
        text = assembly.read_text()
    function = re.search(r"^_Z1f\w*:.*?\.cfi_endproc", text, re.DOTALL | re.MULTILINE)
    if not function:
        return report.fail("element access", "the function is not in the assembly")
    # The throwing code is in another section of the same function, "f.cold", or called with a tail that does not
    # return.
    calls = [name for name in re.findall(r"\bcall\s+(\S+)", function[0]) if "refuse" not in name and "fail" not in name]
    report.add("element access", f"a loop over x(i, j) calls {', '.join(calls)}" if calls else None)


if __name__ == "__main__":
    common.main(check)
