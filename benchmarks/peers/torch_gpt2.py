#!/usr/bin/env python3
"""PyTorch's side of benchmarks/gpt2.py: the lines of cpu_gpt2.cpp. bfloat16 uses autocast. The network is GPT-2, with
torch's own attention and its fused optimizer."""

import dataclasses

import torch
from torch import nn
from torch.nn import functional as F

from torch_lines import answer


@dataclasses.dataclass(frozen=True)
class Sizes:
    context: int
    width: int
    layers: int
    heads: int
    tokens: int
    dropout: float


SMALL = Sizes(context=64, width=128, layers=3, heads=4, tokens=256, dropout=0.1)


class Block(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes.width
        self.sizes = sizes
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(sizes.dropout)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.c_attn(self.ln_1(x)).split(width, 2)
        q, k, v = (part.view(batch, length, self.sizes.heads, -1).transpose(1, 2) for part in parts)
        dropout = self.sizes.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        x = x + self.drop(self.c_proj(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class GPT2(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(sizes.tokens, sizes.width), nn.Embedding(sizes.context, sizes.width)
        self.drop = nn.Dropout(sizes.dropout)
        self.h = nn.Sequential(*(Block(sizes) for _ in range(sizes.layers)))
        self.ln_f = nn.LayerNorm(sizes.width)

    def forward(self, tokens):
        x = self.drop(self.wte(tokens) + self.wpe.weight[: tokens.shape[1]])
        return F.linear(self.ln_f(self.h(x)), self.wte.weight)


def train(model, optimizer, tokens, following, autocast):
    """A step. autocast: whether in bfloat16"""
    optimizer.zero_grad()
    with torch.autocast(tokens.device.type, torch.bfloat16, enabled=autocast):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


@torch.inference_mode()
def write(model, tokens, autocast):
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        return model(tokens)[0, -1].argmax().item()


def main():
    model = GPT2(SMALL)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.002, weight_decay=0.1, fused=True)

    def measure(clock, batch, steps, kind, work):
        tokens, following = (torch.randint(0, SMALL.tokens, (int(batch), SMALL.context)) for _ in range(2))
        model.train(work == "training")
        best = float("inf")
        for i in range(int(steps) + 1):
            begin = clock()
            if work == "training":
                train(model, optimizer, tokens, following, kind == "bfloat16")
            else:
                write(model, tokens, kind == "bfloat16")
            best = min(best, clock() - begin) if i > 0 else best
        return (1e3 * best,)

    answer(measure)


if __name__ == "__main__":
    main()
