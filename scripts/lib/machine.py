"""Describes this machine: GPUs, driver, processor, toolkit, Pythons and the shared libraries of CUDA.

usage: machine.py     names the GPUs; if none answers, says why, and exits with 77
"""

import glob
import json
import os
import pathlib
import re
import shutil
import struct
import sys

import processes

OF_CUDA = re.compile(r"lib(cublas|cublasLt|cudart)\.so\.\d+")
# Libraries that programs load at run time, and work without: cuDNN at the first convolution, NCCL in its test.
LOADED = ("libcudnn.so.9", "libnccl.so.2")
# Possible folders of the driver's library outside the loader's search path.
DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                  "/usr/lib/x86_64-linux-gnu/nvidia/current", "/run/opengl-driver/lib")
PYTHONS = ("/opt/*/bin/python3", "/venv/bin/python3", "/root/.pyenv/versions/*/bin/python3", "~/*conda*/bin/python3",
           "/usr/local/bin/python3*", "/usr/bin/python3*")
PACKAGES = ("/usr/lib/python3*/dist-packages", "/usr/local/lib/python3*/*-packages", "~/.local/lib/python3*/site-packages",
            "/opt/*/lib/python3*/site-packages")
FIND_PACKAGES = "import json, site, sys; print(json.dumps(sys.path + site.getsitepackages() + [site.getusersitepackages()]))"
ASK_DRIVER = """
import ctypes, json, sys
cuda = ctypes.CDLL(sys.argv[1])
version, count = ctypes.c_int(), ctypes.c_int()
status = cuda.cuInit(0) or cuda.cuDriverGetVersion(ctypes.byref(version)) or cuda.cuDeviceGetCount(ctypes.byref(count))
if status:
    sys.exit(f"the driver answers with error {status}")
gpus = []
for at in range(count.value):
    name, part = ctypes.create_string_buffer(256), ctypes.c_int()
    cuda.cuDeviceGetName(name, 256, at)
    parts = [cuda.cuDeviceGetAttribute(ctypes.byref(part), kind, at) or part.value for kind in (75, 76)]
    gpus.append({"name": name.value.decode(), "compute_cap": ".".join(map(str, parts))})
print(json.dumps({"cuda_of_driver": f"{version.value // 1000}.{version.value % 1000 // 10}", "gpus": gpus}))
"""


NEEDED, RPATH, RUNPATH = 1, 15, 29  # tags of dynamic entries


def elf_names(path, tags=(NEEDED,)):
    """The names that the dynamic section of a 64-bit ELF file has under these tags; [] for any other file."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    at, size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + size * index) for index in range(count)]
    for _, kind, _, _, start, length, link, *_ in sections:
        if kind == 6:  # SHT_DYNAMIC
            entries = struct.iter_unpack("<QQ", data[start:start + length])
            names = [sections[link][4] + value for tag, value in entries if tag in tags]
            return [data[name:data.index(b"\0", name)].decode() for name in names]
    return []


def cuda_needs(programs):
    """Names of the CUDA shared libraries that the programs need."""
    return sorted({name for program in programs for name in elf_names(program) if OF_CUDA.fullmatch(name)})


def loaded_by(program):
    """The libraries that a program loads at run time, rather than at its start."""
    text = program.read_bytes()
    return [name for name in LOADED if name.encode() in text and name not in elf_names(program)]


def folders_of(program):
    """The folders that the loader searches for a program's libraries before the system's folders."""
    def named(tag):
        return [folder.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", str(program.resolve().parent))
                for folders in elf_names(program, (tag,)) for folder in folders.split(":") if folder]
    told = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return told + named(RUNPATH) if named(RUNPATH) else named(RPATH) + told


def own_libraries(programs):
    """{name: path} of CUDA libraries that every program which needs them finds in its own folders."""
    found = {}
    for program in programs:
        for name in cuda_needs([program]):
            paths = [os.path.join(folder, name) for folder in folders_of(program)]
            found.setdefault(name, []).append(next(filter(is_library, paths), None))
    return {name: paths[0] for name, paths in found.items() if all(paths)}


def elf_kind(path):
    """Class, data encoding and machine of an ELF file; None for any other file."""
    with open(path, "rb") as file:
        head = file.read(20)
    return (head[4:6], head[18:20]) if head[:4] == b"\x7fELF" else None


def is_library(path):
    """Whether this process could load the file: for example, a 32-bit library does not qualify."""
    try:
        return elf_kind(path) == elf_kind("/proc/self/exe")
    except OSError:
        return False


def pythons(given=None):
    """Paths of the Pythons on this machine, the given one first."""
    named = [shutil.which(given) if given else None, sys.executable, shutil.which("python3")]
    found = [path for pattern in PYTHONS for path in sorted(glob.glob(os.path.expanduser(pattern)))
             if re.fullmatch(r"python3(\.\d+)?", os.path.basename(path))]
    return list(dict.fromkeys(path for path in named + found if path))


def python_with(module):
    """The first Python that has the module, or None."""
    ask = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    return next((python for python in pythons() if processes.run([python, "-c", ask], 30).status == 0), None)


def package_folders(pythons):
    """Package folders: first of these Pythons, then of others."""
    folders = []
    for python in pythons:
        try:
            folders += json.loads(processes.read([python, "-c", FIND_PACKAGES]) or "[]")
        except ValueError:
            pass
    for pattern in PACKAGES:
        folders += sorted(glob.glob(os.path.expanduser(pattern)))
    return list(dict.fromkeys(folder for folder in folders if folder and os.path.isdir(folder)))


def loader_folders():
    """The loader's search path."""
    cache = processes.read(["ldconfig", "-p"]) or processes.read(["/sbin/ldconfig", "-p"]) or ""
    named = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return list(dict.fromkeys(named + [os.path.dirname(path) for path in re.findall(r"=> (\S+)", cache)]))


def toolkit_folders():
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    homes += sorted(glob.glob("/usr/local/cuda*"), key=len) + ["/opt/cuda"]
    return [os.path.join(home, part) for home in homes for part in ("lib64", "lib", "targets/x86_64-linux/lib")]


def cuda_folders(given_python):
    """Yields (description, folders) of candidate folders for CUDA libraries, one kind at a time: each is searched for
    only on demand."""
    yield "where the loader looks", loader_folders()
    yield "in toolkits (CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda)", toolkit_folders()
    packages = package_folders(pythons(given_python))
    yield "in packages of Python (nvidia/*/lib, torch/lib)", [
        folder for package in packages for pattern in ("nvidia/*/lib", "torch/lib")
        for folder in sorted(glob.glob(os.path.join(package, pattern)))]


def find_libraries(names, folders):
    """({name: path}, [one line for each kind of folder that was searched])."""
    found, looked = {}, []
    for where, candidates in folders:
        missing = [name for name in names if name not in found]
        if not missing:
            break
        looked.append(f"{where}: {', '.join(candidates) or 'no such folder'}")
        for name in missing:
            paths = (os.path.join(folder, name) for folder in candidates)
            found.update({name: path for path in paths if name not in found and is_library(path)})
    return found, looked


def missing_libraries(missing, looked):
    return "\n    ".join([
        f"{', '.join(missing)}: not found. Programs that need it will not start. Looked", *looked,
        "To mend it: LD_LIBRARY_PATH=FOLDER with the folder that holds it, CUDA_HOME=FOLDER of a toolkit of the same major "
        "version, or --torch PYTHON of an environment that has it (pip install nvidia-cublas)"])


def library_environment(programs, python):
    """({"LD_LIBRARY_PATH": ...} for the programs, {library: path}, missing libraries or None). A library that the
    programs find by themselves is not searched for: otherwise a library other than the linked one might be measured."""
    own = own_libraries(programs)
    names = [name for name in cuda_needs(programs) if name not in own]
    elsewhere, looked = find_libraries(names, cuda_folders(python))
    missing = [name for name in names if name not in elsewhere]
    loaded = sorted({name for program in programs for name in loaded_by(program)})
    elsewhere.update(find_libraries(loaded, cuda_folders(python))[0])
    folders = [os.path.dirname(path) for path in elsewhere.values()]
    driver = driver_library()
    if driver and os.path.dirname(driver) in DRIVER_FOLDERS[:2]:
        folders.append(os.path.dirname(driver))
    told = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    environment = {"LD_LIBRARY_PATH": ":".join(dict.fromkeys(folders + told))} if folders else {}
    return environment, {**own, **elsewhere}, missing_libraries(missing, looked) if missing else None


def driver_library():
    found, _ = find_libraries(["libcuda.so.1"], [("", loader_folders()), ("", list(DRIVER_FOLDERS))])
    return found.get("libcuda.so.1")


def describe_gpus():
    """{"gpus": [...]} from nvidia-smi or from the driver itself; without a GPU, also {"no_gpu": reason}."""
    names = ("name", "driver_version", "compute_cap", "memory.total", "clocks.max.sm")
    answer = processes.read(["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader"]) or ""
    gpus = [dict(zip(names, (part.strip() for part in line.split(",")))) for line in answer.splitlines() if line.count(",") >= 4]
    driver = driver_library()
    if not driver:
        why = "there is no libcuda.so.1, the library of the driver"
        return {"gpus": gpus, **({"driver_problem": why} if gpus else {"no_gpu": f"nvidia-smi lists none, and {why}"})}
    done = processes.run([sys.executable, "-c", ASK_DRIVER, driver], timeout=60)
    if done.status != 0:
        why = (done.output.strip().splitlines() or [done.ending])[-1]
        return {"gpus": gpus, **({"driver_problem": why} if gpus else {"no_gpu": f"{driver}: {why}"})}
    told = json.loads(done.output)
    gpus = gpus or told["gpus"]
    return {"cuda_of_driver": told["cuda_of_driver"], "gpus": gpus, **({} if gpus else {"no_gpu": f"{driver} lists no GPU"})}


def processor_name():
    try:
        found = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    except OSError:
        return None
    return found.group(1) if found else None


def describe(root, nvcc):
    release = re.search(r"release (\S+?),", processes.read([nvcc, "--version"]) or "") if nvcc else None
    return {
        **describe_gpus(),
        "processor": processor_name(),
        "processors": os.cpu_count(),
        "toolkit": release.group(1) if release else None,
        "commit": processes.read(["git", "-C", root, "rev-parse", "HEAD"]),
        "modified": bool(processes.read(["git", "-C", root, "status", "--porcelain", "--untracked-files=no"])),
    }


def main():
    facts = describe_gpus()
    if "no_gpu" in facts:
        print(facts["no_gpu"])
        return 77
    print("\n".join(gpu["name"] for gpu in facts["gpus"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
