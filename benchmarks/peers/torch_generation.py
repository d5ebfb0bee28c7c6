#!/usr/bin/env python3
"""PyTorch's side of benchmarks/generation.py: the lines of cpu_generation.cpp, without reading, by Hugging Face's transformers with
torch's scaled_dot_product_attention and a static cache, in inference mode."""

import warnings

import torch
import transformers
from torch_lines import answer

warnings.filterwarnings("ignore", category=FutureWarning)  # the new name of an argument
PROMPT, MOST_GENERATED = 512, 64


def network(name, kind):
    common = {"attn_implementation": "sdpa"}
    if name == "gpt2":
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**common))
    else:
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4,
            tie_word_embeddings=True, **common))
    return model.to(getattr(torch, kind)).eval()


class Work:
    def __init__(self, name, kind):
        self.model = network(name, kind)
        self.prompt = torch.randint(0, 32000, (1, PROMPT))
        self.cache = transformers.StaticCache(config=self.model.config, max_cache_len=PROMPT + MOST_GENERATED)

    def step(self, tokens):
        logits = self.model(tokens, past_key_values=self.cache, use_cache=True, logits_to_keep=1).logits
        return logits[:, -1].argmax(-1, keepdim=True)

    @torch.inference_mode()
    def run(self, clock, tokens):
        """Milliseconds of the prompt, and of a token behind it."""
        self.cache.reset()
        begin = clock()
        token = self.step(self.prompt)
        after_prompt = clock()
        for _ in range(tokens):
            token = self.step(token)
        return 1e3 * (after_prompt - begin), 1e3 * (clock() - after_prompt) / tokens


def main():
    kept = {}

    def measure(clock, name, kind, tokens):
        if (name, kind) not in kept:
            kept[name, kind] = Work(name, kind)
        return kept[name, kind].run(clock, int(tokens))

    answer(measure)


if __name__ == "__main__":
    main()
