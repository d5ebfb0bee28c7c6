#!/usr/bin/env python3
"""The example chat with small models of random weights, in folders as Hugging Face publishes them: it writes whole
characters, draws alike for equal seeds, goes on with a conversation, and names what a folder lacks.

usage: chat_test.py PROGRAM
"""

import json
import math
import pathlib
import random
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
WIDTH, INNER, LAYERS, HEADS, CONTEXT = 16, 32, 2, 2, 64
END = "<|end|>"
GPT2 = {"model_type": "gpt2", "n_positions": CONTEXT, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS}
QWEN = {"model_type": "qwen2", "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": 1, "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True}


def byte_letters():
    """The characters that stand for the bytes 0 to 255 in files of byte-level tokenizers."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


def tokenizer_file():
    letters = byte_letters()
    merges = [("t", "h"), ("th", "e"), (letters[32], "the")]
    names = [*letters, *("".join(pair) for pair in merges)]
    return {"added_tokens": [{"id": len(names), "content": END, "special": True}], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}, "post_processor": None,
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {name: i for i, name in enumerate(names)}, "merges": [list(pair) for pair in merges]}}


VOCABULARY = len(byte_letters()) + 4


def gpt2_shapes():
    shapes = {"wte.weight": (VOCABULARY, WIDTH), "wpe.weight": (CONTEXT, WIDTH), "ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)}
    for i in range(LAYERS):
        sizes = {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH), "mlp.c_fc": (WIDTH, 4 * WIDTH), "mlp.c_proj": (4 * WIDTH, WIDTH)}
        for name, (rows, columns) in sizes.items():
            shapes |= {f"h.{i}.{name}.weight": (rows, columns), f"h.{i}.{name}.bias": (columns,)}
        for name in ("ln_1", "ln_2"):
            shapes |= {f"h.{i}.{name}.weight": (WIDTH,), f"h.{i}.{name}.bias": (WIDTH,)}
    return shapes


def qwen_shapes():
    shapes = {"model.embed_tokens.weight": (VOCABULARY, WIDTH), "model.norm.weight": (WIDTH,)}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        for name, rows in (("q", WIDTH), ("k", WIDTH // HEADS), ("v", WIDTH // HEADS)):
            shapes |= {f"{layer}self_attn.{name}_proj.weight": (rows, WIDTH), f"{layer}self_attn.{name}_proj.bias": (rows,)}
        shapes |= {layer + "self_attn.o_proj.weight": (WIDTH, WIDTH), layer + "mlp.gate_proj.weight": (INNER, WIDTH),
                   layer + "mlp.up_proj.weight": (INNER, WIDTH), layer + "mlp.down_proj.weight": (WIDTH, INNER),
                   layer + "input_layernorm.weight": (WIDTH,), layer + "post_attention_layernorm.weight": (WIDTH,)}
    return shapes


def safetensors(shapes, seed):
    """A file of random float weights: https://github.com/huggingface/safetensors"""
    choose = random.Random(seed)
    header, data = {}, b""
    for name, shape in shapes.items():
        numbers = [choose.gauss(0, 0.4) for _ in range(math.prod(shape))]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(numbers)]}
        data += struct.pack(f"<{len(numbers)}f", *numbers)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Chat(cases.Scratch):
    def setUp(self):
        super().setUp()
        for name, config, shapes in (("gpt2", GPT2, gpt2_shapes()), ("qwen", QWEN, qwen_shapes())):
            folder = self.root / name
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(config | {"vocab_size": VOCABULARY, "eos_token_id": VOCABULARY - 1}))
            (folder / "tokenizer.json").write_text(json.dumps(tokenizer_file()))
            (folder / "model.safetensors").write_bytes(safetensors(shapes, 1))

    def run_it(self, name, *options, given="", status=0):
        """(stdout, stderr)"""
        done = subprocess.run([PROGRAM, self.root / name, "--device", "cpu", *map(str, options)], capture_output=True, timeout=120,
                              input=given.encode())
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()  # which is UTF-8

    def test_equal_seeds_draw_equal_text_and_greedy_text_needs_none(self):
        for name in ("gpt2", "qwen"):
            options = ("--prompt", "the cat", "--length", 40)
            first, said = self.run_it(name, *options, "--seed", 5)
            self.assertRegex(said, r"^\[5 tokens read, \d+ written, ")  # t-h-e, blank, c, a, t
            self.assertEqual(self.run_it(name, *options, "--seed", 5)[0], first)
            self.assertNotEqual(self.run_it(name, *options, "--seed", 6)[0], first)
            greedy = [self.run_it(name, *options, "--temperature", 0, "--seed", seed)[0] for seed in (5, 6)]
            self.assertEqual(*greedy)

    def test_a_conversation_goes_on_and_begins_anew_when_the_context_is_full(self):
        for name in ("gpt2", "qwen"):
            turns = self.run_it(name, "--length", 8, "--temperature", 0, given="the cat\nthe dog\n")
            self.assertEqual(turns[1].count("tokens read"), 2)
            # The second turn reads the last token of the first answer, and its own.
            first = self.run_it(name, "--length", 8, "--temperature", 0, "--prompt", "the cat\n")
            self.assertTrue(turns[0].startswith(first[0].rstrip("\n")))
            _, said = self.run_it(name, "--length", 40, "--temperature", 0, given="the cat\nthe dog and the cat and the bird\n")
            self.assertIn("context of 64 tokens is full; the conversation begins anew", said)

    def test_the_token_that_ends_an_answer_belongs_to_the_conversation(self):
        ends = self.root / "qwen" / "generation_config.json"
        ends.write_text(json.dumps({"eos_token_id": list(range(VOCABULARY))}))  # any token ends the answer
        _, said = self.run_it("qwen", given="the\nthe\n")
        self.assertEqual(said, "[2 tokens read, 0 written]\n[3 tokens read, 0 written]\n")
        _, said = self.run_it("qwen", "--after-answer", "\\n", given="the\nthe\n")
        self.assertEqual(said, "[2 tokens read, 0 written]\n[4 tokens read, 0 written]\n")

    def test_texts_and_types(self):
        whole, _ = self.run_it("gpt2", "--prompt", "the", "--length", 40, "--temperature", 0)
        stop = whole[4:6]
        self.assertEqual(self.run_it("gpt2", "--prompt", "the", "--length", 40, "--temperature", 0, "--stop", stop)[0],
                         whole[:whole.index(stop)] + "\n")
        self.run_it("qwen", "--prompt", "the", "--length", 4, "--type", "bfloat16")

    def test_what_a_folder_lacks_is_named(self):
        def refused(expected, *options, name="qwen", status=1):
            out, said = self.run_it(name, *options, status=status)
            self.assertEqual(out, "")
            self.assertIn(expected, said)

        refused("--turn", "--turn", "no place", status=2)
        refused("a text of", "--prompt", "the " * 70)
        config = self.root / "qwen" / "config.json"
        text = config.read_text()
        config.write_text(text.replace('"silu"', '"relu"'))
        refused('hidden_act is "relu"; expected "silu"')
        config.write_text(text.replace('"num_key_value_heads": 1', '"num_key_value_heads": 3'))
        refused("num_key_value_heads is 3; expected a number that divides")
        config.write_text(text.replace("qwen2", "mamba"))
        refused('model_type is "mamba"')
        config.unlink()
        refused("config.json")
        (self.root / "gpt2" / "tokenizer.json").unlink()
        refused("tokenizer.json", name="gpt2")


if __name__ == "__main__":
    common.main(cases.check)
