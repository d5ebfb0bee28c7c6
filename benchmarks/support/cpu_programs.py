"""The programs of cpu.py: ours, compiled for this processor and for any processor, on a processor with bfloat16
instructions also without them; and the installed peers. Each library is a separate program, because two OpenMP runtimes
or spinning OpenBLAS threads in one process would disturb each other."""

import dataclasses
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

import this_processor

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
ROOT = BENCHMARKS.parent
CXX = os.environ.get("CXX", "g++")
OURS, ANYWHERE, BY_FLOAT = "Locus", "Locus -O2", "Locus avx512"
TORCH_MODULE = "import torch; print(torch.__path__[0], torch.__version__, int(torch.compiled_with_cxx11_abi()))"


def own_flags():
    return {OURS: ["-O2", f"-march={this_processor.architecture()}"], ANYWHERE: ["-O2"]}


def peer_flags():
    return ["-O3", f"-march={this_processor.architecture()}"]


def say(text):
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass(frozen=True)
class Program:
    """A source, its flags, and its parts of the benchmark; parts in `threaded` are measured with each number of
    threads. It only measures operations whose name contains `only`."""
    name: str
    source: pathlib.Path
    flags: tuple
    libraries: tuple = ()
    standards: tuple = ("c++20",)
    parts: tuple = ()
    threaded: tuple = ()
    only: str = ""
    environment: tuple = ()


def answer_of(command):
    """The output of a command; empty if it fails."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def ours(part):
    source = BENCHMARKS / f"cpu_{part}.cpp"
    libraries = ("-lz",) if part == "training" else ()
    found = [Program(name, source, (*flags, "-fopenmp", "-DLOCUS_ZLIB=1", f"-I{ROOT / 'include'}"), libraries,
                     parts=(part,), threaded=(part,)) for name, flags in own_flags().items()]
    if part == "gemm" and "avx512_bf16" in this_processor.flags():
        found.append(dataclasses.replace(found[0], name=BY_FLOAT, only="bfloat16", environment=(("LOCUS_CPU_ISA", "avx512"),)))
    return found


def memcpy():
    kinds = ("elementwise", "rows", "reduce")
    return Program("memcpy", BENCHMARKS / "peers" / "copy.cpp", (*peer_flags(), "-fopenmp"), standards=("c++17",), parts=kinds,
                   threaded=kinds)


def header_peers():
    """(peers found by pkg-config or in /usr/include, peers that are missing)."""
    folder, found, missing = BENCHMARKS / "peers", [memcpy()], []
    flags = (*peer_flags(), "-fopenmp")
    openblas = answer_of(["pkg-config", "--cflags", "--libs", "openblas"]).split()
    if openblas:
        found.append(Program("OpenBLAS", folder / "openblas.cpp", flags, tuple(openblas), ("c++17",), ("gemm",), ("gemm",)))
    else:
        missing.append("no OpenBLAS (Debian: libopenblas-dev)")
    eigen = answer_of(["pkg-config", "--cflags-only-I", "eigen3"]).replace("-I", "-isystem").split()
    if eigen:
        found.append(Program("Eigen", folder / "eigen.cpp", (*flags, *eigen), (), ("c++17",),
                             ("gemm", "elementwise", "rows", "reduce"), ("gemm",)))
    else:
        missing.append("no Eigen (Debian: libeigen3-dev)")
    if pathlib.Path("/usr/include/xtensor").is_dir() and pathlib.Path("/usr/include/xsimd").is_dir():
        found.append(Program("xtensor", folder / "xtensor.cpp", (*flags, "-DXTENSOR_USE_XSIMD", "-DXTENSOR_USE_OPENMP"), (),
                             ("c++17",), ("elementwise", "rows", "reduce"), ("elementwise",)))
    else:
        missing.append("no xtensor (Debian: libxtensor-dev libxsimd-dev)")
    return found, missing


def torch_program(name, source, parts, include, lib, abi, standards):
    paths = [f"-isystem{include}"] if include else []
    paths.append(f"-isystem{include or '/usr/include'}/torch/csrc/api/include")
    libraries = [f"-L{lib}", f"-Wl,-rpath,{lib}"] if lib else []
    libraries += ["-ltorch", "-ltorch_cpu", "-lc10", *(["-lz"] if "training" in parts else [])]
    return Program(name, source, ("-O2", peer_flags()[1], f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *paths), tuple(libraries), standards,
                   parts, parts)


def torch_peers(python):
    """(the system's libtorch and the one of a Python with torch, missing ones). Neither is compiled with -fopenmp: each
    has its own runtime."""
    found, missing = [], []
    sources = ((BENCHMARKS / "peers" / "torch.cpp", ("gemm", "elementwise", "rows", "reduce")),
               (BENCHMARKS / "peers" / "torch_mnist.cpp", ("training",)))
    version = pathlib.Path("/usr/include/torch/csrc/api/include/torch/version.h")
    if version.exists():
        named = re.search(r'TORCH_VERSION[\s\\]+"([^"]*)"', version.read_text())
        found += [torch_program(f"libtorch {named.group(1) if named else 'of the system'}", source, parts, None, None, 1, ("c++17",)) for source, parts in sources]
    else:
        missing.append("no libtorch in /usr/include (Debian: libtorch-dev libopenblas0-pthread)")
    where = answer_of([python, "-c", TORCH_MODULE]).split()
    if where:
        package = pathlib.Path(where[0])
        found += [torch_program(f"libtorch {where[1].split('+')[0]}", source, parts, package / "include", package / "lib", where[2],
                                ("c++20", "c++17")) for source, parts in sources]
    else:
        missing.append(f"{python} imports no torch (name one that does with --torch-python)")
    return found, missing


def all_peers(python):
    found, missing = header_peers()
    of_torch, missing_torch = torch_peers(python)
    return found + of_torch, missing + missing_torch


def fingerprint(program):
    """Changes with the command and with the compiled sources."""
    text = hashlib.sha256(repr((CXX, program.flags, program.libraries, program.standards)).encode())
    files = [program.source]
    if "support/host_" in program.source.read_text():
        files += sorted((BENCHMARKS / "support").glob("host_*.hpp"))
    if program.source.parent == BENCHMARKS:
        files += sorted(path for path in (ROOT / "include").rglob("*") if path.is_file())
    for path in files:
        text.update(path.read_bytes())
    return text.hexdigest()


def compiled(program, folder):
    """The path of the program, recompiled after a change with the first standard that works; None if none does."""
    target = folder / f"{program.source.stem}-{program.name.replace(', ', '-').replace(' ', '')}"
    stamp, now = target.with_name(target.name + ".stamp"), fingerprint(program)
    if target.exists() and stamp.exists() and stamp.read_text() == now:
        return target
    say(f"compiling {target.name}")
    complaints = []
    for standard in program.standards:
        done = subprocess.run([CXX, f"-std={standard}", *program.flags, str(program.source), "-o", str(target), *program.libraries],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            stamp.write_text(now)
            return target
        complaints += [line for line in done.stderr.splitlines() if "error" in line][:3]
    say(f"{program.source.name} does not compile for {program.name}:\n" + "\n".join(complaints))
    return None


def reference_blas(path):
    """The path of the reference BLAS if the program is linked with it: it is 20 times slower than any other, and Debian
    installs it with libtorch by default. None for any other BLAS."""
    for line in answer_of(["ldd", path]).splitlines():
        name, _, rest = line.strip().partition(" => ")
        target = os.path.realpath(rest.split(" ")[0])
        if name.startswith("libblas.so") and pathlib.Path(target).parent.name == "blas":
            return target
    return None


def environment():
    """The machine, the commit and the compiler, for every result."""
    compiler = answer_of([CXX, "--version"]).splitlines()
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": answer_of(["git", "-C", ROOT, "describe", "--always", "--dirty"]),
            "compiler": compiler[0] if compiler else "", "cpu": this_processor.name(), "cores": os.cpu_count()}


def settings(threads, seed=0):
    """The environment of a program. Its threads spin during its turn and sleep soon after (they spin for less than a
    millisecond, in OpenMP and in OpenBLAS). Freed memory stays with the process: otherwise page faults would dominate
    libtorch's results larger than 32 MiB. Debian 12's OpenBLAS is told the type of the processor."""
    flags = this_processor.flags()
    core = {"OPENBLAS_CORETYPE": "SkylakeX" if "avx512f" in flags else "Haswell"} if "avx2" in flags else {}
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOCUS_NUM_THREADS")
    return {**core, **this_processor.environment(), **dict.fromkeys(variables, str(threads)), "GOMP_SPINCOUNT": "20000", "OPENBLAS_THREAD_TIMEOUT": "20",
            "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "BENCHMARK_SEED": str(seed)}
