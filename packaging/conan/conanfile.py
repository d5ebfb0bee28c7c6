"""The recipe of Locus for Conan 2. Conan runs Meson, which installs the files for CMake and pkg-config that every other
installation has: find_package(locus) and its targets are the same."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get, load
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain
from conan.tools.scm import Version

required_conan_version = ">=2.4"
OLDEST_COMPILERS = {"gcc": "12", "clang": "14"}
LIBRARIES = {
    "zlib": ("zlib", ">=1.2.11 <2"),
    "jpeg": ("libjpeg-turbo", ">=2 <4"),
    "png": ("libpng", ">=1.6 <2"),
    "openblas": ("openblas", ">=0.3.20 <1"),
}


class LocusConan(ConanFile):
    name = "locus"
    version = "@version@"
    description = "Tensors and neural networks whose device is part of their type"
    license = "Apache-2.0"
    topics = ("tensor", "neural-network", "autograd", "cuda", "header-only")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "zlib": [True, False],
        "jpeg": [True, False],
        "png": [True, False],
        "openblas": [True, False],
        "cuda": [True, False],
        "cudnn": [True, False],
        "compiled": [True, False],
    }
    default_options = {
        "zlib": True,
        "jpeg": True,
        "png": True,
        "openblas": False,
        "cuda": False,
        "cudnn": False,
        "compiled": False,
    }

    def configure(self):
        if not self.options.compiled:
            self.package_type = "header-library"
        if not self.options.cuda:
            del self.options.cudnn

    def layout(self):
        basic_layout(self, src_folder="src")

    def package_id(self):
        if not self.info.options.compiled:
            self.info.settings.clear()

    def requirements(self):
        for option, (package, versions) in LIBRARIES.items():
            if self.options.get_safe(option):
                self.requires(f"{package}/[{versions}]", transitive_headers=True, transitive_libs=True)

    def build_requirements(self):
        self.tool_requires("meson/[>=1.0.1 <2]")
        if not self.conf.get("tools.gnu:pkg_config", check_type=str):
            self.tool_requires("pkgconf/[>=1.8 <3]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"Locus needs Linux; the profile says {self.settings.os}")
        check_min_cppstd(self, 20)
        oldest = OLDEST_COMPILERS.get(str(self.settings.compiler))
        if oldest and Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(f"Locus needs {self.settings.compiler} {oldest} or newer; the profile says "
                                            f"{self.settings.compiler.version}")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        PkgConfigDeps(self).generate()
        toolchain = MesonToolchain(self)
        for name in ("zlib", "jpeg", "png", "cuda", "cudnn"):
            toolchain.project_options[name] = "enabled" if self.options.get_safe(name) else "disabled"
        toolchain.project_options["blas"] = "openblas" if self.options.openblas else "none"
        toolchain.project_options["compiled"] = bool(self.options.compiled)
        toolchain.project_options["native"] = False
        toolchain.project_options["openmp"] = "enabled"
        toolchain.project_options["lapack"] = "disabled"
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        Meson(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package has its own locus-config.cmake
        self.describe("locus")
        if self.options.cuda:
            self.describe("locus-cuda")

    def describe(self, module):
        """A component for a module of pkg-config, with the flags that Meson wrote into its file."""
        component = self.cpp_info.components[module]
        component.set_property("pkg_config_name", module)
        component.builddirs = [os.path.join("share", "cmake", "locus")]
        component.libdirs = ["lib"] if self.options.compiled else []
        component.requires = [f"{package}::{package}" for option, (package, _) in LIBRARIES.items()
                              if self.options.get_safe(option)]
        text = load(self, os.path.join(self.package_folder, "share", "pkgconfig", f"{module}.pc"))
        for flag in re.search(r"^Cflags: *(.*)$", text, re.MULTILINE)[1].split():
            if flag.startswith("-D"):
                component.defines.append(flag[2:])
            elif not flag.startswith("-I"):
                component.cxxflags.append(flag)
        for flag in re.search(r"^Libs: *(.*)$", text, re.MULTILINE)[1].split():
            if flag.startswith("-llocus"):
                component.libs.append(flag[2:])
            elif flag.startswith("-l"):
                component.system_libs.append(flag[2:])
            elif not flag.startswith("-L"):
                component.exelinkflags.append(flag)
