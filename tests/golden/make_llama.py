#!/usr/bin/env python3
"""Writes llama.txt: rotary positions, attention with fewer heads of keys than of queries, and logits and gradients of
small models of Llama, Mistral, Qwen2 and Qwen3, by transformers and PyTorch in float64.

usage: make_llama.py        (needs torch, torchvision and transformers; the tests need only its output)
"""

import pathlib

import torch
import torch.nn.functional as F
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

import make_golden
from make_golden import differentiate, keep, leaf
from make_gpt2 import fill
from make_models import gradients

# The settings of tests/models/llama_test.cpp and tests/ops/attention_test.cpp.
SCALINGS = {
    "default": {},
    "linear": {"factor": 3.0},
    "dynamic": {"factor": 2.0},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 64},
    "yarn_exact": {"factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 8, "beta_slow": 2, "mscale": 0.7,
                   "mscale_all_dim": 0.3, "truncate": False},
}
SMALL = {"vocab_size": 13, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 16}
MODELS = {
    "llama": ("Llama", {"tie_word_embeddings": True, "pad_token_id": -13, "rope_parameters": {
        "rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8}}),
    "mistral": ("Mistral", {"sliding_window": 3, "pad_token_id": 10}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 6, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 100.0, "factor": 2.0, "original_max_position_embeddings": 8}}),
}


def frequencies():
    for name, settings in SCALINGS.items():
        kind = name.partition("_")[0]
        config = transformers.LlamaConfig(hidden_size=64, num_attention_heads=4, max_position_embeddings=128, rope_parameters={
            "rope_type": kind, "rope_theta": 500.0, **settings})
        if kind == "default":
            values, scale = LlamaRotaryEmbedding.compute_default_rope_parameters(config)
        else:
            values, scale = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=300)
        keep(f"rotary_frequencies_{name}", values.double())
        keep(f"rotary_scale_{name}", torch.tensor(float(scale)))


def operations():
    x = leaf("rotary_x", 2, 3, 4, 6)
    angles = keep("rotary_angles", 3 * torch.randn(4, 3))
    both = torch.cat((angles, angles), -1)
    differentiate("rotary", apply_rotary_pos_emb(x, x, both.cos()[None], both.sin()[None])[0], x=x)

    marks = keep("grouped_marks", torch.rand(2, 6, 4, 5) < 0.7)
    for name, options in {"grouped": {"is_causal": True}, "grouped_marked": {"attn_mask": marks}}.items():
        q, k, v = leaf(name + "_q", 2, 6, 4, 3), leaf(name + "_k", 2, 2, 5, 3), leaf(name + "_v", 2, 2, 5, 2)
        differentiate(name, F.scaled_dot_product_attention(q, k, v, enable_gqa=True, **options), q=q, k=k, v=v)


def models():
    numbers = torch.arange(16)
    tokens = (numbers * numbers * 5 + 3 * numbers).reshape(2, 8) % 13
    for name, (kind, settings) in MODELS.items():
        config = getattr(transformers, kind + "Config")(**SMALL | settings, attn_implementation="eager")
        model = fill(getattr(transformers, kind + "ForCausalLM")(config).double().eval())
        logits = keep(f"{name}_logits", model(tokens).logits)
        gradients(name, model, logits.flatten(0, 1))
        keep(f"{name}_parameters", torch.tensor(len(list(model.named_parameters()))))


if __name__ == "__main__":
    make_golden.numbers.clear()
    torch.manual_seed(46)
    frequencies()
    operations()
    models()
    make_golden.write(pathlib.Path(__file__).with_name("llama.txt"))
