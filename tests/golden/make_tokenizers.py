#!/usr/bin/env python3
"""Writes tokenizers.json: small tokenizers of the Python package tokenizers, and the tokens that they give.

usage: make_tokenizers.py        (needs the package tokenizers; Unicode's letters up to version 14 alone, PCRE2's)
"""

import json
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
import whole_file  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
SAMPLE = ["The quick brown fox jumps over the lazy dog; it's the dog's own fault, they'll say, and we've said so before.",
          "for (int i = 0; i < 10; ++i) {\n    sum += values[i] * weights[i];\n}\n\n\treturn sum / 10;\n",
          "Größe, naïve façade, Ærøskøbing; le cœur a ses raisons que la raison ne connaît point.",
          "Съешь ещё этих мягких французских булок, да выпей же чаю. Съешь ещё булок.",
          "いろはにほへと ちりぬるを 我が世誰ぞ 常ならむ 有為の奥山 今日越えて", "天地玄黃 宇宙洪荒 日月盈昃 辰宿列張",
          "नमस्ते दुनिया, यह एक परीक्षण है।", "مرحبا بالعالم، هذا اختبار قصير.", "שלום עולם", "안녕하세요 세계, 이것은 시험입니다.",
          "1234567 3.14159 1,000,000 2026-11-30 x² ¼ ٣٤٥", "👩‍👩‍👧‍👦 👍🏽 ❤️ 🇩🇪 🙂🙂🙂"] * 3
TEXTS = [*SAMPLE[:12], "", " ", "\n", "a", "   leading and trailing   ", "tabs\t\tand\r\nlines\n\n\n  x", "a" * 200, "ab" * 150,
         "DON'T we'Re I'LL ſ'ſ K've", "\u00a0\u3000\u2028\u180e\u200b\x85\x0bx", "e\u0301 é A\u030a Å \u1112\u1161\u11ab 한 ﬁ",
         "\u0344\u0958\u2126 \u1e9b\u0323", "<|endoftext|>", "x<|endoftext|><|endoftext|> y", " <|endoftext| > <|end",
         "one <|x|> two<|x|>three  <|x|>", "user username user's a_user user", "\U0001F600\U00020000\U0010FFFF", "ÅÅ<|x|>é user"]
BROKEN = [b"\xff", b"a\xc3", b"\xe2\x82", b"\xe2\x82x", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80\xf0\x9f", b"\xed\xa0\x80z", b"\xc0\xaf",
          b"\xf4\x90\x80\x80", b"ab\x80cd\xfe\xfe", b"\xe0\x80\x80\xf8\x88"]


# Of the tokenizer of uncommon(): added tokens with blanks and letters, within words and within each other, characters
# that several scripts use, bytes without a token.
UNCOMMON = ["<｜begin▁of▁text｜>hello<fim prefix> world é<e>", "abb", "ab abc xb", "ababb abab ab", "字、x 字a、", "qzzq q z qq", "éa é"]


def uncommon():
    letters = [letter for letter in sorted(pre_tokenizers.ByteLevel.alphabet()) if letter not in "qz"]
    last, first = (pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)[0][0][at]
                   for text, at in (("字", -1), ("、", 0)))
    names = ["<unk>", "<｜begin▁of▁text｜>", "<fim prefix>", "é", *(letter for letter in letters if letter != "é"), last + first]
    tokenizer = Tokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=[(last, first)], unk_token="<unk>",
                                     fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"\p{Han}+|[^\p{Han}]+"), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(names[:4])
    tokenizer.add_tokens([AddedToken("ab", single_word=True), AddedToken("b"), AddedToken("abab", single_word=True)])
    return tokenizer


def trained(name):
    tokenizer = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    if name == "gpt2":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    elif name == "roberta":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    else:
        split = pre_tokenizers.Split(Regex(LLAMA3 if name == "llama3" else QWEN2), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=["<|endoftext|>"], show_progress=False, min_frequency=2,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(SAMPLE, trainer)
    end = tokenizer.token_to_id("<|endoftext|>")
    if name == "llama3":
        template = processors.TemplateProcessing(single="<|endoftext|> $A", pair="<|endoftext|> $A $B",
                                                 special_tokens=[("<|endoftext|>", end)])
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    if name == "roberta":
        tokenizer.post_processor = processors.RobertaProcessing(("<|endoftext|>", end), ("<|endoftext|>", end))
    if name == "qwen2":
        tokenizer.add_tokens([AddedToken("<|x|>", lstrip=True, rstrip=True, normalized=True),
                              AddedToken("user", single_word=True, normalized=False)])
    return tokenizer


def cases(tokenizer, texts):
    for given in texts:
        text = given.decode(errors="replace")
        tokens = tokenizer.encode(text).ids
        yield {"bytes": given.hex(), "tokens": tokens, "plain": tokenizer.encode(text, add_special_tokens=False).ids,
               "decoded": tokenizer.decode(tokens, skip_special_tokens=True)}


def main():
    found = {"sample": SAMPLE}
    for name in ("gpt2", "llama3", "qwen2", "roberta"):
        tokenizer = trained(name)
        texts = [*(text.encode() for text in TEXTS), *BROKEN]
        found[name] = {"file": json.loads(tokenizer.to_str()), "cases": list(cases(tokenizer, texts))}
    tokenizer = uncommon()
    found["uncommon"] = {"file": json.loads(tokenizer.to_str()), "cases": list(cases(tokenizer, [text.encode() for text in UNCOMMON]))}
    whole_file.write(HERE / "tokenizers.json", json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
