#!/usr/bin/env python3
"""PyTorch's side of benchmarks/gpt2.py: the lines of cpu_gpt2.cpp. bfloat16 uses autocast. The network is GPT-2, with
torch's own attention and its fused optimizer."""

import torch
from torch import nn
from torch.nn import functional as F

from torch_lines import answer

CONTEXT, WIDTH, LAYERS, HEADS, TOKENS, DROPOUT = 64, 128, 3, 4, 256, 0.1


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU("tanh"), nn.Linear(4 * WIDTH, WIDTH))
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).split(WIDTH, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=DROPOUT if self.training else 0.0)
        x = x + self.drop(self.c_proj(y.transpose(1, 2).reshape(batch, length, WIDTH)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(TOKENS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.drop = nn.Dropout(DROPOUT)
        self.h = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.drop(self.wte(tokens) + self.wpe.weight[: tokens.shape[1]])
        return F.linear(self.ln_f(self.h(x)), self.wte.weight)


model = GPT2()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.002, weight_decay=0.1, fused=True)


def train(tokens, following, autocast):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


@torch.inference_mode()
def write(tokens, _, autocast):
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        return model(tokens)[0, -1].argmax().item()


def measure(clock, batch, steps, kind, work):
    tokens, following = (torch.randint(0, TOKENS, (int(batch), CONTEXT)) for _ in range(2))
    model.train(work == "training")
    run, best = train if work == "training" else write, float("inf")
    for i in range(int(steps) + 1):
        begin = clock()
        run(tokens, following, kind == "bfloat16")
        best = min(best, clock() - begin) if i > 0 else best
    return (1e3 * best,)


if __name__ == "__main__":
    answer(measure)
