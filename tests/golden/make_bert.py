#!/usr/bin/env python3
"""Writes bert.txt: logits and gradients of Hugging Face's BERT in float64, from weights computed by a formula.

usage: make_bert.py        (needs torch, torchvision and transformers; the tests need only its output)
"""

import pathlib

import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

import make_golden
from make_golden import keep
from make_gpt2 import fill
from make_models import gradients

if __name__ == "__main__":
    config = BertConfig(vocab_size=13, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
                        max_position_embeddings=8, num_labels=4, attn_implementation="eager")
    numbers = torch.arange(15)
    tokens = (numbers * numbers * 5 + 3 * numbers).reshape(3, 5) % 13
    kept = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    inputs = {"attention_mask": kept, "token_type_ids": (torch.arange(15) % 5 > 2).long().reshape(3, 5),
              "position_ids": torch.arange(2, 7)[None].expand(3, 5)}
    for name, head in ("bert_words", BertForMaskedLM), ("bert_classes", BertForSequenceClassification):
        model = fill(head(config).double().eval())
        keep(name + "_logits_of_tokens", model(tokens).logits)
        logits = keep(name + "_logits", model(tokens, **inputs).logits)
        gradients(name, model, logits.flatten(0, -2))
    config.hidden_act = "relu"
    keep("bert_relu_logits", fill(BertForMaskedLM(config).double().eval())(tokens).logits)
    make_golden.write(pathlib.Path(__file__).with_name("bert.txt"))
