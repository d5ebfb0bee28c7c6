#!/usr/bin/env python3
"""Llama, Mistral, Qwen2 and Qwen3 beside transformers: small models with random weights are saved by transformers, with
their config.json; Locus reads both and computes logits, a loss and gradients; transformers loads the folder that Locus
saved. Settings that Locus lacks are refused by their keys.

usage: llama_test.py        (needs torch, transformers and safetensors; without them it only compiles the program)
"""

import copy
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    from transformers.utils import logging
except ImportError as missing:
    torch = None
    why = f"needs torch, transformers and safetensors ({missing})"

SMALL = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 0,
         "initializer_range": 0.3}


def scaled(kind, **settings):
    """Settings of a rope_type, which turn by large angles within the few tokens of the test."""
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 300.0, **settings}}


LLAMA3 = scaled("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
# Name, model class, settings, tokens.
CASES = [
    ("Llama", "Llama", {}, 12),
    ("Llama, tied", "Llama", {"tie_word_embeddings": True}, 12),
    ("Llama, one head of keys, biases", "Llama", {"num_key_value_heads": 1, "attention_bias": True, "mlp_bias": True}, 12),
    ("Llama, own width of heads", "Llama", {"num_key_value_heads": 4, "head_dim": 6}, 12),
    ("Llama, llama3", "Llama", LLAMA3, 40),
    ("Llama, llama3, tied", "Llama", LLAMA3 | {"tie_word_embeddings": True}, 40),
    ("Llama, yarn", "Llama", scaled("yarn", factor=4.0, original_max_position_embeddings=16), 40),
    ("Llama, yarn, all settings", "Llama", scaled("yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=8, beta_slow=2,
                                                  mscale=0.7, mscale_all_dim=0.3, truncate=False), 40),
    ("Llama, yarn, attention_factor", "Llama", scaled("yarn", factor=2.0, original_max_position_embeddings=32,
                                                      attention_factor=1.3), 40),
    ("Llama, linear", "Llama", scaled("linear", factor=3.0), 20),
    ("Llama, dynamic, short", "Llama", scaled("dynamic", factor=2.0) | {"max_position_embeddings": 24}, 20),
    ("Llama, dynamic, long", "Llama", scaled("dynamic", factor=2.0) | {"max_position_embeddings": 16}, 40),
    ("Mistral", "Mistral", {"sliding_window": None}, 12),
    ("Mistral, window", "Mistral", {"sliding_window": 5}, 16),
    ("Mistral, window of the length", "Mistral", {"sliding_window": 16}, 16),
    ("Qwen2", "Qwen2", {}, 12),
    ("Qwen2, tied", "Qwen2", {"tie_word_embeddings": True, "num_hidden_layers": 3}, 12),
    ("Qwen2, window", "Qwen2", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}, 12),
    ("Qwen3", "Qwen3", {"head_dim": 16}, 12),
    ("Qwen3, tied, biases, yarn", "Qwen3", {"head_dim": 12, "tie_word_embeddings": True, "attention_bias": True}
     | scaled("yarn", factor=4.0, original_max_position_embeddings=16), 40),
]
# Changes of a config.json, and a word of the error.
REFUSED = [
    ({"model_type": "gemma"}, "model_type"), ({"hidden_act": "gelu"}, "hidden_act"),
    ({"quantization_config": {"bits": 4}}, "quantization_config"), ({"num_key_value_heads": 3}, "num_key_value_heads"),
    ({"head_dim": 7}, "head_dim"), ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
    ({"rope_parameters": {"rope_type": "longrope"}}, "rope_parameters.rope_type"),
    ({"rope_parameters": {"rope_type": "yarn", "factor": 2, "mrope_section": [2]}}, "rope_parameters.mrope_section"),
    ({"rope_parameters": {"rope_type": "linear"}}, "rope_parameters.factor"),
    ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]},
     "layer_types"),
    ({"vocab_size": 0}, "vocab_size"), ({"hidden_size": None}, "hidden_size"),
]


def expected_of(model, tokens):
    """Logits, and the loss and gradients of the next tokens."""
    with torch.no_grad():
        logits = copy.deepcopy(model)(tokens).logits  # a dynamic rope_type keeps the frequencies of its longest text
    loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    gradients = {"gradient " + name: p.grad for name, p in model.named_parameters()}
    return {"logits": logits, "loss": loss.detach()} | gradients


def errors(given, expected):
    """The largest absolute error of logits and the loss; the largest norm of an error of gradients, relative."""
    logits = max((given[name].double() - expected[name]).abs().max().item() for name in ("logits", "loss"))
    gradients = max(((given[name].double() - x).norm() / x.norm().clamp(min=1e-6)).item()
                    for name, x in expected.items() if name.startswith("gradient"))
    return logits, gradients


def compare(report, program, folder, case):
    name, kind, settings, length = case
    torch.manual_seed(len(name))
    config = getattr(transformers, kind + "Config")(**SMALL | settings, attn_implementation="eager")
    model = getattr(transformers, kind + "ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if parameter.dim() == 1:  # weights of norms other than 1, biases other than 0
                parameter += 0.3 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    tokens = torch.randint(0, SMALL["vocab_size"], (2, length))
    save_file({"tokens": tokens}, folder / "batch.safetensors")
    expected = expected_of(model.double(), tokens)
    state = model.state_dict()
    for element, allowed in (("double", 1e-5), ("float", 1e-4)):
        title = f"{name}, {element}"
        status, said = common.run([program, folder, element])
        if status or said:
            report.fail(title, said or f"status {status}")
            continue
        logits, gradients = errors(load_file(folder / "results.safetensors"), expected)
        print(f"{title:40} logits {logits:.1e}, gradients {gradients:.1e}", flush=True)
        report.add(f"{title}: logits", None if logits < allowed else f"off by {logits:.2g}, allowed {allowed:.2g}")
        report.add(f"{title}: gradients", None if gradients < allowed else f"off by {gradients:.2g}, allowed {allowed:.2g}")
    loaded, names = transformers.AutoModelForCausalLM.from_pretrained(folder / "ours", attn_implementation="eager", output_loading_info=True)
    differs = [key for key, x in loaded.state_dict().items() if not torch.equal(x, state[key].float())]
    lost = {key: sorted(found) for key, found in names.items() if found}
    report.add(f"{name}: transformers loads it", f"{differs} differ, {lost}" if differs or lost else None)
    with torch.no_grad():
        off = (loaded.double().eval()(tokens).logits - expected["logits"]).abs().max().item()
    report.add(f"{name}: transformers reads its config.json", None if off < 1e-5 else f"off by {off:.2g}")


def check_refusals(report, program, folder):
    transformers.LlamaConfig(**SMALL).save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for change, word in REFUSED:
        path.write_text(json.dumps(config | change))
        status, said = common.run([program, folder, "float"])
        fits = status == 1 and f"config.json: {word}" in said and ("expected" in said or "missing" in said)
        report.add(f"refused: {json.dumps(change)}", None if fits else f"status {status}: {said}")
        print(said.strip(), flush=True)


def check_all(report):
    compiler = common.find_compilers().get("gcc")
    if not compiler:
        return report.skip("llama", "g++ is not here")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "ours").mkdir()
        program = folder / "llama_of_files"
        rest = ["-O1", "-o", program, "-lz", "-pthread"] if torch else ["-fsyntax-only"]
        status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
                                     "-Werror", HERE / "llama_of_files.cpp", *rest])
        report.add("llama_of_files.cpp", output if status else None)
        if status:
            return None
        if not torch:
            return report.skip("llama", why)
        logging.set_verbosity_error(), logging.disable_progress_bar()
        for case in CASES:
            compare(report, program, folder, case)
        check_refusals(report, program, folder)
    return None


if __name__ == "__main__":
    common.main(check_all)
