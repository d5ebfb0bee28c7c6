#!/usr/bin/env python3
"""scripts/data against a server on this machine: continued transfers, wrong sums, mirrors, no network; the classes of
Locus read the result. Takes about 15 seconds."""

import gzip
import hashlib
import http.server
import io
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

SCRIPT = common.ROOT / "scripts" / "data"
READER = """
#include <locus/data/sets/cifar.hpp>
#include <locus/data/sets/mnist.hpp>
#include <cstdio>
using namespace locus;
int main(int, char** argv) {
  const auto digits = data::Mnist::open(argv[1]);
  const auto images = data::cifar10(argv[2], data::Part::test, {.partial = true});
  std::printf("%d %d %d\\n", int(digits.train.size()), int(digits.test.size()), int(images.size()));
}
"""


def idx(extents, payload):
    header = bytes([0, 0, 8, len(extents)]) + b"".join(extent.to_bytes(4, "big") for extent in extents)
    return gzip.compress(header + payload, mtime=0)


def mnist_files():
    """A small MNIST: 50 images to train with, 10 to test with."""
    files = {}
    for part, count in (("train", 50), ("t10k", 10)):
        pixels = hashlib.shake_256(part.encode()).digest(count * 784)  # does not compress
        files[f"{part}-images-idx3-ubyte.gz"] = idx([count, 28, 28], pixels)
        files[f"{part}-labels-idx1-ubyte.gz"] = idx([count], bytes(i % 10 for i in range(count)))
    return files


def cifar_archive():
    """A small CIFAR-10: 3 images in each file."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            entry.size = 3 * 3073
            archive.addfile(entry, io.BytesIO(bytes(entry.size)))
    return {"cifar-10-binary.tar.gz": content.getvalue()}


class Handler(http.server.BaseHTTPRequestHandler):
    """Files with ranges, cut off after server.cuts[path] bytes once."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        content = self.server.files.get(self.path)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(asked[1]) if asked else 0
        self.server.requests.append((self.path, first))
        if content is None or first >= len(content):
            return self.send_error(404 if content is None else 416)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[first:][:self.server.cuts.pop(self.path, None)])

    def log_message(self, *_):
        pass


class Scene:
    """A server, a folder to download into, and the sums of the files."""

    def __init__(self, root, files):
        self.root, self.content = root, files
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.files = {f"/{folder}/{name}": data for folder in ("a", "b") for name, data in files.items()}
        self.server.cuts, self.server.requests = {}, []
        self.at = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.sums = root / "sums"
        self.sums.write_text("".join(f"{hashlib.md5(data).hexdigest()}  {name}\n" for name, data in files.items()))

    def run(self, name, folder, *, mirrors=("a",)):
        """(exit status, output, requests)"""
        self.server.requests.clear()
        at = " ".join(mirror if ":" in mirror else f"{self.at}/{mirror}" for mirror in mirrors)
        env = {"LOCUS_DATA_MIRRORS": at, "LOCUS_DATA_SUMS": str(self.sums), "no_proxy": "*"}
        return *common.run([SCRIPT, name, folder], env=env), list(self.server.requests)

    def differs(self, folder):
        """Files of the folder that are not those of the server; None if there is none."""
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        return None if found == self.content else f"{folder} holds {sorted(found)}"


def check_success(scene, folder):
    status, output, requests = scene.run("mnist", folder)
    if status or len(requests) != 4:
        return f"status {status}, {requests}\n{output}"
    again = scene.run("mnist", folder)
    return scene.differs(folder) or (f"a second run asked for {again[2]}\n{again[1]}" if again[0] or again[2] else None)


def check_cut(scene, folder):
    """A transfer that is cut off is continued, not begun anew; also by a later run."""
    path = "/a/train-images-idx3-ubyte.gz"
    scene.server.cuts[path] = 20_000
    status, output, requests = scene.run("mnist", folder)
    if status or [first for of, first in requests if of == path] != [0, 20_000]:
        return f"status {status}, {requests}\n{output}"
    name = "t10k-images-idx3-ubyte.gz"
    (folder / name).unlink()
    (folder / f"{name}.part").write_bytes(scene.content[name][:5000])
    status, output, requests = scene.run("mnist", folder)
    return scene.differs(folder) or (f"{requests}\n{output}" if status or requests != [(f"/a/{name}", 5000)] else None)


def check_wrong(scene, folder):
    """A file with a wrong sum is kept aside and named; the next mirror is asked, else the script fails."""
    name = "train-labels-idx1-ubyte.gz"
    good, scene.server.files[f"/a/{name}"] = scene.server.files[f"/a/{name}"], b"something else"
    try:
        status, output, _ = scene.run("mnist", folder)
        kept = folder / f"{name}.wrong"
        said = f"The MD5 sum of {name} is {hashlib.md5(b'something else').hexdigest()}; expected"
        if status != 1 or said not in output or f"could not download {name}" not in output or not kept.exists():
            return f"status {status}\n{output}"
        if (folder / name).exists() or (folder / f"{name}.part").exists():
            return "the wrong file has the name of the right one"
        status, output, _ = scene.run("mnist", folder, mirrors=("a", "b"))
        kept.unlink()
        return scene.differs(folder) or (output if status else None)
    finally:
        scene.server.files[f"/a/{name}"] = good


def check_damaged(scene, folder):
    """A complete file that was damaged later, and a part longer than the file, are replaced."""
    name = "t10k-labels-idx1-ubyte.gz"
    scene.run("mnist", folder)
    (folder / name).write_bytes(b"damaged")
    (folder / f"{name}.part").write_bytes(scene.content[name] + b"more")
    status, output, _ = scene.run("mnist", folder)
    (folder / f"{name}.wrong").unlink()
    return scene.differs(folder) or (output if status else None)


def check_unreachable(scene, folder):
    """Without a network: addresses, names and sums of the files, then copies by hand are taken."""
    closed = "http://127.0.0.1:9"
    status, output, _ = scene.run("mnist", folder, mirrors=(closed,))
    for name, data in scene.content.items():
        if f"{closed}/{name}" not in output or f"MD5 {hashlib.md5(data).hexdigest()}" not in output:
            return f"does not name {name}\n{output}"
    if status != 1 or f"Then run: scripts/data mnist {folder}" not in output:
        return f"status {status}\n{output}"
    for name, data in scene.content.items():
        (folder / name).write_bytes(data)
    status, output, _ = scene.run("mnist", folder, mirrors=(closed,))
    return output if status else None


def check_archive(scene, folder):
    """The archive is unpacked and removed; damaged or missing files are unpacked again."""
    for damage in (None, lambda of: (of / "test_batch.bin").write_bytes(b""), lambda of: (of / ".md5").unlink()):
        if damage:
            damage(folder / "cifar-10-batches-bin")
        status, output, requests = scene.run("cifar10", folder)
        if status or len(requests) != 1:
            return f"status {status}, {requests}\n{output}"
    shutil.rmtree(folder / "cifar-10-batches-bin.wrong")
    status, output, requests = scene.run("cifar10", folder)
    found = sorted(path.name for path in folder.iterdir())
    return output if status or requests or found != ["cifar-10-batches-bin"] else None


def check_usage():
    for arguments, said in (((), "no data set ''"), (("imagenet", "x"), "no data set 'imagenet'; expected mnist"),
                            (("mnist",), "expected a set and a folder")):
        status, output = common.run([SCRIPT, *arguments])
        if status != 1 or said not in output:
            return f"{arguments}: status {status}\n{output}"
    status, output = common.run([SCRIPT, "--help"])
    return None if status == 0 and output.startswith("usage: scripts/data SET FOLDER") else output


def check_reading(root, digits, images):
    """The classes read the folders."""
    (root / "reader.cpp").write_text(READER)
    compiler = common.find_compilers()["gcc"]
    status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-DLOCUS_ZLIB=1", "-o", root / "reader",
                                 root / "reader.cpp", "-lz", "-pthread"])
    if status == 0:
        status, output = common.run([root / "reader", digits, images])
    return None if output == "40 10 3\n" else output


def check(report):
    report.add("scripts/data: usage", check_usage())
    if not shutil.which("curl"):
        return report.skip("scripts/data", "needs curl")
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        for name in ("mnist", "cifar"):
            (root / name).mkdir()
        mnist, cifar = Scene(root / "mnist", mnist_files()), Scene(root / "cifar", cifar_archive())
        for case in (check_success, check_cut, check_wrong, check_damaged, check_unreachable):
            folder = mnist.root / case.__name__
            folder.mkdir()
            report.add(f"scripts/data: {case.__name__[6:]}", case(mnist, folder))
        (cifar.root / "images").mkdir()
        report.add("scripts/data: archive", check_archive(cifar, cifar.root / "images"))
        report.add("scripts/data: reading", check_reading(root, mnist.root / "check_success", cifar.root / "images"))


if __name__ == "__main__":
    common.main(check)
