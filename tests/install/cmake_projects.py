"""Locus in a user's CMake project: found where it was installed and moved to, and as a folder of sources."""

import re
import shutil
import tempfile

from commands import HERE, Failed, check_little_is_compiled, common, must, refused

VERSION = re.search(r"^  version: '(.*)',$", (common.ROOT / "meson.build").read_text(), re.M)[1]


def configure(folder, languages="CXX", **settings):
    """The command that configures the project in a build folder. Settings are CMake's variables."""
    return ["cmake", "-S", HERE / "cmake", "-B", folder, "-G", "Ninja", f"-DLANGUAGES={languages}",
            *(f"-D{name}={value}" for name, value in settings.items())]


def build(folder, *programs):
    """Builds these programs, or all."""
    must("cmake", "--build", folder, *(["--target", *programs] if programs else []))


def check_moved(scratch):
    """Moves the installation, whose files must not contain its old path, and builds a CMake project against it."""
    before, prefix = scratch / "prefix", scratch / "moved"
    shutil.copytree(before, prefix)
    files = sorted((prefix / "share" / "cmake" / "locus").iterdir())
    if [file.name for file in files] != ["locus-config-version.cmake", "locus-config.cmake", "locus-targets.cmake"]:
        raise Failed(f"share/cmake/locus holds {files}")
    for file in files:
        if str(scratch) in file.read_text():
            raise Failed(f"{file} names the folder that it was installed in")
    nvcc = common.find_nvcc()
    folder = scratch / "found"
    more = {"CMAKE_CUDA_COMPILER": nvcc, "CMAKE_CUDA_ARCHITECTURES": "90"} if nvcc else {}
    must(*configure(folder, "CXX;CUDA" if nvcc else "CXX", CMAKE_PREFIX_PATH=prefix, WANTED=VERSION, **more))
    build(folder)
    for program in ("main", *(("beside", "kernel") if nvcc else ())):
        must(folder / program)


def check_compiled(scratch):
    """With the compiled library, programs with and without Cuda tensors compile few templates, and each links its own
    library."""
    folder = scratch / "found"
    must(*configure(folder, CMAKE_PREFIX_PATH=scratch / "prefix", WANTED="COMPONENTS;compiled"))
    programs = ("train", *(("train_beside_cuda",) if common.find_nvcc() else ()))
    build(folder, *programs)
    for program in programs:
        check_little_is_compiled(next((folder / "CMakeFiles" / f"{program}.dir").rglob("train.cpp.o")))
        must(folder / program, scratch / "weights.safetensors")


def check_subdirectory(scratch):
    """From the sources, without an installation. CMake would find one in a folder beside, so none is there."""
    folder = scratch / "subdirectory"
    must(*configure(folder, SUBDIRECTORY=common.ROOT))
    build(folder)
    must(folder / "main")
    if common.find_nvcc():
        must(folder / "beside")


def check_refusals(prefix):
    """The messages of find_package for unavailable versions and components, and of CMake for Locus as a top-level
    project."""
    series = VERSION.rsplit(".", 1)[0]
    nothing = {"languages": "NONE"}
    cases = [
        (f"{series}.99", nothing, [f'requested version "{series}.99"', f"version: {VERSION}"]),
        ("7.1", nothing, ['requested version "7.1"', f"version: {VERSION}"]),
        ("0.0.1...<0.1", nothing, [f"version: {VERSION}"]),
        ("COMPONENTS;compiled", nothing, ["component compiled: Locus was installed in", "-Dcompiled=true"]),
        ("COMPONENTS;tensors", nothing, ["component tensors: unknown", "expected cuda or compiled"]),
        ("COMPONENTS;cuda", {"CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit": "ON"},
         ["component cuda: no CUDA toolkit", "-DCUDAToolkit_ROOT"]),
    ]
    for wanted, settings, texts in cases:
        with tempfile.TemporaryDirectory() as folder:
            said = " ".join(refused(*configure(folder, CMAKE_PREFIX_PATH=prefix, WANTED=wanted, **settings)).split())
        for text in texts:
            if text not in said:
                raise Failed(f"find_package(locus {wanted}) does not say '{text}': {said}")
    with tempfile.TemporaryDirectory() as folder:
        said = refused("cmake", "-S", common.ROOT, "-B", folder)
    if "add_subdirectory or FetchContent" not in " ".join(said.split()):
        raise Failed(f"CMake says of Locus as a project of its own: {said}")
