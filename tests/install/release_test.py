#!/usr/bin/env python3
"""scripts/release: the archive is the same bytes each time, holds what a user needs, and is refused for wrong input; the
recipes of packaging/ agree with the version and with Meson's options."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

SCRIPT = common.ROOT / "scripts" / "release"
VERSION = re.search(r"^  version: '(.*)',$", (common.ROOT / "meson.build").read_text(), re.M)[1]
# The order in which `vcpkg format-manifest` writes members.
MANIFEST = ("name", "version", "port-version", "description", "homepage", "license", "supports", "dependencies",
            "default-features", "features")
DEPENDENCY = ("name", "host", "default-features", "features", "platform")


def release(out, *options, umask=0o022, **environment):
    """(status, output) of scripts/release of the files at hand."""
    done = subprocess.run([SCRIPT, "--allow-changes", "--out", out, *options], text=True, capture_output=True,
                          env={**os.environ, **environment}, umask=umask, check=False)
    return done.returncode, done.stdout + done.stderr


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Archive(cases.Scratch):
    def make(self, name="release", *options, **settings):
        status, said = release(self.root / name, *options, **settings)
        self.assertEqual(status, 0, said)
        self.assertEqual(said, f"{self.root / name / f'locus-{VERSION}.tar.gz'}\n")
        return self.root / name

    def test_two_runs_make_the_same_bytes(self):
        options = ("--url", "https://example.org/locus/")
        first = contents(self.make("first", *options))
        second = contents(self.make("second", *options, umask=0o077, TZ="Asia/Tokyo", LC_ALL="C"))
        self.assertEqual(first, second)
        self.assertEqual(contents(self.make("first", *options)), second)  # written over

    def test_archive_holds_the_library(self):
        out = self.make()
        with tarfile.open(out / f"locus-{VERSION}.tar.gz") as archive:
            names = archive.getnames()
            self.assertTrue(all(entry.isfile() and entry.mode == 0o644 and entry.uid == 0 for entry in archive))
        self.assertEqual(names, sorted(names, key=pathlib.PurePath))
        headers = [path.relative_to(common.ROOT) for path in common.sources("include", "cuda_kernels")]
        texts = ("LICENSE", "CHANGELOG.md", "README.md", "CMakeLists.txt", "meson.build", "meson_options.txt",
                 "cmake/locus-config.cmake.in", "cmake/meson.build", "compiled/locus.cpp", "cuda_kernels/meson.build")
        for path in (*headers, *texts):
            self.assertIn(f"locus-{VERSION}/{path}", names)
        for name in names:
            self.assertTrue((common.ROOT / name.partition("/")[2]).is_file(), name)

    def test_archive_names_no_operating_system(self):
        """Its head is the same with every Python: no name, no time, an unknown system."""
        head = (self.make() / f"locus-{VERSION}.tar.gz").read_bytes()[:10]
        self.assertEqual((head[3], head[4:8], head[9]), (0, bytes(4), 255))

    def test_checksums(self):
        out = self.make()
        subprocess.run(["sha256sum", "--check", "--status", "SHA256SUMS"], cwd=out, check=True)

    def test_recipes_name_version_and_sums(self):
        out = self.make("release", "--url", "https://example.org/locus")
        name = f"locus-{VERSION}.tar.gz"
        content = (out / name).read_bytes()
        sha256, url = hashlib.sha256(content).hexdigest(), f"https://example.org/locus/{name}"
        for recipe, texts in {
            "meson/locus.wrap": [f"directory = locus-{VERSION}\n", url, sha256],
            "conan/conanfile.py": [f'version = "{VERSION}"'],
            "conan/conandata.yml": [f'"{VERSION}":', url, sha256],
            "vcpkg/locus/vcpkg.json": [f'"version": "{VERSION}"'],
            "vcpkg/locus/portfile.cmake": [url, hashlib.sha512(content).hexdigest()],
            "spack/spack_repo/locus/packages/locus/package.py": [f'version("{VERSION}", sha256="{sha256}")', url],
            "debian/changelog": [f"locus ({VERSION}-1) "],
        }.items():
            for text in texts:
                self.assertIn(text, (out / recipe).read_text(), recipe)
        for path, text in contents(out).items():
            if path.suffix != ".gz":
                self.assertNotRegex(text.decode(), r"@[a-z0-9_]+@", path)

    def test_templates_name_no_version(self):
        """The version is written in one place."""
        for path in (common.ROOT / "packaging").rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                self.assertNotRegex(path.read_text(), rf"(?<![\w.@=]){re.escape(VERSION)}(?![\w.:])", path)

    def test_page_names_this_version(self):
        named = re.findall(r"locus[-/_](?:dev_)?(\d+\.\d+\.\d+)", (common.ROOT / "docs" / "packages.md").read_text())
        self.assertGreater(len(named), 5)
        self.assertEqual(set(named), {VERSION})

    def test_wrong_input_is_refused(self):
        for options, text in (
            (("9.9.9",), f"version 9.9.9 was asked for, and meson.build names {VERSION}"),
            (("--url", "example.org"), "--url is 'example.org'; expected an address"),
            (("--maintainer", "nobody"), "--maintainer is 'nobody'; expected 'NAME <ADDRESS>'"),
        ):
            status, said = release(self.root / "release", *options)
            self.assertEqual(status, 1)
            self.assertIn(text, said)
            self.assertFalse((self.root / "release").exists())

    def test_files_that_are_no_release_stay(self):
        kept = self.write("release/thesis.txt", "years of work")
        for further in ("", "SHA256SUMS"):  # sums of other files are no release
            if further:
                self.write(f"release/{further}", "")
            status, said = release(self.root / "release")
            self.assertEqual(status, 1)
            self.assertIn("has other files than a release, as thesis.txt", said)
            self.assertEqual(kept.read_text(), "years of work")
            self.assertEqual(os.listdir(self.root), ["release"])


class Recipes(cases.Scratch):
    def options(self):
        return set(re.findall(r"^option\('(\w+)'", (common.ROOT / "meson_options.txt").read_text(), re.M))

    def test_options_exist(self):
        """Each -D of a recipe is an option of the project."""
        known = self.options()
        for path, pattern in (("vcpkg/locus/portfile.cmake", r"-D(\w+)="), ("debian/rules", r"-D(\w+)="),
                              ("conan/conanfile.py", r'project_options\["(\w+)"\]')):
            named = re.findall(pattern, (common.ROOT / "packaging" / path).read_text())
            self.assertGreater(len(named), 3, path)
            self.assertLessEqual(set(named), known, path)

    def test_vcpkg_manifest_is_formatted(self):
        text = (common.ROOT / "packaging/vcpkg/locus/vcpkg.json").read_text()
        manifest = json.loads(text)
        self.assertEqual(text, json.dumps(manifest, indent=2) + "\n")
        self.assertEqual(list(manifest), [name for name in MANIFEST if name in manifest])
        self.assertEqual(list(manifest["features"]), sorted(manifest["features"]))
        self.assertEqual(manifest["default-features"], sorted(manifest["default-features"]))
        for owner in (manifest, *manifest["features"].values()):
            dependencies = [{"name": one} if isinstance(one, str) else one for one in owner.get("dependencies", [])]
            self.assertEqual([one["name"] for one in dependencies], sorted(one["name"] for one in dependencies))
            for one in owner.get("dependencies", []):
                if not isinstance(one, str):
                    self.assertEqual(list(one), [name for name in DEPENDENCY if name in one])
                    self.assertGreater(len(one), 1, f"{one} is written as a name alone")

    def test_vcpkg_features_are_used(self):
        manifest = json.loads((common.ROOT / "packaging/vcpkg/locus/vcpkg.json").read_text())
        port = (common.ROOT / "packaging/vcpkg/locus/portfile.cmake").read_text()
        for feature in manifest["features"]:
            self.assertRegex(port, rf'(ITEMS|")[^\n]*\b{feature}\b')


if __name__ == "__main__":
    common.main(cases.check)
