#!/usr/bin/env python3
"""Writes gpt2.txt: logits and gradients of Hugging Face's GPT-2 in float64, from weights computed by a formula, and the
shapes of its parameters.

usage: make_gpt2.py        (needs torch, torchvision and transformers; the tests need only its output)
"""

import pathlib

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import make_golden
from make_golden import keep
from make_models import gradients, numbers_of


def fill(model):
    """As make_models.fill, but a shared tensor has one name, not the two of a state dict."""
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if tensor.dim() > 1:
                tensor.copy_(numbers_of(name, tensor.shape, 2.0 ** -((tensor[0].numel().bit_length() - 2) // 2)))
            else:
                tensor.copy_(numbers_of(name, tensor.shape, 0.25, 0.5 if name.endswith("weight") else 0.0))
    return model


if __name__ == "__main__":
    config = GPT2Config(vocab_size=13, n_positions=8, n_embd=12, n_layer=2, n_head=3, bos_token_id=0, eos_token_id=0,
                        attn_implementation="eager")
    gpt2 = fill(GPT2LMHeadModel(config).double().eval())
    numbers = torch.arange(15)
    logits = keep("gpt2_logits", gpt2((numbers * numbers * 5 + 3 * numbers).reshape(3, 5) % 13).logits)
    gradients("gpt2", gpt2, logits.flatten(0, 1))
    for name, tensor in gpt2.named_parameters():
        keep("gpt2_shape_" + name, torch.tensor(tensor.shape))
    keep("gpt2_parameters", torch.tensor(len(list(gpt2.named_parameters()))))
    make_golden.write(pathlib.Path(__file__).with_name("gpt2.txt"))
