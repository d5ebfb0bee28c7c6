"""Joins headers of Locus into one file for the CPU.

A header is inlined where it is first included, and a file that is included several times with other macros each time
(.inc) is inlined each time. Conditions that a program for the CPU decides, such as LOCUS_CUDA, are evaluated; all
others stay, for one file serves every compiler. The macros that are arguments of such a file (LOCUS_REFUSED...) are
expanded here, for two reasons: their file, inlined 700 times, would take 4 MB, and compilers add lines to an error for
each expansion.
"""

import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "locus/locus.hpp"

# Macros with one value in every program for the CPU; None: not defined.
DECIDED = {
    "LOCUS_CUDA": "0", "LOCUS_NVCC": "0", "LOCUS_CUDNN": "0", "LOCUS_NCCL": "0", "LOCUS_MPI": "0", "LOCUS_DEVICE_PASS": "0",
    "LOCUS_ON_DEVICE": "0", "__CUDACC__": None, "__CUDA_ARCH__": None, "LOCUS_COMPILED": None, "LOCUS_COMPILES_INSTANCES": None,
}
OPTIONS = ["LOCUS_CUDA", "LOCUS_CUDNN", "LOCUS_NCCL", "LOCUS_MPI"]  # of a program; the file defines them
ARGUMENT = re.compile(r"LOCUS_(?:REFUSED\w*|INSTANCES|KERNEL_FILE)")  # macros that are arguments of a file
SHARED = {"locus/refuse/operands_in_clang.inc"}  # files that become a macro: 6 kB at each of 300 places

TEXT = r"""(?P<text> R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )"""
NUMBER = r"(?P<number> (?<!\w)\.?\d (?: '?[\w.] )* )"
REMARK = r"(?P<comment> //[^\n]* | /\*.*?\*/ )"
COMMENT = re.compile(f"{TEXT} | {NUMBER} | {REMARK}", re.VERBOSE | re.DOTALL)  # and all that looks like one
TOKEN = re.compile(rf"{TEXT} | {NUMBER} | (?P<name> [A-Za-z_]\w* ) | (?P<other> \s+ | . )", re.VERBOSE | re.DOTALL)
OF_LINES = re.compile(r'R".*(?:[\s\\]\n|\n\s*#)', re.DOTALL)  # a raw string that is changed if its lines are read one by one
DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
DEFINITION = re.compile(r"(\w+)(\([^)]*\))?\s*(.*)", re.DOTALL)
INCLUDED = re.compile(r"(?:<(locus/[^>]+)>|(<[^>]+>))$")
EXPRESSION = re.compile(r"defined\s*\(\s*(\w+)\s*\)|defined\s+(\w+)|(\w+)|(&&|\|\||!=|[<>=]=|[!()<>])|(\s+)")


class Unsupported(Exception):
    """Headers that cannot be joined."""


def without_comments(text, keep_docs=False):
    """keep_docs: keeps the lines that begin with ///."""
    def shorten(token):
        if OF_LINES.match(token[0]):
            raise Unsupported(f"a raw string has a line that is empty, ends with a space or begins with #: {token[0][:60]}")
        if token.lastgroup != "comment":
            return token[0]
        at_the_start = not text[text.rfind("\n", 0, token.start()) + 1:token.start()].strip()
        if keep_docs and token[0].startswith("///") and at_the_start:
            return token[0]
        return " " if token[0].startswith("/*") else ""

    return COMMENT.sub(shorten, text)


def logical_lines(text):
    """Lines with content; a directive that continues on further lines is one of them."""
    lines = []
    for line in text.split("\n"):
        if lines and lines[-1].endswith("\\"):
            lines[-1] += "\n" + line.rstrip()
        elif line.strip():
            lines.append(line.rstrip())
    return lines


def arguments_of(text, start):
    """([arguments of the macro call whose opening bracket is text[start]], end of the call)."""
    depth, found, begin = 0, [], start + 1
    for token in TOKEN.finditer(text, start):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth -= 1
        if (token[0] == "," and depth == 1) or depth == 0:
            found.append(text[begin:token.start()].strip())
            begin = token.end()
        if depth == 0:
            return found, token.end()
    raise Unsupported(f"a macro call without an end: {text[start:start + 60]}")


class Macro:
    def __init__(self, definition):
        name, parameters, body = DEFINITION.fullmatch(definition).groups()
        self.name = name
        self.parameters = None if parameters is None else [word.strip() for word in parameters[1:-1].split(",")]
        self.body = re.sub(r"\s*\\\n\s*", " ", body).strip()

    def __eq__(self, other):
        return isinstance(other, Macro) and (self.parameters, self.body) == (other.parameters, other.body)

    def expanded(self, arguments):
        if self.parameters and "#" in self.body:
            raise Unsupported(f"{self.name}: # in a macro that is an argument of a file")
        given = dict(zip(self.parameters or [], arguments or []))
        return "".join(given.get(token[0], token[0]) if token.lastgroup == "name" else token[0]
                       for token in TOKEN.finditer(self.body))


AMBIGUOUS = object()  # an argument with several values, which depend on the compiler


def expand(text, macros):
    """`text` without comments, with these macros expanded."""
    if not any(name in text for name in macros):
        return text
    found, position = [], 0
    while token := TOKEN.match(text, position):
        position = token.end()
        macro = macros.get(token[0]) if token.lastgroup == "name" else None
        if macro is None:
            found.append(token[0])
            continue
        if macro is AMBIGUOUS:
            raise Unsupported(f"{token[0]}: its value depends on the compiler")
        arguments = None
        if macro.parameters is not None:
            if not text[position:].lstrip().startswith("("):
                found.append(token[0])
                continue
            arguments, position = arguments_of(text, text.index("(", position))
        found.append(expand(macro.expanded(arguments), macros))
    return "".join(found)


def value_of(expression, is_defined, number):
    """True, False, or None if it depends on the compiler. is_defined(name): likewise; number(name): text or None."""
    def literal(token):
        if token[1] or token[2]:
            return is_defined(token[1] or token[2])
        if token[3].isdigit():
            return int(token[3])
        value = number(token[3])
        return int(value) if value is not None and value.isdigit() else None

    tokens, position = [], 0
    while position < len(expression):
        token = EXPRESSION.match(expression, position)
        if not token or token[3] in ("__has_include", "__has_feature"):
            # As operands of && only their absence matters; parse them as one unknown.
            call = re.match(r"__has_\w+\s*\([^)]*\)", expression[position:])
            if not call:
                return None
            tokens.append(("value", None))
            position += call.end()
            continue
        if not token[5]:
            tokens.append(("sign", token[4]) if token[4] else ("value", literal(token)))
        position = token.end()

    def take(*signs):
        if tokens and tokens[0][0] == "sign" and tokens[0][1] in signs:
            return tokens.pop(0)[1]
        return None

    def single():
        if take("!"):
            value = single()
            return None if value is None else not value
        if take("("):
            value = either()
            if not take(")"):
                raise Unsupported(f"#if {expression}")
            return value
        kind, value = tokens.pop(0)
        if kind != "value":
            raise Unsupported(f"#if {expression}")
        return value

    def compared():
        left = single()
        sign = take("==", "!=", "<", ">", "<=", ">=")
        if not sign:
            return left
        right = single()
        if left is None or right is None:
            return None
        return {"==": left == right, "!=": left != right, "<": left < right, ">": left > right, "<=": left <= right,
                ">=": left >= right}[sign]

    def both():
        values = [compared()]
        while take("&&"):
            values.append(compared())
        if any(value is not None and not value for value in values):
            return False
        return None if None in values else bool(values[-1]) if len(values) > 1 else values[0]

    def either():
        values = [both()]
        while take("||"):
            values.append(both())
        if any(values):
            return True
        return None if None in values else values[-1]

    value = either()
    if tokens:
        raise Unsupported(f"#if {expression}")
    return None if value is None else bool(value)


class Branches:
    """An #if with its #elif and #else: which branch is read, and whether it stays a condition of the result."""

    def __init__(self, macros):
        self.active = False  # the current branch is read
        self.decided = False  # an earlier branch is known to be true
        self.stays = False
        self.before = dict(macros)
        self.after = []  # the arguments at the end of each branch


class Joiner:
    def __init__(self, root=ROOT, *, docs=False, zlib=False):
        self.folder = pathlib.Path(root) / "include"
        self.docs = docs
        self.decided = dict(DECIDED, LOCUS_ZLIB="1" if zlib else "0")
        self.options = [*OPTIONS, "LOCUS_ZLIB"]
        self.system = []  # system headers
        self.lines = []
        self.block = []  # lines of text before the next directive
        self.texts = {}  # lines of files, of which some are read several times
        self.done = set()  # headers that need not be inlined again
        self.guarded = set()
        self.macros = {}
        self.branches = []
        self.shared = {}  # files that became a macro: {path: (name, its arguments)}
        self.remedies = {}  # arguments with parameters, by their bodies

    # Conditions

    def is_defined(self, name):
        if name in self.decided:
            return self.decided[name] is not None
        if ARGUMENT.fullmatch(name):
            if self.macros.get(name) is AMBIGUOUS:
                raise Unsupported(f"defined({name}) depends on the compiler")
            return name in self.macros
        return None

    def reads(self):
        return all(chain.active for chain in self.branches)

    def depends(self):
        """Whether the compiler decides if the current line is read."""
        return any(chain.stays for chain in self.branches)

    def close_branch(self, chain):
        if chain.active:
            chain.after.append(dict(self.macros))
        self.macros = dict(chain.before)

    def condition(self, word, rest):
        if word in ("if", "ifdef", "ifndef"):
            outer = self.reads()
            self.branches.append(chain := Branches(self.macros))
            if not outer:
                chain.decided = True
                return
        else:
            chain = self.branches[-1]
            if not all(other.active for other in self.branches[:-1]):
                if word == "endif":
                    self.branches.pop()
                return
            self.close_branch(chain)
        if word == "endif":
            self.branches.pop()
            self.merge(chain)
            if chain.stays:
                self.lines.append("#endif")
            return
        expression = {"ifdef": f"defined({rest})", "ifndef": f"!defined({rest})", "else": "1"}.get(word, rest)
        value = False if chain.decided else value_of(expression, self.is_defined, self.decided.get)
        chain.active = value is not False
        chain.decided = chain.decided or value is True
        if value is None:
            self.lines.append(f"#{'elif' if chain.stays else 'if'} {expression}")
            chain.stays = True
        elif value and chain.stays:
            self.lines.append("#else")

    def merge(self, chain):
        ends = [*chain.after, *([] if chain.decided else [chain.before])]
        self.macros = {}
        for name in {name for end in ends for name in end}:
            values = [end.get(name) for end in ends]
            self.macros[name] = values[0] if all(value == values[0] for value in values) else AMBIGUOUS

    # Text

    def flush(self):
        if self.block:
            self.lines += expand("\n".join(self.block), self.macros).split("\n")
            self.block = []

    def define(self, line, rest):
        name = DEFINITION.fullmatch(rest)[1]
        if ARGUMENT.fullmatch(name):
            self.macros[name] = Macro(rest)
        elif name not in self.options:
            self.lines.append(expand(line, self.macros))

    def undefine(self, line, name):
        if ARGUMENT.fullmatch(name):
            self.macros.pop(name, None)
        else:
            self.lines.append(line)

    def lines_of(self, path):
        if path not in self.texts:
            docs = self.docs and path.endswith(".hpp")
            self.texts[path] = logical_lines(without_comments((self.folder / path).read_text(), docs))
        return self.texts[path]

    def read(self, path):
        depth = len(self.branches)
        for line in self.lines_of(path):
            directive = DIRECTIVE.match(line)
            if not directive:
                if self.reads():
                    self.block.append(line)
                continue
            self.flush()
            word, rest = directive[1], directive[2].rstrip()
            if word in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
                self.condition(word, rest)
            elif self.reads():
                self.directive(word, rest, line)
        self.flush()
        if len(self.branches) != depth:
            raise Unsupported(f"{path}: an #if without its #endif")

    def directive(self, word, rest, line):
        if word == "define":
            self.define(line, rest)
        elif word == "undef":
            self.undefine(line, rest)
        elif word == "include":
            self.include(expand(rest, self.macros))
        elif word != "pragma" or rest not in ("once", "GCC system_header"):
            self.lines.append(line)

    # Files

    def include(self, name):
        found = INCLUDED.match(name)
        if not found:
            raise Unsupported(f"#include {name}")
        ours, system = found.groups()
        if system:
            if self.depends():
                self.lines.append(f"#include {system}")
            elif system not in self.system:
                self.system.append(system)
        elif ours.endswith(".inc"):
            self.include_again(ours)
        elif ours not in self.done:
            self.include_once(ours)

    def include_once(self, path):
        """A header whose inclusion depends on the compiler is guarded, and inlined again by others that need it."""
        depends, before = self.depends(), set(self.done)
        guard = "LOCUS_SINGLE_" + re.sub(r"\W", "_", path).upper()
        if depends:
            self.guarded.add(path)
        self.done.add(path)
        if path in self.guarded:
            self.lines += [f"#ifndef {guard}", f"#define {guard}"]
        self.read(path)
        if path in self.guarded:
            self.lines.append("#endif")
        if depends:
            self.done = before

    def include_again(self, path):
        if path in SHARED:
            self.call(path)
        else:
            self.read(path)

    def call(self, path):
        """A long file of refusals as a call of a macro, which the result defines before the first header."""
        if path not in self.shared:
            self.shared[path] = self.shared_macro(path)
        name, parameters, _ = self.shared[path]
        self.lines.append(f"{name}({', '.join(map(self.argument, parameters))})")

    def argument(self, name):
        macro = self.macros[name]
        if macro.parameters is None:
            return f"({expand(macro.body, self.macros)})"
        key = (tuple(macro.parameters), expand(macro.body, self.macros))
        return self.remedies.setdefault(key, f"{macro.name}_{len(self.remedies)}")

    def shared_macro(self, path):
        """(name, parameters, definition)"""
        own, body = {}, []
        for line in self.lines_of(path):
            directive = DIRECTIVE.match(line)
            if not directive:
                body.append(line)
            elif directive[1] == "define":
                own[DEFINITION.fullmatch(directive[2])[1]] = Macro(directive[2].rstrip())
            elif directive[1] not in ("undef", "pragma"):
                raise Unsupported(f"{path}: #{directive[1]} in a long file of refusals")
        text = expand("\n".join(body), own)
        parameters = sorted({token[0] for token in TOKEN.finditer(text) if ARGUMENT.fullmatch(token[0])})
        text = "".join(f"LOCUS_BARE_ {token[0]}" if token[0] in parameters and self.macros[token[0]].parameters is None
                       else token[0] for token in TOKEN.finditer(text))
        name = "LOCUS_" + re.sub(r"\W", "_", path.removeprefix("locus/").removesuffix(".inc")).upper()
        lines = [f"#define {name}({', '.join(parameters)})", *text.split("\n")]
        return name, parameters, " \\\n".join(lines)

    # The result

    def preamble(self, headers):
        version = re.search(r'#define LOCUS_VERSION "(.*)"', (self.folder / "locus/core/config.hpp").read_text())[1]
        what = ", ".join(f"<{header}>" for header in headers)
        notice = textwrap.wrap(
            f"Locus {version} for the CPU as one header, instead of {what}. Written by scripts/single_header; do not edit it. "
            "Tensor<T, Cuda> is a type here, so that mistakes of placement are compile errors, but nothing runs on a GPU. "
            "Licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0", 117)
        wrong = " || ".join(f"(defined({name}) && {name}{' != 1' if self.decided[name] == '1' else ''})"
                            for name in self.options)
        values = ", ".join(f"{name}={self.decided[name]}" for name in self.options)
        return [*(f"// {line}" for line in notice),
                "#ifndef LOCUS_SINGLE_HEADER", "#define LOCUS_SINGLE_HEADER", "#pragma GCC system_header",
                "#if defined(__CUDACC__)", '#error "the single header of Locus is for the CPU; nvcc needs the include folders"',
                f"#elif {wrong}", f'#error "this single header of Locus was written for {values}"', "#else",
                *(f"#define {name} {self.decided[name]}" for name in self.options)]

    def definitions(self):
        if not self.shared:
            return []
        remedies = [f"#define {name}({', '.join(parameters)}) {body}" for (parameters, body), name in self.remedies.items()]
        return ["#define LOCUS_BARE_(...) __VA_ARGS__", *remedies, *(definition for _, _, definition in self.shared.values())]

    def join(self, headers):
        for header in headers:
            if not header.startswith("locus/") or not (self.folder / header).is_file():
                raise Unsupported(f"'{header}' is no header in {self.folder}; expected one like {HEADER}")
            self.include(f"<{header}>")
        lines = [*self.preamble(headers), *(f"#include {header}" for header in sorted(self.system)), *self.definitions(),
                 *self.lines, "#endif", "#endif  // LOCUS_SINGLE_HEADER"]
        return "\n".join(line for line in lines if line.strip()) + "\n"


def single_header(headers=(HEADER,), **options):
    """The text of one file with these headers; options: docs, zlib, root."""
    return Joiner(**options).join(list(headers))
