"""Compiled kernels: readable names, accesses in PTX, the report of ptxas, and the record of their resources."""

import collections
import dataclasses
import re
import struct
import subprocess

ELEMENTS = {"__half": "half", "__nv_bfloat16": "bfloat16", "long": "int64", "int": "int32", "unsigned char": "uint8",
            "LinearIndex": "index"}
BYTES = {"double": 8, "int64": 8, "float": 4, "int32": 4, "half": 2, "bfloat16": 2, "uint8": 1, "bool": 1}
INFIX = {"Multiply": ("*", 7), "Divide": ("/", 7), "Remainder": ("%", 7), "Add": ("+", 6), "Subtract": ("-", 6),
         "Less": ("<", 5), "LessEqual": ("<=", 5), "Greater": (">", 5), "GreaterEqual": (">=", 5), "Equal": ("==", 4),
         "NotEqual": ("!=", 4), "LogicalAnd": ("&&", 3), "LogicalOr": ("||", 2)}


@dataclasses.dataclass
class Type:
    """A parsed type name: without namespaces, with its template arguments."""
    name: str
    arguments: list
    tabulated: bool = False  # listed in the table of scalar functions

    def __str__(self):
        return self.name + (f"<{', '.join(map(str, self.arguments))}>" if self.arguments else "")


def read_type(text, at=0):
    """(the type at this position, the position after it). Reads a::Apply<a::functor::Add, float const*>."""
    begin, arguments, closing = at, [], {"(": ")", "{": "}"}
    path = None
    while at < len(text) and text[at] not in ",>":
        if text[at] == "<" and text[at - 1] != ":":
            path = text[begin:at]
            arguments, at = read_arguments(text, at)
            if text.startswith("::", at):  # Outer<...>::Inner
                begin, arguments, path = at + 2, [], None
        elif text[at] in closing:
            depth = 0
            while at < len(text):
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
                at += 1
                if depth == 0:
                    break
        else:
            at += 1
    path = re.sub(r"( const)?[*&]*$", "", (text[begin:at] if path is None else path).strip())
    name = path if "(" in path else path.split("::")[-1]
    return Type(ELEMENTS.get(name, name), arguments, "functor::" in path), at


def read_arguments(text, at):
    arguments = []
    while text[at] != ">":
        at += 1
        if text[at] == ">":
            break
        argument, at = read_type(text, at)
        arguments.append(argument)
    at += 1
    while at < len(text) and text[at] == " ":  # c++filt writes > >
        at += 1
    return arguments, at


def snake_case(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def formula(node, precedence=0):
    """An expression tree of expr/node.hpp, formatted like device/trace/expression_text.hpp."""
    if node.name == "Constant":
        return "c"
    if node.name == "Symbol" and node.arguments:
        return f"x{node.arguments[0]}"
    if node.name != "Apply" or not node.arguments:
        return str(node)
    function, *operands = node.arguments
    if function.tabulated and function.name == "Negate":
        return "-" + formula(operands[0], 8)
    if function.tabulated and function.name in INFIX and len(operands) == 2:
        sign, binding = INFIX[function.name]
        text = f"{formula(operands[0], binding)} {sign} {formula(operands[1], binding + 1)}"
        return f"({text})" if binding < precedence else text
    name = snake_case(function.name) if function.tabulated else str(function)
    return f"{name}({', '.join(map(formula, operands))})"


def expression(functor):
    name, arguments = functor.name, functor.arguments
    if name == "Forward":
        return formula(arguments[0])
    if name == "Backward":
        return "gradient of " + formula(arguments[0])
    if name in ("Folded", "FoldedAt"):
        # Enumerators, such as the order of a norm, distinguish folds of one name: c++filt writes (fold::NormOrder)3.
        chosen = [match[1] for x in arguments[1].arguments if (match := re.fullmatch(r"\(.*\)(\d+)", x.name))]
        order = f"<{', '.join(chosen)}>" if chosen else ""
        return f"{snake_case(arguments[1].name)}{order}({formula(arguments[0])})"
    if name == "ConvertElement":
        return "copy" if arguments[0] == arguments[1] else "convert"
    return str(functor)


def sizes(operands):
    """Bytes of an element of each operand that has memory."""
    return [BYTES[x] for x in operands if x != "index"]


def resident_threads(registers, block):
    """Threads that a multiprocessor of sm_80 or sm_90 holds at once: 65,536 registers, allocated in steps of 8 per
    thread."""
    return min(2048 // block, 65536 // (-(-registers // 8) * 8 * block)) * block


@dataclasses.dataclass
class Kernel:
    """The properties of a kernel that its name contains."""
    name: str
    functor: str                 # computation and types
    inputs: tuple = ()           # element types, of maps and reductions
    outputs: tuple = ()
    has_double: bool = False

    @property
    def is_contiguous(self):
        return self.name.startswith("map contiguous")

    @property
    def width(self):
        """Elements of a vector."""
        return 16 // max(sizes(self.inputs + self.outputs))


def describe(demangled):
    """The kernel with this name, as c++filt writes it."""
    kernel, _ = read_type(demangled.removeprefix("void "))
    has_double = bool(re.search(r"\bdouble\b", demangled))
    arguments = kernel.arguments
    if arguments and arguments[0].name == "MapKernels":
        functor, inputs, outputs = arguments[0].arguments[:3]
        way = "contiguous" if kernel.name == "map_contiguous" else "elements" if arguments[1].name == "1" else "vectors"
        verb = f"map {way}"
    elif arguments and arguments[0].name == "ReduceArguments":
        functor, _, output, inputs = arguments[0].arguments
        outputs, columns = Type("", [output]), arguments[1].name
        verb = "reduce" if columns == "1" else f"reduce {columns} columns"
    else:
        functors = [x for x in arguments if not x.name.isdigit()]
        sizes = [x.name for x in arguments if x.name.isdigit()]
        said = ", ".join(map(expression, functors))
        verb = kernel.name.replace("_", " ") + (f" of {', '.join(sizes)}" if sizes else "")
        return Kernel(f"{verb}: {said}", said, has_double=has_double)
    read, written = (tuple(map(str, pack.arguments)) for pack in (inputs, outputs))
    types = ", ".join(written) if set(read) <= set(written) and len(set(written)) == 1 else \
        f"{', '.join(read)} -> {', '.join(written)}"
    types = types if len(set(read + written)) > 1 else written[0]
    said = f"{expression(functor)}, {types}"
    return Kernel(f"{verb}: {said}", said, read, written, has_double)


def demangle(names):
    """{mangled: kernel}"""
    names = sorted(names)
    said = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return {name: describe(text) for name, text in zip(names, said.splitlines())}


def bodies(ptx):
    """{mangled name: body} of every kernel."""
    return dict(re.findall(r"\.entry (\w+)\((?:.*?)\n\{\n(.*?)\n\}", ptx, re.DOTALL))


ACCESS = re.compile(r"^\s*(?:@!?%\w+ )?(ld|st)((?:\.[\w:]+)*?)(?:\.v([24]))?\.[bfsu](\d+)\s", re.MULTILINE)


def accesses(body, kind):
    """{bytes: number} of loads ('ld') or stores ('st') of global memory, or of a space that the compiler does not
    know."""
    return collections.Counter(int(count or 1) * int(bits) // 8 for found, where, count, bits in ACCESS.findall(body)
                               if found == kind and not re.search(r"\.(param|shared|local|const)\b", where))


def double_arithmetic(body):
    """Arithmetic instructions on double."""
    return [line.strip() for line in body.splitlines()
            if re.search(r"\.f64\b", line) and not re.match(r"\s*\.reg|\s*(@!?%\w+ )?(ld|st|mov)\.", line)]


REPORT = re.compile(r"Function properties for (\w+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes "
                    r"spill loads\s+.*?Used (\d+) registers([^\n]*)")


def resources(text):
    """{mangled name: {registers, shared, stack, spills}} from the output of ptxas -v."""
    found = {}
    for name, stack, stores, loads, registers, rest in REPORT.findall(text):
        shared = re.search(r"(\d+) bytes smem", rest)
        found[name] = {"registers": int(registers), "shared": int(shared[1]) if shared else 0, "stack": int(stack),
                       "spills": int(stores) + int(loads)}
    return found


def instructions(cubin):
    """{mangled name: instructions of 16 bytes} of the kernels of an ELF file, from the sizes of their sections."""
    sections, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, sections + i * size) for i in range(count)]
    found = {}
    for name, *_, length in headers:
        begin = headers[names][4] + name
        text = cubin[begin:cubin.index(b"\0", begin)].decode()
        if text.startswith(".text."):
            found[text.removeprefix(".text.")] = length // 16
    return found


COLUMNS = ("sm_80", "sm_90", "code", "shared", "stack", "spills", "load", "store")
HEAD = """\
# What nvcc {release} makes of canonical_kernels.cu: registers by architecture; instructions on sm_90; bytes of static
# shared memory, of stack and of spills; bytes of the widest load and store. generated_code_test.py compares, and writes it
# anew with --write.
"""


def write_record(rows, release):
    """rows: {name of a kernel: {column: number}}"""
    lines = [" ".join(f"{column:>6}" for column in COLUMNS) + "  kernel"]
    lines += [" ".join(f"{rows[name][column]:>6}" for column in COLUMNS) + f"  {name}" for name in sorted(rows)]
    return HEAD.format(release=release) + "\n".join(lines) + "\n"


def read_record(text):
    """(rows, the release of nvcc)"""
    release = re.search(r"nvcc (\S+)", text)
    rows = {}
    for line in text.splitlines():
        *numbers, name = line.split(maxsplit=len(COLUMNS)) if not line.startswith("#") else [""]
        if len(numbers) == len(COLUMNS) and numbers[0].isdigit():
            rows[name] = dict(zip(COLUMNS, map(int, numbers)))
    return rows, release[1] if release else ""
