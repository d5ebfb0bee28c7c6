#!/usr/bin/env python3
"""Indexers can read the headers: Universal Ctags finds functions of each folder, as editors and code browsers do."""

import shutil

import common

# name: the header that declares it
KNOWN = {"matmul": "ops/matmul.hpp", "softmax": "ops/softmax.hpp", "conv2d": "ops/conv.hpp", "trace": "autograd/traced.hpp",
         "load_state_dict": "nn/state_dict.hpp", "cholesky": "linalg/cholesky.hpp", "clip_grad_norm_": "optim/clip.hpp",
         "loader": "data/loading/loader.hpp", "fit": "training/fit.hpp", "save_training": "io/training.hpp"}
KERNELS = {"map": "locus/cuda/map.cuh"}


def tags(folder):
    """{(name, header under the folder)}"""
    root = common.ROOT / folder
    status, text = common.run([shutil.which("ctags"), "-R", "--languages=C++", "--langmap=C++:+.cuh.hpp.inc", "-f", "-", "."],
                              cwd=root)
    if status:
        raise RuntimeError(text)
    return {(name, path.removeprefix("./")) for name, path, *_ in (line.split("\t") for line in text.splitlines())}


def check(report):
    if not shutil.which("ctags"):
        report.skip("tags", "Universal Ctags is not here: apt-get install universal-ctags")
        return
    for folder, wanted in (("include/locus", KNOWN), ("cuda_kernels", KERNELS)):
        found = tags(folder)
        missing = [f"{name} in {header}" for name, header in wanted.items() if (name, header) not in found]
        report.add(f"tags of {folder}", f"of {len(found)} tags, none is {', '.join(missing)}" if missing else None)


if __name__ == "__main__":
    common.main(check)
