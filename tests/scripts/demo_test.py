#!/usr/bin/env python3
"""scripts/demo with a GPU in each state that a machine may be in: its actions and messages.

Stand-ins for nvidia-smi, the toolkit, Meson, ninja and the programs that they build form the machine, in a copy of
scripts/. One case is configured by the installed Meson, with a stand-in for nvcc. Takes about 15 seconds.
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

STAND_INS = {
    "dpkg-query": "echo installed",
    "meson": """
        [ "$1" != --version ] || { echo 1.3.0; exit 0; }
        [ "$2" = --reconfigure ] || echo "$2" >> "$MACHINE/configured"
        for word; do case $word in "$MACHINE"/build/*) mkdir -p "$word/meson-private"; touch "$word/meson-private/coredata.dat" ;; esac; done
        case " $* " in *" -Dcuda=disabled "*) echo '    CUDA : no' ;; *) printf '%s\\n' "$MACHINE_SUMMARY" ;; esac""",
    "ninja": """
        [ "$1" != --version ] || { echo 1.11.1; exit 0; }
        build=$2 && mkdir -p "$build/examples" && shift 4
        [ "$MACHINE_BUILD" != fails ] || ! grep -q 'CUDA : 13' "$build/configure.log" || { echo 'nvcc: no such luck'; exit 1; }
        for program; do cp "$MACHINE/${program##*/}" "$build/$program"; done""",
    "mnist": 'echo "trained with $*"',
    "self_check": 'eval "$MACHINE_SELF_CHECK"',
    "nvidia-smi": """
        [ "$MACHINE_GPU" ] || { echo "NVIDIA-SMI has failed"; exit 9; }
        case $* in
          -L) printf '%s\\n' "$MACHINE_GPU" | sed 's/^\\(.*\\), \\(.*\\)$/GPU 0: \\1 (UUID: GPU-1)/' ;;
          *--query-gpu=compute_cap*) printf '%s\\n' "$MACHINE_GPU" | sed 's/.*, //' ;;
          *) echo "| NVIDIA-SMI 535.1    Driver Version: 535.1    CUDA Version: $MACHINE_DRIVER     |" ;;
        esac""",
}
H100 = "NVIDIA H100, 9.0"
TOOLKIT = "    CUDA : 13.0 (sm_80 sm_90)"
WITHOUT = "    CUDA : no"
PASSES = "echo 'cuda:0: NVIDIA H100, sm_90'; echo all parts passed"
FAILS = ("echo 'cuda:0: NVIDIA H100, sm_90; driver 580.65.06, for CUDA 13.0'; echo 'sort       ok      error 0';"
         "echo 'gemm, float32    FAILED  error 3.0; at most 1e-4 was expected'; echo '1 part failed'; exit 1")
# Output of the self-check before the end of its first part.
STARTS = "echo 'cuda:0: NVIDIA H100, sm_90; driver 580.65.06, for CUDA 13.0'; printf '%-36s ' 'map, contiguous'; "

# name: (the machine, the message about the GPU, whether the GPU is used)
STATES = {
    "neither a GPU nor a toolkit": (
        {"SUMMARY": WITHOUT}, r"no GPU answers \(nvidia-smi shows none, and says: NVIDIA-SMI has failed\), and no CUDA "
        r"toolkit \(nvcc\) was found: both are needed, NVIDIA's driver and CUDA toolkit 12\.4 or newer", False),
    "a toolkit without a GPU": (
        {"SUMMARY": TOOLKIT}, r"CUDA toolkit 13\.0 is here, but no GPU answers \(nvidia-smi shows none.*\): install "
        r"NVIDIA's driver", False),
    "a GPU without a toolkit": (
        {"GPU": H100, "SUMMARY": WITHOUT}, r"the GPU NVIDIA H100 is here, but no CUDA toolkit \(nvcc\) was found: install "
        r"CUDA toolkit 12\.4 or newer, and put its nvcc on PATH or its folder in CUDA_HOME", False),
    "a toolkit that cannot compile": (
        {"GPU": H100, "SUMMARY": "cuda_kernels/meson.build:60: WARNING: CUDA off: toolkit 13.0 cannot compile for sm_90:\n"
         f"no host compiler\n{WITHOUT}"}, r"NVIDIA H100 is here, but CUDA toolkit 13\.0 cannot compile for sm_90: ", False),
    "a driver too old for any toolkit that builds Locus": (
        {"GPU": H100, "DRIVER": "11.8", "SUMMARY": TOOLKIT}, r"NVIDIA's driver is for CUDA 11\.8, and CUDA toolkit 13\.0 "
        r"needs one for CUDA 13\.0 or newer: update the driver\b(?!, or)", False),
    "a driver too old for this toolkit": (
        {"GPU": H100, "DRIVER": "12.8", "SUMMARY": TOOLKIT},
        r"driver is for CUDA 12\.8, .*: update the driver, or install CUDA toolkit 12\.8", False),
    "a GPU without code for its architecture": (
        {"GPU": "Tesla V100, 7.0", "SUMMARY": TOOLKIT},
        r"the GPU Tesla V100 is of architecture sm_70, and CUDA toolkit 13\.0 compiles for sm_80 and sm_90 alone, which it "
        r"cannot run: install a toolkit that knows sm_70 \(CUDA 12 knows", False),
    "a GPU that is older than another one": (
        {"GPU": f"Tesla V100, 7.0\n{H100}", "SUMMARY": TOOLKIT}, r"The self-check passed: cuda:0: NVIDIA H100", True),
    "a GPU that is newer than the architectures": (
        {"GPU": "NVIDIA B200, 10.0", "SUMMARY": TOOLKIT}, r"The self-check passed: cuda:0: NVIDIA H100, sm_90", True),
    "an nvidia-smi that is too old to know architectures": (
        {"GPU": "Tesla V100, Field \"compute_cap\" is not a valid field to query."}, r"The self-check passed: ", True),
    "a GPU that computes right": ({"GPU": H100}, r"The self-check passed: cuda:0: NVIDIA H100, sm_90", True),
    "a GPU that computes wrong": (
        {"GPU": H100, "SELF_CHECK": FAILS}, r"(?s)driver 580\.65\.06, for CUDA 13\.0\n.*gemm, float32    FAILED  error 3\.0.*"
        r"the self-check of the GPU failed in: gemm, float32\b", False),
    "a GPU that the runtime cannot use": (
        {"GPU": H100, "SELF_CHECK": "echo 'self_check: no usable GPU: cuda:0: busy' >&2; exit 77"},
        r"demo: (--device cuda: )?no usable GPU: cuda:0: busy", False),
    "a self-check that crashes": (
        {"GPU": H100, "SELF_CHECK": STARTS + "kill -SEGV $$"}, r"(?s)for CUDA 13\.0\n.*the self-check of the GPU was ended by "
        r"signal 11 \(SEGV\) in: map, contiguous\b", False),
    "a self-check that hangs": (
        {"GPU": H100, "SELF_CHECK": STARTS + "sleep 60"}, r"(?s)for CUDA 13\.0\n.*the self-check of the GPU did not end within "
        r"1 seconds; it was in: map, contiguous\b", False),
    "a self-check that a kernel without memory ends": (
        {"GPU": H100, "SELF_CHECK": STARTS + "kill -KILL $$"}, r"the self-check of the GPU was ended by signal 9 \(KILL\) in: "
        r"map, contiguous\b", False),
    "a self-check that does not start": (
        {"GPU": H100, "SELF_CHECK": "echo 'libcublasLt.so.13: cannot open shared object file' >&2; exit 127"},
        r"the self-check of the GPU could not be started: libcublasLt\.so\.13: cannot open", False),
    "a build with CUDA that fails": (
        {"GPU": H100, "BUILD": "fails"}, r"(?s)nvcc: no such luck\n.*the build with CUDA failed", False),
}


class Machine:
    """A copy of scripts/ with stand-ins for external programs."""

    def __init__(self, folder):
        self.folder = folder
        self.demo = folder / "scripts" / "demo"
        shutil.copytree(common.ROOT / "scripts", folder / "scripts")
        (folder / "bin").mkdir()
        for name, script in STAND_INS.items():
            target = folder / ("bin" if name not in ("mnist", "self_check") else "") / name
            target.write_text(f"#!/bin/bash\n{script}\n")
            target.chmod(0o755)

    def run(self, device, *, anew=True, **state):
        """(exit status, output) of scripts/demo; anew: removes the files of an earlier run."""
        state = {"GPU": "", "DRIVER": "13.0", "SUMMARY": TOOLKIT, "SELF_CHECK": PASSES, "BUILD": "", **state}
        if anew:
            shutil.rmtree(self.folder / "build", ignore_errors=True)
        env = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "MACHINE": str(self.folder),
               "LOCUS_SELF_CHECK_SECONDS": "1", **{f"MACHINE_{name}": value for name, value in state.items()}}
        return common.run([self.demo, "--device", device, "--epochs", "3"], env=env)


def problem_of(machine, state, said, is_used):
    """How the reaction to a state differs from the expected one, or None."""
    status, output = machine.run("auto", **state)
    is_silent = state == {"SUMMARY": WITHOUT}
    expected = rf"trained with --device {'auto' if is_used else 'cpu'} --plot \S+ --epochs 3\n"
    if status or not re.search(expected, output) or bool(re.search(said, output)) == is_silent:
        return f"--device auto: status {status}; expected {expected!r} after {said!r}\n{output}"
    if not is_used and not is_silent and "Training on the CPU" not in output:
        return f"--device auto does not say that it trains on the CPU\n{output}"
    status, output = machine.run("cuda", **state)
    if (status == 0) != is_used or ("trained with" in output) != is_used or not re.search(said, output):
        return f"--device cuda: status {status}; expected {'0' if is_used else 'another one'} and {said!r}\n{output}"
    return None


def check_cpu(machine):
    """With --device cpu there is no message about GPUs, and no working toolkit is needed."""
    status, output = machine.run("cpu", GPU=H100, SELF_CHECK=FAILS, BUILD="fails")
    return None if status == 0 and "trained with --device cpu" in output and "GPU" not in output else output


def check_stubborn(machine):
    """A program that ignores SIGTERM at its time-out is ended by SIGKILL, and reported as timed out."""
    status, output = machine.run("auto", GPU=H100, SELF_CHECK=STARTS + "trap '' TERM; while :; do sleep 0.1; done")
    said = "did not end within 1 seconds; it was in: map, contiguous"
    return None if status == 0 and said in output and "trained with --device cpu" in output else output


def check_broken_toolkit(machine, state):
    """If nvcc cannot compile, the CPU trains; a second run reuses the configured folder."""
    configured = machine.folder / "configured"
    for anew in (True, False):
        configured.unlink(missing_ok=True)
        status, output = machine.run("auto", anew=anew, BUILD="fails", **state)
        if status or "trained with --device cpu" not in output:
            return f"status {status}\n{output}"
    return f"the second run configured {configured.read_text()}" if configured.exists() else None


def check_old_toolkit(machine):
    """With the installed Meson and a too old nvcc."""
    (machine.folder / "bin" / "meson").unlink()
    nvcc = machine.folder / "bin" / "nvcc"
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n")
    nvcc.chmod(0o755)
    for name in ("meson.build", "meson_options.txt", "cmake", "cuda_kernels", "compiled", "include", "examples", "tests",
                 "benchmarks"):
        (machine.folder / name).symlink_to(common.ROOT / name)
    status, output = machine.run("auto", GPU=H100)
    said = r"NVIDIA H100 is here, but CUDA toolkit 11\.8 is older than 12\.4: install CUDA toolkit 12\.4 or newer"
    return None if status == 0 and re.search(said, output) and "trained with --device cpu" in output else output


def check(report):
    with tempfile.TemporaryDirectory() as temporary:
        machine = Machine(pathlib.Path(temporary))
        for name, (state, said, is_used) in STATES.items():
            report.add(f"scripts/demo on {name}", problem_of(machine, state, said, is_used))
        report.add("scripts/demo --device cpu", check_cpu(machine))
        report.add("scripts/demo on a self-check that no signal but 9 ends", check_stubborn(machine))
        for name, state in {"a GPU": {"GPU": H100}, "an old driver": {"GPU": H100, "DRIVER": "12.8"}, "no GPU": {},
                            "a GPU that computes wrong": {"GPU": H100, "SELF_CHECK": FAILS}}.items():
            report.add(f"scripts/demo with a broken toolkit and {name}", check_broken_toolkit(machine, state))
        name = "scripts/demo with a toolkit that is too old"
        if shutil.which("meson"):
            report.add(name, check_old_toolkit(machine))
        else:
            report.skip(name, "needs Meson")


if __name__ == "__main__":
    common.main(check)
