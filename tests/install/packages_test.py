#!/usr/bin/env python3
"""Each package, built from the archive of a release without a network, installs into an empty folder, and a program
outside compiles with it.

usage: packages_test.py [BUILD_FOLDER]     keeps Conan there, by default in build/
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import spack_package
from commands import HERE, Failed, common, must, refused

VERSION = re.search(r"^  version: '(.*)',$", (common.ROOT / "meson.build").read_text(), re.M)[1]
CONAN = "conan>=2.4,<3"
# Debug: a program of a test is compiled fastest without optimization. The libraries are the system's.
PROFILE = """[settings]
os=Linux
arch={machine}
compiler=gcc
compiler.version={gcc}
compiler.libcxx=libstdc++11
compiler.cppstd=20
build_type=Debug
[conf]
tools.gnu:pkg_config={pkg_config}
[platform_requires]
zlib/1.3
libjpeg-turbo/2.1
libpng/1.6.40
[platform_tool_requires]
meson/1.0.1
ninja/1.11
"""


class Skipped(Exception):
    pass


def needs(*commands):
    for command in commands:
        if not shutil.which(command):
            raise Skipped(f"no {command} here")


def check_old_compiler(scratch, release):
    """A compiler that is too old is named before its first error in a header."""
    include = common.ROOT / "include"
    said = refused("g++", "-std=c++20", "-U__GNUC__", "-D__GNUC__=11", "-fsyntax-only", "-I", include, "-x", "c++",
                   include / "locus" / "fwd.hpp")
    first = next(line for line in said.splitlines() if "error" in line)
    if "Locus needs g++ 12 or newer" not in first:
        raise Failed(f"the first error for g++ 11 is {first}")


def check_wrap(scratch, release):
    """A Meson project that has no Locus but its wrap file."""
    project = scratch / "wrapped"
    (project / "subprojects").mkdir(parents=True)
    for source in (HERE / "subproject" / "meson.build", HERE / "outside" / "main.cpp"):
        shutil.copy(source, project)
    shutil.copy(release / "meson" / "locus.wrap", project / "subprojects")
    must("meson", "setup", project / "build", project, "-Dlocus:cuda=disabled")
    must("meson", "compile", "-C", project / "build")
    must(project / "build" / "main")


def check_fetched(scratch, *settings):
    folder = scratch / f"fetched{len(list(scratch.glob('fetched*')))}"
    must("cmake", "-S", HERE / "fetch", "-B", folder, "-G", "Ninja", *settings)
    must("cmake", "--build", folder)
    must(folder / "main")


def check_fetch_archive(scratch, release):
    needs("cmake")
    archive = release / f"locus-{VERSION}.tar.gz"
    sha256 = (release / "SHA256SUMS").read_text().split()[0]
    check_fetched(scratch, f"-DARCHIVE={archive.as_uri()}", f"-DSHA256={sha256}")
    said = refused("cmake", "-S", HERE / "fetch", "-B", scratch / "other", f"-DARCHIVE={archive.as_uri()}",
                   f"-DSHA256={'0' * 64}")
    if "hash" not in said.lower():
        raise Failed(f"a damaged archive is not named: {said}")


def check_fetch_git(scratch, release):
    """The commit that is checked out."""
    needs("cmake", "git")
    if not (common.ROOT / ".git").exists():
        raise Skipped("this is no git repository")
    # The owner of a checkout in a container is often another user, whose repositories git would not read.
    commit = must("git", "-c", f"safe.directory={common.ROOT}", "-C", common.ROOT, "rev-parse", "HEAD").strip()
    clone = scratch / "clone.git"
    must("git", "-c", "safe.directory=*", "clone", "--quiet", "--bare", "--depth=1", common.ROOT.as_uri(), clone)
    check_fetched(scratch, f"-DREPOSITORY={clone.as_uri()}", f"-DCOMMIT={commit}")


def check_spack(scratch, release):
    """Spack is not in Debian or PyPI, so a stand-in reads the package."""
    spack_package.check(release / "spack" / "spack_repo" / "locus", VERSION)


def check_vcpkg(scratch, release):
    needs("cmake")
    installed = scratch / "vcpkg" / "x64-linux"
    must("cmake", f"-DPORT_DIR={release / 'vcpkg' / 'locus'}", f"-DDOWNLOADS={release}",
         f"-DCURRENT_PACKAGES_DIR={installed}", f"-DCURRENT_BUILDTREES_DIR={scratch / 'vcpkg' / 'buildtrees'}",
         "-DFEATURES=core;zlib;jpeg;png", "-P", HERE / "vcpkg" / "build_port.cmake")
    for name in ("usage", "copyright", "locus-targets.cmake"):
        if not (installed / "share" / "locus" / name).is_file():
            raise Failed(f"the port installs no share/locus/{name}")
    project = scratch / "with_vcpkg"
    must("cmake", "-S", HERE / "cmake", "-B", project, "-G", "Ninja", "-DLANGUAGES=CXX",
         f"-DCMAKE_PREFIX_PATH={installed}", "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON")
    must("cmake", "--build", project)
    must(project / "main")
    env = {"PKG_CONFIG_PATH": str(installed / "share" / "pkgconfig")}
    flags = must("pkg-config", "--cflags", "--libs", "locus", env=env)
    if f"-I{installed}" not in flags.replace("/share/pkgconfig/../..", ""):
        raise Failed(f"pkg-config does not find the headers of the port: {flags}")


def conan_command(folder):
    """Conan from PyPI in a virtual environment, which later runs find again."""
    conan = folder / "bin" / "conan"
    if conan.exists() and common.run([conan, "--version"])[0] == 0:
        return conan
    shutil.rmtree(folder, ignore_errors=True)
    status, said = common.run([sys.executable, "-m", "venv", folder])
    if status:
        raise Skipped(f"python3 -m venv failed: {said.strip().splitlines()[-1]}")
    status, said = common.run([folder / "bin" / "pip", "install", "--quiet", "--retries", "0", "--timeout", "15",
                               "--disable-pip-version-check", CONAN])
    if status:
        raise Skipped(f"pip cannot install {CONAN}: {said.strip().splitlines()[-1]}")
    return conan


def check_conan(scratch, release, venv):
    needs("cmake", "pkg-config")
    conan = conan_command(venv)
    gcc = must("g++", "-dumpversion").strip().split(".")[0]
    profile = scratch / "profile"
    machine = {"aarch64": "armv8"}.get(os.uname().machine, os.uname().machine)
    profile.write_text(PROFILE.format(machine=machine, gcc=gcc, pkg_config=shutil.which("pkg-config")))
    env = {"CONAN_HOME": str(scratch / "conan"), "CXX": "g++"}
    create = [conan, "create", release / "conan", "--profile:all", profile, "--no-remote", "--build=missing"]
    said = must(*create, env=env)
    if f"Locus {VERSION}: the gradient is right" not in said:
        raise Failed(f"the test package printed:\n{said}")
    for setting, words in (
        ("--settings=compiler.version=11", "Locus needs gcc 12 or newer; the profile says 11"),
        ("--options=&:tensors=True", "option 'tensors' doesn't exist"),
    ):
        said = " ".join(refused(*create, setting, env=env).split())
        if words not in said:
            raise Failed(f"conan create {setting} does not say '{words}': {said}")


def check_debian(scratch, release):
    """The package is installed into an empty root, found by pkg-config and CMake, and removed without a trace."""
    needs("dh", "fakeroot", "dpkg-deb")
    must("tar", "-xf", release / f"locus-{VERSION}.tar.gz", "-C", scratch)
    source = scratch / f"locus-{VERSION}"
    shutil.copytree(release / "debian", source / "debian")
    must("fakeroot", "debian/rules", "binary", cwd=source)
    package = scratch / f"liblocus-dev_{VERSION}-1_all.deb"
    root, admin = scratch / "root", scratch / "root" / "var" / "lib" / "dpkg"
    for folder in ("info", "updates"):
        (admin / folder).mkdir(parents=True)
    (admin / "status").touch()
    dpkg = ["fakeroot", "dpkg", f"--root={root}", "--log=/dev/null", "--force-depends", "--force-not-root"]
    must(*dpkg, "-i", package)
    env = {"PKG_CONFIG_PATH": str(root / "usr" / "share" / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    flags = must("pkg-config", "--cflags", "--libs", "locus", env=env).split()
    must("g++", "-std=c++20", HERE / "outside" / "main.cpp", "-o", scratch / "from_debian", *flags)
    must(scratch / "from_debian")
    if "-lcublasLt" not in must("pkg-config", "--libs", "locus-cuda", env=env):
        raise Failed("the package has no flags for nvcc")
    must("cmake", "-S", HERE / "cmake", "-B", scratch / "with_debian", "-DLANGUAGES=CXX",
         f"-DCMAKE_PREFIX_PATH={root / 'usr'}", f"-DWANTED={VERSION}", "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON")
    must(*dpkg, "--purge", "liblocus-dev")
    if left := [path for path in root.rglob("*") if path.is_file() and admin not in path.parents]:
        raise Failed(f"the removed package left {left}")


def check_lintian(scratch, release):
    needs("lintian")
    packages = list(scratch.glob("*.deb"))
    if not packages:
        raise Skipped("no package was built")
    # No bug of Debian asks for this package.
    must("lintian", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs", *packages)


def check_all(report):
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else common.ROOT / "build"
    scratch = pathlib.Path(tempfile.mkdtemp())
    release = scratch / "release"

    def attempt(name, check, *arguments):
        try:
            check(scratch, release, *arguments)
            report.ok(name)
        except Skipped as why:
            report.skip(name, why)
        except (Failed, subprocess.SubprocessError, OSError) as problem:
            report.fail(name, problem)

    try:
        must(common.ROOT / "scripts" / "release", "--allow-changes", "--out", release)
        attempt("compiler that is too old", check_old_compiler)
        attempt("Meson wrap", check_wrap)
        attempt("FetchContent of the archive", check_fetch_archive)
        attempt("FetchContent of the repository", check_fetch_git)
        attempt("Spack package", check_spack)
        attempt("vcpkg port", check_vcpkg)
        attempt("Conan recipe", check_conan, (build / "conan").resolve())
        attempt("Debian package", check_debian)
        attempt("lintian", check_lintian)
    except Failed as problem:
        report.fail("scripts/release", problem)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    common.main(check_all)
