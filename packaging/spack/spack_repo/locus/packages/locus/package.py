# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Locus(MesonPackage, CudaPackage):
    """Tensors and neural networks whose device is part of their type: a header-only C++20 library with automatic
    differentiation and training, on CPUs and on GPUs by CUDA."""

    url = "@url@"

    license("Apache-2.0")

    version("@version@", sha256="@sha256@")

    variant("zlib", default=True, description="Compressed data sets (.gz)")
    variant("jpeg", default=True, description="JPEG images")
    variant("png", default=True, description="PNG images")
    variant("openblas", default=False, description="Large matrix products on the CPU by OpenBLAS")
    variant("cudnn", default=False, when="+cuda", description="Convolutions and attention on GPUs by cuDNN")
    variant("compiled", default=False, description="A library of the common types, for programs that then compile faster")

    depends_on("cxx", type="build")
    depends_on("meson@1.0.1:", type="build")
    depends_on("python@3:", type="build")
    depends_on("zlib-api", when="+zlib")
    depends_on("jpeg", when="+jpeg")
    depends_on("libpng", when="+png")
    depends_on("openblas", when="+openblas")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("cudnn@9:", when="+cudnn")

    requires("platform=linux", msg="Locus needs Linux")
    conflicts("%gcc@:11", msg="Locus needs g++ 12 or newer")
    conflicts("%clang@:13", msg="Locus needs clang 14 or newer")
    conflicts("+compiled cuda_arch=none", when="+cuda", msg="name the GPUs of the compiled library: cuda_arch=90")

    def meson_args(self):
        def word(variant, yes="enabled", no="disabled"):
            return yes if self.spec.satisfies("+" + variant) else no

        args = ["-Dnative=false", "-Dopenmp=enabled", "-Dlapack=disabled"]
        for name in ("zlib", "jpeg", "png", "cuda", "cudnn"):
            args.append("-D{0}={1}".format(name, word(name)))
        args.append("-Dblas=" + word("openblas", "openblas", "none"))
        args.append("-Dcompiled=" + word("compiled", "true", "false"))
        if "+cuda" in self.spec and "cuda_arch=none" not in self.spec:
            args.append("-Dgpu_arch=" + ",".join("sm_" + arch for arch in self.spec.variants["cuda_arch"].value))
        return args
