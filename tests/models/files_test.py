#!/usr/bin/env python3
"""Files of torchvision and Hugging Face in Locus: ResNet-18, GPT-2 and BERT are saved in each form that people publish, Locus
reads the files, and its logits are compared with PyTorch's in double. Files that hold code are refused by name.

usage: files_test.py [--full]        (needs torch, torchvision, transformers and safetensors; without them it only
                                      compiles the program)

--full: GPT-2 with its 124 million weights too, files of 500 MB each.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402

try:
    import torch
    from safetensors.torch import load_file, save_file
    from torchvision.models import resnet18
    from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel
    from transformers.utils import logging
except ImportError as missing:
    torch = None
    why = f"needs torch, torchvision, transformers and safetensors ({missing})"

ALLOWED = 1e-4  # of logits, absolute; they are near 1
SMALL = {"vocab_size": 501, "n_positions": 64, "n_embd": 48, "n_layer": 3, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}


def error_of(logits, expected):
    return (logits.double() - expected).abs().max().item()


class Files:
    """A model whose files are read: the program, the input, and PyTorch's logits."""

    def __init__(self, report, program, folder, name, model, inputs, logits_of):
        self.report, self.program, self.folder, self.name = report, program, folder, name
        with torch.no_grad():
            own = logits_of(model, inputs)
            self.expected = logits_of(model.double(), inputs.double() if inputs.is_floating_point() else inputs)
        model.float()
        save_file({"input": inputs}, folder / "input.safetensors")
        print(f"{name + ', PyTorch in float':58} error {error_of(own, self.expected):.1e}, logits up to "
              f"{self.expected.abs().max().item():.1f}", flush=True)

    def read(self, form, path, *options):
        """Locus's logits with the weights of a file, compared with PyTorch's."""
        output = self.folder / "logits.safetensors"
        status, said = common.run([self.program, self.name, path, self.folder / "input.safetensors", output, *options])
        title = f"{self.name}, {form}"
        if status or said:
            return self.report.fail(title, said or f"status {status}")
        error = error_of(load_file(output)["logits"], self.expected)
        print(f"{title:58} error {error:.1e}", flush=True)
        self.report.add(title, None if error < ALLOWED else f"off by {error:.2g}, allowed {ALLOWED:.2g}")

    def read_both(self, form, path):
        self.read(form, path)
        self.read(f"{form}, mapped", path, "--mapped")

    def refuse(self, form, path, *words):
        """The program ends with an error that has the words."""
        status, said = common.run([self.program, self.name, path, self.folder / "input.safetensors",
                                   self.folder / "refused.safetensors"])
        absent = [word for word in words if word not in said]
        self.report.add(f"{self.name}, {form}", f"status {status}: {said}" if status != 1 or absent else None)
        print(f"{self.name}, {form}: {said.strip()}", flush=True)


def check_resnet(report, program, folder):
    torch.manual_seed(5)
    model = resnet18().eval()
    for layer in model.modules():  # statistics other than 0 and 1
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1), layer.running_var.uniform_(0.5, 1.5)
    files = Files(report, program, folder, "resnet18", model, torch.randn(2, 3, 96, 96), lambda model, x: model(x))

    torch.save(model.state_dict(), folder / "resnet18.pth")
    files.read_both("torch.save", folder / "resnet18.pth")
    torch.save(model.state_dict(), folder / "old.pth", _use_new_zipfile_serialization=False)
    files.read_both("torch.save, format before 1.6", folder / "old.pth")
    state = {f"module.{name}": tensor for name, tensor in model.state_dict().items()}
    torch.save({"epoch": 3, "state_dict": state, "optimizer": torch.optim.SGD(model.parameters(), 0.1).state_dict()},
               folder / "checkpoint.pt")
    files.read("checkpoint of DistributedDataParallel", folder / "checkpoint.pt")
    save_file(model.state_dict(), folder / "resnet18.safetensors")
    files.read_both("safetensors", folder / "resnet18.safetensors")

    torch.save(model, folder / "module.pt")
    files.refuse("whole module", folder / "module.pt", "torchvision.models.resnet.ResNet", "does not execute")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # files of this kind are still about
        torch.jit.trace(model, torch.randn(1, 3, 64, 64)).save(folder / "script.pt")
    files.refuse("TorchScript", folder / "script.pt", "torch.jit.save", "does not execute")


def as_published(state, positions):
    """A state as the file of gpt2: names without a prefix, the masks of attention, and no layer that shares its weight."""
    masks = {name.removeprefix("transformer.").replace("attn.c_attn.bias", "attn.bias"):
             torch.ones(positions, positions).tril()[None, None] for name in state if name.endswith("attn.c_attn.bias")}
    return {name.removeprefix("transformer."): x for name, x in state.items() if name != "lm_head.weight"} | masks


def save_in_parts(state, folder, count):
    """Several files of torch.save with an index, as Hugging Face's releases before safetensors; the index."""
    names, places = list(state), {}
    for i in range(count):
        part = f"pytorch_model-{i + 1:05}-of-{count:05}.bin"
        torch.save({name: state[name].clone() for name in names[i::count]}, folder / part)
        places |= dict.fromkeys(names[i::count], part)
    index = folder / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return index


def check_gpt2(report, program, folder, name, settings, shard_size):
    torch.manual_seed(6)
    model = GPT2LMHeadModel(GPT2Config(**settings)).eval()
    with torch.no_grad():  # biases other than 0, norms other than 1
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    tokens = torch.randint(model.config.vocab_size, (2, 32))
    files = Files(report, program, folder, name, model, tokens, lambda model, x: model(x).logits)

    torch.save(model.state_dict(), folder / "model.bin")
    files.read_both("torch.save", folder / "model.bin")
    torch.save(as_published(model.state_dict(), model.config.n_positions), folder / "model.bin",
               _use_new_zipfile_serialization=False)
    files.read("names as published, format before 1.6", folder / "model.bin")
    files.read("several files of torch.save", save_in_parts(model.state_dict(), folder, 3))
    model.save_pretrained(folder / "shards", max_shard_size=shard_size)
    index = folder / "shards" / "model.safetensors.index.json"
    files.read_both(f"save_pretrained, {len(set(json.loads(index.read_text())['weight_map'].values()))} files", index)
    return files, index


def check_back(files, index):
    """Files of Locus in from_pretrained: the logits are PyTorch's."""
    ours = files.folder / "ours"
    ours.mkdir()
    files.read("read, and saved by save_shards", index, "--save", ours / "model.safetensors")
    (ours / "config.json").write_text((index.parent / "config.json").read_text())
    loaded, found = GPT2LMHeadModel.from_pretrained(ours, output_loading_info=True)
    with torch.no_grad():
        error = error_of(loaded.eval()(load_file(files.folder / "input.safetensors")["input"]).logits, files.expected)
    problem = None if error < ALLOWED and not found["missing_keys"] and len(list(ours.glob("*-of-*"))) > 1 else (
        f"off by {error:.2g}; {found}; {sorted(ours.iterdir())}")
    files.report.add(f"{files.name}, from_pretrained of save_shards", problem)


def check_bert(report, program, folder):
    """Folders of random settings, in float and bfloat16, in one file and several; and a file of Locus."""
    for seed, heads in ((1, 2), (2, 5), (3, 12)):
        torch.manual_seed(seed)
        config = BertConfig(vocab_size=101 * seed, hidden_size=12 * heads, num_hidden_layers=seed, num_attention_heads=heads,
                            intermediate_size=17 * seed, max_position_embeddings=40, hidden_act="relu" if seed == 2 else "gelu")
        model = BertForMaskedLM(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_((parameter + 0.1 * torch.randn_like(parameter)).bfloat16())
        tokens = torch.randint(1, config.vocab_size, (3, 33))
        tokens[1, 20:] = 0
        files = Files(report, program, folder, "bert", model, tokens,
                      lambda model, x: model(x, attention_mask=(x != 0).long()).logits)
        for name, kind, size in (("one", torch.float32, "1GB"), ("half", torch.bfloat16, "1GB"), ("several", torch.float32, "20KB")):
            place = folder / f"{name}{seed}"
            model.to(kind).save_pretrained(place, max_shard_size=size)
            files.read(f"save_pretrained, {kind}, up to {size}", place, "--save", place / "back.safetensors")
        (place / "back.safetensors").rename(folder / f"one{seed}" / "model.safetensors")
        loaded, found = BertForMaskedLM.from_pretrained(folder / f"one{seed}", output_loading_info=True)
        with torch.no_grad():
            error = error_of(loaded.eval()(tokens, attention_mask=(tokens != 0).long()).logits, files.expected)
        report.add(f"bert, from_pretrained of bert_file_state, {seed}",
                   f"off by {error:.2g}; {found}" if error > ALLOWED or found["missing_keys"] or found["unexpected_keys"] else None)


def check(report, full):
    compiler = common.find_compilers().get("gcc")
    if not compiler:
        return report.skip("files", "g++ is not here")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "logits_of_file"
        rest = ["-O2", "-o", program, "-lz", "-pthread"] if torch else ["-fsyntax-only"]
        status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
                                     "-Werror", HERE / "logits_of_file.cpp", *rest])
        report.add("logits_of_file.cpp", output if status else None)
        if status:
            return None
        if not torch:
            return report.skip("files", why)
        logging.disable_progress_bar()
        check_resnet(report, program, folder)
        (folder / "small").mkdir()
        check_back(*check_gpt2(report, program, folder / "small", "gpt2-small", SMALL, "100KB"))
        (folder / "bert").mkdir()
        check_bert(report, program, folder / "bert")
        if full:
            (folder / "full").mkdir()
            check_gpt2(report, program, folder / "full", "gpt2", {}, "200MB")
    return None


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--full", action="store_true", help="GPT-2 with 124 million weights too")
    given = arguments.parse_args()
    common.main(lambda report: check(report, given.full))
