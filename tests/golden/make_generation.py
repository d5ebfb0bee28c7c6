#!/usr/bin/env python3
"""Writes generation.txt: distributions of the next token after the logits processors of transformers, in float64, and
the tokens that its generate() chooses with make_gpt2.py's model.

usage: make_generation.py        (needs torch and transformers; the tests need only its output)
"""

import pathlib

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.generation import logits_process

import make_golden
from make_gpt2 import fill
from make_golden import keep

# Name, options as of GenerateOptions.
CASES = {"plain": {}, "temperature": {"temperature": 0.6}, "top_k": {"top_k": 7}, "top_p": {"top_p": 0.7},
         "min_p": {"min_p": 0.2}, "penalty": {"repetition_penalty": 1.7},
         "all": {"repetition_penalty": 1.3, "temperature": 1.5, "top_k": 12, "top_p": 0.8, "min_p": 0.3}}


def processed(logits, previous, repetition_penalty=1, temperature=1, top_k=0, top_p=1, min_p=0):
    """The logits after the processors in the order of GenerationMixin._get_logits_processor."""
    steps = []
    if repetition_penalty != 1:
        steps.append(logits_process.RepetitionPenaltyLogitsProcessor(repetition_penalty))
    if temperature != 1:
        steps.append(logits_process.TemperatureLogitsWarper(temperature))
    if top_k:
        steps.append(logits_process.TopKLogitsWarper(top_k))
    if top_p != 1:
        steps.append(logits_process.TopPLogitsWarper(top_p))
    if min_p:
        steps.append(logits_process.MinPLogitsWarper(min_p))
    for step in steps:
        logits = step(previous, logits)
    return logits


if __name__ == "__main__":
    torch.manual_seed(0)
    logits = torch.randn(4, 30, dtype=torch.float64) * 2
    logits[1, 5:9] = logits[1].topk(7).values[-1]  # equal logits at the border of top_k
    previous = torch.randint(0, 30, (4, 9))
    keep("generation_logits", logits)
    keep("generation_previous", previous)
    for name, options in CASES.items():
        keep("generation_" + name, processed(logits, previous, **options).softmax(-1))

    config = GPT2Config(vocab_size=13, n_positions=8, n_embd=12, n_layer=2, n_head=3, bos_token_id=None, eos_token_id=None,
                        attn_implementation="eager")
    gpt2 = fill(GPT2LMHeadModel(config).double().eval())
    for name, options in {"greedy": {}, "greedy_penalty": {"repetition_penalty": 1.8}}.items():
        for length in 1, 2, 3:
            prompt = torch.arange(length)[None] + 4
            tokens = gpt2.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=5, do_sample=False,
                                   pad_token_id=0, **options)
            keep(f"generation_{name}_{length}", tokens[0, length:])
    make_golden.write(pathlib.Path(__file__).with_name("generation.txt"))
