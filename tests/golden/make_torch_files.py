#!/usr/bin/env python3
"""Writes torch/: files as torch.save writes them, which tests/interop/torch_file_test.cpp reads. Needs torch."""

import collections
import pathlib
import tempfile
import zipfile

import torch

HERE = pathlib.Path(__file__).parent / "torch"
TYPES = ["float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64",
         "float8_e4m3fn"]


def tensors():
    x = torch.arange(24, dtype=torch.float32).reshape(4, 6) / 4
    state = {"x": x, "transposed": x.t(), "part": x[1:3, 2:5], "expanded": torch.ones(1).expand(3, 4), "scalar": torch.tensor(7),
             "empty": torch.zeros(0, 5), "parameter": torch.nn.Parameter(x[0].clone()), "bool": torch.tensor([True, False, True]),
             "deep": torch.zeros((1,) * 9)}
    for name in TYPES:
        state[name] = torch.tensor([1, 2, 3], dtype=torch.float32).to(getattr(torch, name))
    return state


def checkpoint():
    """As a training program saves it, of a model in DistributedDataParallel."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.125)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 5], gamma=0.5)
    model(torch.ones(4, 3) * torch.arange(4)[:, None]).sum().backward()
    optimizer.step()
    scheduler.step()
    state = collections.OrderedDict(("module." + name, value) for name, value in model.state_dict().items())
    return {"model": state, "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "epoch": 3, "best": 0.75,
            "rng": torch.arange(5, dtype=torch.uint8), "nothing": None, "done": False, "size": torch.Size([2, 3]),
            "type": torch.bfloat16, "device": torch.device("cuda", 1), "seed": 2**63 + 5, "below": -300, "huge": -(2**100),
            "bytes": b"\x00\xff", "names": {"a"}, "pair": ("ä", [1, 2**33])}


def main():
    HERE.mkdir(exist_ok=True)
    for old in (False, True):
        ending = "_old.pt" if old else ".pt"
        torch.save(tensors(), HERE / f"tensors{ending}", _use_new_zipfile_serialization=not old)
        torch.save(checkpoint(), HERE / f"checkpoint{ending}", _use_new_zipfile_serialization=not old)
    torch.save(torch.nn.Linear(1, 1), HERE / "module.pt")
    with tempfile.NamedTemporaryFile(suffix=".pt") as stored:  # PyTorch reads compressed archives, and writes none
        torch.save({"w": torch.arange(6, dtype=torch.float32).reshape(2, 3)}, stored.name)
        with zipfile.ZipFile(stored.name) as source, zipfile.ZipFile(HERE / "deflated.pt", "w", zipfile.ZIP_DEFLATED) as target:
            for name in source.namelist():
                target.writestr(name, source.read(name))


if __name__ == "__main__":
    main()
