"""Errors of scalar functions: the results of scalar_functions.py, in tables."""

import json

import scalar_functions
from page_blocks import count, table
from study import Study, Wrong

FOLDER = "intel-xeon-amx"  # whose results the page shows
LIBRARIES = {"Locus": ["locus-generic", "locus-avx2", "locus-avx512"], "libtorch": ["libtorch"], "Eigen": ["eigen"], "xsimd": ["xsimd"],
             "SLEEF, 1.0": ["sleef-u10"], "SLEEF, 3.5": ["sleef-u35"], "glibc": ["glibc"], "glibc, vectors": ["libmvec"]}
WAYS = {"generic": ["locus-generic"], "AVX2, AVX-512": ["locus-avx2", "locus-avx512"],
        "by clang": ["locus-clang-generic", "locus-clang-avx2", "locus-clang-avx512"], "NEON": ["locus-neon"]}
NAMES = {"gelu_exact": "gelu, exact", "gelu_tanh": "gelu, tanh"}
EVERY = 1 << 32


def ulps(error):
    """Rounded up: the error is at most this."""
    digits = 3 if error < 1 else 2 if error < 10 else 1 if error < 100 else 0
    if error < 10000:
        return f"{-(-error * 10**digits // 1) / 10**digits:,.{digits}f}"
    return f"{error:.0e}".replace("e+", "e").replace("e0", "e")


def shown(error):
    return "infinite" if error.get("given") in ("inf", "-inf") else ulps(error["ulp"])


def place(row):
    return ", ".join(f"{float(row[name]):.9g}" for name in ("x", "y") if name in row)


def function_name(name):
    return f"`{NAMES.get(name, name)}`"


class FloatErrors(Study):
    name = "scalar-functions"

    def compiled(self, folder):
        raise Wrong(f"{self.name} is measured by scalar_functions.py")

    def measured(self, program, options, folder):
        return self.compiled(folder)

    def host_results(self, results):
        path = results / FOLDER / f"{self.name}.json"
        if not path.exists():
            raise Wrong(f"{path} is missing; measure it first: scalar_functions.py")
        return json.loads(path.read_text())

    def blocks(self, host, gpu):
        texts = {"errors": self.errors(host), "worst-inputs": self.worst_inputs(host), "ways": self.ways(host), "specials": self.specials(host),
                 "sixteen-bits": self.sixteen_bits(host), "reference": self.reference(host)}
        return {("accuracy.md", name): text for name, text in texts.items()}

    # Tables.

    def errors(self, host):
        rows = []
        for name, found in functions(host).items():
            worst = {library: worst_of(found, ways) for library, ways in LIBRARIES.items()}
            least = shown(min((row["normal"] for row in worst.values() if row), key=lambda error: error["ulp"]))
            rows.append([function_name(name), *(self.cell(row, least) for row in worst.values())])
        return table(["largest error in ulp", *LIBRARIES], rows) + self.machine(host)

    @staticmethod
    def cell(row, least):
        if not row:
            return ""
        text = shown(row["normal"])
        return (f"**{text}**" if text == least else text) + ("†" if row["nan"] or row["infinity"] else "")

    def worst_inputs(self, host):
        rows = [[function_name(name), *(place(row["normal"]) if row else "" for row in (worst_of(found, ways) for ways in LIBRARIES.values()))]
                for name, found in functions(host).items()]
        return table(["where", *LIBRARIES], rows)

    def ways(self, host):
        rows = []
        for name, found in functions(host).items():
            worst = [worst_of(found, ways) for ways in WAYS.values()]
            inputs = found["locus-avx512"]["inputs"]
            rows.append([function_name(name), *(ulps(row["normal"]["ulp"]) if row else "" for row in worst),
                         ulps(max(row["subnormal"]["ulp"] for row in worst if row)), "all" if inputs == EVERY else f"{inputs / 1e6:,.0f} M"])
        return table(["largest error in ulp", *WAYS, "subnormal", "inputs"], rows)

    def specials(self, host):
        rows = []
        for name, found in functions(host).items():
            wrong = {library: worst_of(found, ways, lambda row: row["wrong"]) for library, ways in LIBRARIES.items()}
            examples = [f"{library} at {row['first_wrong'][0]}".replace("-nan", "nan") for library, row in wrong.items() if row and row["wrong"]]
            if examples:
                of = next(row["specials"] for row in wrong.values() if row)
                rows.append([function_name(name), count(of), *(str(row["wrong"]) if row else "" for row in wrong.values()), examples[0]])
        return table(["special cases wrong", "of", *LIBRARIES, "the first"], rows)

    def sixteen_bits(self, host):
        rows = []
        for name in (*scalar_functions.FUNCTIONS, *scalar_functions.ARITHMETIC, *scalar_functions.OF_TWO):
            cells, inputs = [], EVERY
            for kind in ("half", "bfloat16"):
                found = {row["library"]: row for row in host["sixteen_bits"] if (row["function"], row["type"]) == (name, kind)}
                for ways in (LIBRARIES["Locus"], ["libtorch"]):
                    row = worst_of(found, ways, lambda each: each["not_nearest"])
                    inputs = min(inputs, row["inputs"] if row else EVERY)
                    cells += [count(row["not_nearest"]), ulps(row["ulp"])] if row else ["", ""]
            rows.append([function_name(name), count(inputs), *cells])
        head = ["function", "inputs"]
        for kind in ("half", "bfloat16"):
            for library in ("Locus", "libtorch"):
                head += [f"{kind}, {library}: not nearest", "ulp"]
        return table(head, rows)

    def reference(self, host):
        worst = max(host["reference"], key=lambda row: row["ulp"])
        return (f"MPFR finds the reference at most {worst['ulp']:.1g} ulp of float off (`{worst['function']}`), at {count(worst['inputs'])} random floats "
                f"of each of {len(host['reference'])} functions.\n")

    def machine(self, host):
        e = host["environment"]
        versions = {row["library"]: row["version"] for row in host["floats"]}
        libraries = {"libtorch": "libtorch", "Eigen": "eigen", "xsimd": "xsimd", "SLEEF": "sleef-u10", "glibc": "glibc"}
        said = [f"{library} {versions[way]}" for library, way in libraries.items() if way in versions]
        return (f"\n{e['cpu']} with AVX-512 ([{FOLDER}](../benchmarks/results/{FOLDER}/{self.name}.json)); {e['compiler']}; {e['date']}; "
                f"{', '.join(said)}.\n")


def functions(host):
    """{function: {library: row}}, in the order of the program"""
    found = {name: {} for name in scalar_functions.FUNCTIONS + scalar_functions.OF_TWO}
    for row in host["floats"]:
        found[row["function"]][row["library"]] = row
    return {name: rows for name, rows in found.items() if rows}


def worst_of(found, libraries, error=lambda row: row["normal"]["ulp"]):
    """The row of the largest error, or None."""
    return max((found[name] for name in libraries if name in found), key=error, default=None)
