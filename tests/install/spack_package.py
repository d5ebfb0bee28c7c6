"""Reads the Spack package with a stand-in for Spack, which records its directives, and compares it with the project."""

import re
import sys
import types

from commands import Failed, common

DIRECTIVES = ("license", "version", "variant", "depends_on", "requires", "conflicts")


class Spec:
    """A concrete spec of these variants, such as {'zlib': True, 'cuda_arch': ('90',)}."""

    def __init__(self, values):
        self.values = values
        self.variants = {name: types.SimpleNamespace(value=value) for name, value in values.items()}

    def satisfies(self, words):
        if words == "cuda_arch=none":
            return not self.values.get("cuda_arch")
        if not re.fullmatch(r"[+~]\w+", words):
            raise Failed(f"the stand-in for Spack does not know the spec '{words}'")
        return bool(self.values.get(words[1:])) == (words[0] == "+")

    __contains__ = satisfies


def read(path):
    """(the class Locus, [(directive, arguments, keywords)]) of a package.py."""
    said = []

    def directive(name):
        return lambda *arguments, **keywords: said.append((name, arguments, keywords))

    modules = {name: types.ModuleType(name) for name in (
        "spack", "spack.package", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems",
        "spack_repo.builtin.build_systems.cuda", "spack_repo.builtin.build_systems.meson")}
    for name in DIRECTIVES:
        setattr(modules["spack.package"], name, directive(name))
    modules["spack_repo.builtin.build_systems.cuda"].CudaPackage = type("CudaPackage", (), {})
    modules["spack_repo.builtin.build_systems.meson"].MesonPackage = type("MesonPackage", (), {})
    sys.modules.update(modules)
    try:
        scope = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)
    finally:
        for name in modules:
            del sys.modules[name]
    return scope["Locus"], said


def arguments_of(package, values):
    """{option: value} that Meson gets."""
    made = package()
    made.spec = Spec(values)
    return dict(re.fullmatch(r"-D(\w+)=(.*)", argument).groups() for argument in made.meson_args())


def check(repo, version):
    if not re.search(r"^  namespace: \w+$", (repo / "repo.yaml").read_text(), re.M):
        raise Failed("repo.yaml names no namespace")
    package, said = read(repo / "packages" / "locus" / "package.py")
    if [arguments for name, arguments, _ in said if name == "version"] != [(version,)]:
        raise Failed(f"the package has other versions than {version}: {said}")
    variants = {arguments[0] for name, arguments, _ in said if name == "variant"} | {"cuda", "cuda_arch"}
    for name, arguments, keywords in said:
        for variant in re.findall(r"[+~](\w+)", f"{keywords.get('when', '')} {arguments[0] if name == 'conflicts' else ''}"):
            if variant not in variants:
                raise Failed(f"{name}{arguments} names the unknown variant {variant}")
    options = set(re.findall(r"^option\('(\w+)'", (common.ROOT / "meson_options.txt").read_text(), re.M))
    plain = arguments_of(package, {"zlib": True, "jpeg": True, "png": True})
    full = arguments_of(package, {"cuda": True, "cudnn": True, "compiled": True, "openblas": True, "cuda_arch": ("80", "90a")})
    if unknown := (set(plain) | set(full)) - options:
        raise Failed(f"the package sets options that Meson does not know: {unknown}")
    for found, wanted in (
        (plain, {"zlib": "enabled", "cuda": "disabled", "cudnn": "disabled", "compiled": "false", "blas": "none"}),
        (full, {"zlib": "disabled", "cuda": "enabled", "cudnn": "enabled", "compiled": "true", "blas": "openblas",
                "gpu_arch": "sm_80,sm_90a"}),
    ):
        if wrong := {name: found.get(name) for name, value in wanted.items() if found.get(name) != value}:
            raise Failed(f"the package sets {wrong}; expected {wanted}")
