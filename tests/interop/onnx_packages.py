"""ONNX's own packages for tests: of this Python, or of an environment in the build folder, made when a test first needs
it."""

import fcntl
import importlib.util
import os
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["onnx==1.23.2", "onnxruntime==1.32.0", "numpy"]


def missing():
    return [name for name in ("onnx", "onnxruntime", "numpy") if importlib.util.find_spec(name) is None]


def restart_with_packages(root):
    """Starts this program again in the environment, if this Python lacks a package. Returns why there is none, or None."""
    if not missing():
        return None
    folder = pathlib.Path(root) / "build" / "onnx-packages"
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix) == folder:
        return f"{folder} lacks {', '.join(missing())}; remove the folder"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two tests may begin at once
        if not (folder / "complete").exists():
            try:
                venv.create(folder, with_pip=True, clear=True)
                subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
                               check=True, timeout=300, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except (OSError, subprocess.SubprocessError):
                return "needs onnx and onnxruntime: pip install onnx onnxruntime"
            (folder / "complete").touch()
    os.execv(python, [str(python), *sys.argv])
    return None
