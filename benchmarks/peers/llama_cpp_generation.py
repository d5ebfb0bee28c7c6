#!/usr/bin/env python3
"""llama.cpp's side of benchmarks/generation.py, by llama-cpp-python: the lines of cpu_generation.cpp, without reading. The models of
random weights are written as GGUF files, by the package gguf, into the folder that is the first argument."""

import pathlib
import sys
import time

import gguf
import llama_cpp
import numpy as np

PROMPT, MOST_GENERATED = 512, 64
GPT2 = {"layers": 12, "width": 768, "inner": 3072, "heads": 12, "vocabulary": 50257, "positions": 1024}
LLAMA = {"layers": 8, "width": 1024, "inner": 2816, "heads": 16, "kv_heads": 4, "vocabulary": 32000}


def write(path, name, kind):
    sizes, random = (GPT2 if name == "gpt2" else LLAMA), np.random.default_rng(0)
    stored = gguf.GGMLQuantizationType.F32 if kind == "float32" else gguf.GGMLQuantizationType.BF16
    width, inner, file = sizes["width"], sizes["inner"], gguf.GGUFWriter(path, name)
    file.add_tokenizer_model("no_vocab")
    file.add_vocab_size(sizes["vocabulary"])
    file.add_context_length(sizes.get("positions", 2048))
    file.add_embedding_length(width)
    file.add_feed_forward_length(inner)
    file.add_block_count(sizes["layers"])
    file.add_head_count(sizes["heads"])

    def weight(tensor, *shape):
        numbers = random.normal(0, 0.02, shape).astype(np.float32)
        file.add_tensor(tensor + ".weight", gguf.quants.quantize(numbers, stored), raw_dtype=stored)

    def vector(tensor, value, size):
        file.add_tensor(tensor, np.full(size, value, np.float32))

    weight("token_embd", sizes["vocabulary"], width)
    vector("output_norm.weight", 1, width)
    if name == "gpt2":
        write_gpt2(file, sizes, weight, vector, random)
    else:
        write_llama(file, sizes, weight, vector)
    for step in (file.write_header_to_file, file.write_kv_data_to_file, file.write_tensors_to_file, file.close):
        step()


def write_gpt2(file, sizes, weight, vector, random):
    width, inner = sizes["width"], sizes["inner"]
    file.add_layer_norm_eps(1e-5)
    file.add_tensor("position_embd.weight", random.normal(0, 0.02, (sizes["positions"], width)).astype(np.float32))
    vector("output_norm.bias", 0, width)
    for i in range(sizes["layers"]):
        for norm in ("attn_norm", "ffn_norm"):
            vector(f"blk.{i}.{norm}.weight", 1, width)
            vector(f"blk.{i}.{norm}.bias", 0, width)
        for layer, out, into in (("attn_qkv", 3 * width, width), ("attn_output", width, width), ("ffn_up", inner, width),
                                 ("ffn_down", width, inner)):
            weight(f"blk.{i}.{layer}", out, into)
            vector(f"blk.{i}.{layer}.bias", 0, out)


def write_llama(file, sizes, weight, vector):
    width, inner, head = sizes["width"], sizes["inner"], sizes["width"] // sizes["heads"]
    file.add_head_count_kv(sizes["kv_heads"])
    file.add_layer_norm_rms_eps(1e-6)
    file.add_rope_dimension_count(head)
    for i in range(sizes["layers"]):
        for norm in ("attn_norm", "ffn_norm"):
            vector(f"blk.{i}.{norm}.weight", 1, width)
        for layer, out, into in (("attn_q", width, width), ("attn_k", head * sizes["kv_heads"], width),
                                 ("attn_v", head * sizes["kv_heads"], width), ("attn_output", width, width),
                                 ("ffn_gate", inner, width), ("ffn_up", inner, width), ("ffn_down", width, inner)):
            weight(f"blk.{i}.{layer}", out, into)


class Work:
    def __init__(self, folder, name, kind):
        path = pathlib.Path(folder) / f"{name}-{kind}.gguf"
        if not path.exists():
            write(path, name, kind)
        self.model = llama_cpp.Llama(str(path), n_ctx=PROMPT + MOST_GENERATED, n_batch=PROMPT, n_ubatch=PROMPT, verbose=False)
        self.prompt = np.random.default_rng(1).integers(0, 32000, PROMPT).tolist()

    def step(self, tokens):
        self.model.eval(tokens)
        return int(np.argmax(np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.model.ctx, -1), (self.model.n_vocab(),))))

    def run(self, clock, threads, tokens):
        """Milliseconds of the prompt, and of a token behind it."""
        llama_cpp.llama_set_n_threads(self.model.ctx, threads, threads)
        self.model.reset()
        begin = clock()
        token = self.step(self.prompt)
        after_prompt = clock()
        for _ in range(tokens):
            token = self.step([token])
        return 1e3 * (after_prompt - begin), 1e3 * (clock() - after_prompt) / tokens


def main():
    kept = {}
    for line in sys.stdin:
        threads, clock, name, kind, tokens = line.split()
        if (name, kind) not in kept:
            kept[name, kind] = Work(sys.argv[1], name, kind)
        clock = time.process_time if clock == "processor" else time.perf_counter
        print(*(f"{each:.4f}" for each in kept[name, kind].run(clock, int(threads), int(tokens))), flush=True)


if __name__ == "__main__":
    main()
