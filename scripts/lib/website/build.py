"""The environment with MkDocs, and its call."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import venv

import explorer

from . import ROOT

REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


class Trouble(Exception):
    """A message for the caller of scripts/site."""


def environment(folder):
    """The Python of a virtual environment with the required versions, installed unless they are there."""
    folder = pathlib.Path(folder)
    python, record = folder / "bin" / "python", folder / "requirements.txt"
    if python.exists() and record.exists() and record.read_bytes() == REQUIREMENTS.read_bytes():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Trouble(f"no virtual environment in {folder}: {error}; on Debian: apt-get install python3-venv")
    done = subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps", "--no-compile",
                           "--only-binary", ":all:", "--requirement", REQUIREMENTS], capture_output=True, text=True)
    if done.returncode:
        raise Trouble(f"pip could not install MkDocs:\n{done.stderr.strip()}")
    shutil.copyfile(REQUIREMENTS, record)
    return python


def is_replaceable(out):
    """Whether a folder is empty or a site, and no repository of a site (.git), which would be lost."""
    names = [path.name for path in out.iterdir()]
    return not names or (out / "search" / "search_index.json").exists() and not any(name.startswith(".") for name in names)


def build(python, out, address=None):
    """Builds the site beside the folder `out`, then puts it there: readers find the old site or the new one. Warnings, such as
    links that lead nowhere, are errors. For an address, which will serve the folder, the site also has the single headers
    and links for Compiler Explorer. raises Trouble, also for a folder of other files"""
    if out.exists() and not (out.is_dir() and is_replaceable(out)):
        raise Trouble(f"--out {out} holds other files than a site, which would be lost; name an empty or a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".site-") as scratch:
        made = pathlib.Path(scratch) / "site"
        command = [python, "-m", "mkdocs", "--quiet", "build", "--strict", "--config-file", ROOT / "mkdocs.yml", "--site-dir", made]
        of_address = {"LOCUS_SITE_HEADERS": f"{address}/single"} if address else {}
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "NO_COLOR": "1", **of_address})
        if done.returncode:
            raise Trouble(f"the site was not built:\n{done.stdout.strip()}")
        if address:
            explorer.write_headers(made / "single")
        if out.exists():
            out.rename(pathlib.Path(scratch) / "old")
        made.rename(out)
