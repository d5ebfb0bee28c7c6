#!/usr/bin/env python3
"""Locus as others meet it: installed and found through pkg-config, and as a subproject of a Meson project."""

import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402


class Failed(Exception):
    pass


def must(*command, **options):
    status, output = common.run(command, **options)
    if status:
        raise Failed(f"{' '.join(map(str, command))}\n{output}")
    return output


def install(scratch):
    """Installs into scratch/prefix and returns what pkg-config needs to find it."""
    must("meson", "setup", scratch / "build", common.ROOT, f"--prefix={scratch / 'prefix'}", "-Dtests=disabled",
         "-Dbenchmarks=disabled", "-Dexamples=disabled", "-Dcuda=" + ("enabled" if common.find_nvcc() else "disabled"))
    must("meson", "install", "-C", scratch / "build", "--quiet")
    return {"PKG_CONFIG_PATH": str(scratch / "prefix" / "share" / "pkgconfig")}


def check_tree(scratch):
    """Both include roots meet in one, nothing else is installed, and the files are the sources'."""
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

    try:
        attempt("meson install", install, scratch)
        attempt("installed tree", check_tree, scratch)
        attempt("outside program through pkg-config", check_host, scratch, env)
        if common.find_nvcc():
            attempt("outside .cu through pkg-config", check_nvcc, scratch, env)
        else:
            report.skip("outside .cu through pkg-config", "no nvcc here")
        attempt("Meson subproject", check_subproject, scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    common.main(check_all)
