#!/usr/bin/env python3
"""Locus as users integrate it: installed and found through pkg-config and CMake, and as a part of a Meson or CMake
project."""

import os
import pathlib
import shutil
import tempfile

import cmake_projects
from commands import HERE, Failed, check_little_is_compiled, common, must


def install(scratch, *options):
    """Installs into scratch/prefix and returns the environment with which pkg-config finds it."""
    must("meson", "setup", scratch / "build", common.ROOT, f"--prefix={scratch / 'prefix'}", "-Dtests=disabled",
         "-Dbenchmarks=disabled", "-Dexamples=disabled", "-Dcuda=" + ("enabled" if common.find_nvcc() else "disabled"),
         "--libdir=lib", *options)
    must("meson", "install", "-C", scratch / "build", "--quiet")
    return {"PKG_CONFIG_PATH": str(scratch / "prefix" / "share" / "pkgconfig")}


def check_tree(scratch):
    """Both include roots are merged, nothing else is installed, and the files equal the sources."""
    include = scratch / "prefix" / "include" / "locus"
    wanted = {path.relative_to(root / "locus"): path for root in (common.ROOT / "include", common.ROOT / "cuda_kernels")
              for path in common.sources("locus", root=root)}
    found = {path.relative_to(include) for path in include.rglob("*") if path.is_file()}
    if found != set(wanted):
        raise Failed(f"installed, or missing: {sorted(map(str, found ^ set(wanted)))}")
    for name, path in wanted.items():
        if (include / name).read_bytes() != path.read_bytes():
            raise Failed(f"{name} differs from its source")


def check_host(scratch, env):
    flags = must("pkg-config", "--cflags", "--libs", "locus", env=env).split()
    if any("march" in flag for flag in flags):
        raise Failed(f"locus.pc names an instruction set: {flags}")
    program = scratch / "host"
    must("g++", "-std=c++20", "-O1", HERE / "outside" / "main.cpp", "-o", program, *flags, env=env)
    must(program)


def check_nvcc(scratch, env):
    flags = must("pkg-config", "--cflags", "--libs", "locus-cuda", env=env).split()
    program = scratch / "device"
    must(common.find_nvcc(), "-std=c++20", "-arch=sm_90", HERE / "outside" / "kernel.cu", "-o", program, *flags, env=env)
    must(program)


def compile_training(compiler, module, env, scratch, *more):
    """Compiles the training program into an object; returns the object and its link flags."""
    flags = must("pkg-config", "--cflags", module, env=env).split()
    target = scratch / f"{module}.o"
    must(*compiler, "-std=c++20", "-O1", *flags, *more, "-c", HERE / "outside" / "train.cpp", "-o", target, env=env)
    return target, must("pkg-config", "--libs", module, env=env).split()


def check_compiled_host(scratch, env):
    target, libraries = compile_training(["g++"], "locus", env, scratch)
    check_little_is_compiled(target)
    must("g++", target, "-o", scratch / "train", *libraries)
    must(scratch / "train", scratch / "weights.safetensors")


def check_compiled_nvcc(scratch, env):
    nvcc = common.find_nvcc()
    target, libraries = compile_training([nvcc, "-x", "cu", "-arch=sm_90"], "locus-cuda", env, scratch)
    check_little_is_compiled(target)
    must(nvcc, target, "-o", scratch / "train_cuda", *libraries)
    must(scratch / "train_cuda", scratch / "weights.safetensors")


def check_other_instructions(scratch, env):
    """A program for another instruction set than the library's does not compile, and the error says why."""
    try:
        compile_training(["g++"], "locus", env, scratch, "-mavx2", "-mfma")
    except Failed as refused:
        if "the compiled library of Locus for cpu_only_generic" not in str(refused):
            raise
    else:
        raise Failed("a program compiled for AVX2 was given a library for every processor")


def check_level(scratch):
    """By default the library is for this processor, but names an instruction level that others share."""
    must("meson", "setup", scratch / "native", common.ROOT, "-Dcompiled=true", "-Dtests=disabled", "-Dexamples=disabled",
         "-Dbenchmarks=disabled", "-Dcuda=disabled")
    flags = (scratch / "native" / "meson-private" / "locus.pc").read_text()
    if "-march=native" in flags:
        raise Failed(f"locus.pc asks for the processor that happens to compile the program:\n{flags}")
    if "avx512" in flags.split("-DLOCUS_COMPILED=")[1].split()[0] and "-march=x86-64-v4" not in flags:
        raise Failed(f"locus.pc does not name the level of AVX-512:\n{flags}")


def check_unknown_gpu(scratch):
    """A GPU that the toolkit does not know is named in a message; CUDA is built for the requested architectures."""
    smi = scratch / "smi" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho 99.7\n")
    smi.chmod(0o755)
    said = must("meson", "setup", scratch / "unknown", common.ROOT, "-Dtests=disabled", "-Dexamples=disabled",
                "-Dbenchmarks=disabled", "-Dcuda=enabled", "-Dgpu_arch=sm_80,sm_90",
                env={"PATH": f"{smi.parent}:{os.environ['PATH']}"})
    if "knows no sm_997, the GPU found here" not in said or "(sm_80 sm_90)" not in said:
        raise Failed(f"of the GPU that the toolkit does not know, meson says\n{said}")


def check_subproject(scratch):
    project = scratch / "project"
    (project / "subprojects").mkdir(parents=True)
    shutil.copy(HERE / "subproject" / "meson.build", project)
    shutil.copy(HERE / "outside" / "main.cpp", project)
    (project / "subprojects" / "locus").symlink_to(common.ROOT)
    must("meson", "setup", project / "build", project, "-Dlocus:cuda=disabled")
    must("meson", "compile", "-C", project / "build")
    must(project / "build" / "main")


def check_all(report):
    scratch = pathlib.Path(tempfile.mkdtemp())
    env = {}

    def attempt(name, check, *arguments):
        try:
            env.update(check(*arguments) or {})
            report.ok(name)
        except Failed as problem:
            report.fail(name, problem)

    def attempt_cmake(name, check, *arguments):
        attempt(name, check, *arguments) if shutil.which("cmake") else report.skip(name, "no cmake here")

    try:
        attempt("meson install", install, scratch)
        attempt("installed tree", check_tree, scratch)
        attempt("outside program through pkg-config", check_host, scratch, env)
        if common.find_nvcc():
            attempt("outside .cu through pkg-config", check_nvcc, scratch, env)
            attempt("a GPU that the toolkit does not know", check_unknown_gpu, scratch)
        else:
            report.skip("outside .cu through pkg-config", "no nvcc here")
            report.skip("a GPU that the toolkit does not know", "no nvcc here")
        attempt("Meson subproject", check_subproject, scratch)
        attempt_cmake("find_package of an installation that was moved", cmake_projects.check_moved, scratch)
        attempt_cmake("find_package that finds no match", cmake_projects.check_refusals, scratch / "prefix")
        attempt_cmake("CMake's add_subdirectory", cmake_projects.check_subdirectory, scratch)
        compiled = scratch / "compiled"
        # Not optimized: finding and using the library does not depend on it, and the default takes longest.
        attempt("meson install with the compiled library", install, compiled, "-Dcompiled=true", "-Dnative=false",
                "-Doptimization=0")
        attempt("outside program with the compiled library", check_compiled_host, scratch, env)
        attempt_cmake("find_package of the compiled library", cmake_projects.check_compiled, compiled)
        attempt("level of instructions of the compiled library", check_level, scratch)
        attempt("outside program for other instructions than the library's", check_other_instructions, scratch, env)
        if common.find_nvcc():
            attempt("outside program with the library compiled by nvcc", check_compiled_nvcc, scratch, env)
        else:
            report.skip("outside program with the library compiled by nvcc", "no nvcc here")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    common.main(check_all)
