#!/usr/bin/env python3
"""Writes attention.txt: attention as PyTorch computes it in float64.

usage: make_attention.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
import torch.nn.functional as F
from torch import nn

import make_golden
from make_golden import differentiate, keep, leaf


def dot_products():
    """4 queries and 5 keys; with the mask, one query attends to nothing."""
    marks = keep("attention_marks", torch.rand(4, 5) < 0.6)
    marks[3] = False
    numbers = keep("attention_numbers", torch.randn(2, 4, 5))
    left_out = keep("attention_left_out", torch.rand(2, 4, 5) < 0.3)
    left_out[1, 2] = True
    for name, options in {
        "plain": {},
        "causal": {"is_causal": True, "scale": 0.3},
        "marked": {"attn_mask": marks},
        "added": {"attn_mask": torch.where(left_out, float("-inf"), numbers)},
    }.items():
        q, k, v = (leaf(f"attention_{name}_{part}", 2, 2, *shape)
                   for part, shape in {"q": (4, 3), "k": (5, 3), "v": (5, 2)}.items())
        differentiate(f"attention_{name}", F.scaled_dot_product_attention(q, k, v, **options), q=q, k=k, v=v)


def layers():
    padding = keep("multihead_padding", torch.tensor([[False, False, True, False], [False, True, True, False]]))
    mask = keep("multihead_mask", torch.triu(torch.ones(4, 4, dtype=torch.bool), 1))
    each = keep("multihead_each", torch.randn(4, 3, 4))

    def layer(name, **options):
        module = nn.MultiheadAttention(4, 2, batch_first=True, **options)
        with torch.no_grad():
            for parameter, tensor in module.named_parameters():
                tensor.copy_(keep(f"{name}_{parameter}", 0.5 * torch.randn_like(tensor)))
        return module, dict(module.named_parameters())

    module, parameters = layer("multihead_self")
    x = leaf("multihead_x", 2, 4, 4)
    y, weights = module(x, x, x, key_padding_mask=padding, attn_mask=mask)
    differentiate("multihead_self", y, x=x, **parameters)
    keep("multihead_self_weights", weights)
    one = keep("multihead_one", torch.randn(4, 4))
    keep("multihead_self_one", module(one, one, one, need_weights=False)[0])

    for name, options in {"multihead_cross": {}, "multihead_wide": {"kdim": 3, "vdim": 5, "bias": False}}.items():
        module, parameters = layer(name, **options)
        query = leaf(f"{name}_query", 2, 3, 4)
        key, value = leaf(f"{name}_key", 2, 4, module.kdim), leaf(f"{name}_value", 2, 4, module.vdim)
        y, weights = module(query, key, value, attn_mask=each)
        differentiate(name, y, query=query, key=key, value=value, **parameters)
        keep(f"{name}_weights", weights)


if __name__ == "__main__":
    make_golden.numbers.clear()
    torch.manual_seed(41)
    dot_products()
    layers()
    make_golden.write(pathlib.Path(__file__).with_name("attention.txt"))
