"""The package tokenizers in turns with cpu_tokenizer.cpp. Writes texts and tokenizers into a folder, then answers lines.

    package_tokenizers.py FOLDER MEGABYTES

FOLDER gets text.txt, in many scripts, broken.txt, the same with bytes that are not UTF-8, and gpt2.json, llama3.json and
qwen2.json, tokenizers that are trained on the text with the patterns and normalizers of these models. A line is

    encode CLOCK NAME TEXT    the milliseconds of NAME.json on TEXT.txt; FOLDER/theirs has the tokens
    train CLOCK NAME TEXT     the milliseconds of training; theirs.json is the tokenizer
"""

import array
import os
import pathlib
import random
import sys
import time
import unicodedata

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}

from babel import Locale, UnknownLocaleError, localedata  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

VOCABULARY = 20_000
END = "<|endoftext|>"
LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA.replace(r"\p{N}{1,3}", r"\p{N}")
SPACES = [" ", "  ", "\n", "\n\n", "\r\n", "\t", "   \n ", "\u00a0", "\u3000", "\u2028", "\u180e", "\u200b", "\x85", "\x0b"]
HARD = ["it's", "I'LL", "don’t", "we'Re", "ſ'ſ", "X'VE", "12345", "3.14159", "a1b2", "¼½", "٣٤٥", "x²"]
JOINED = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "❤️", "🇩🇪"]


def names_of_locales():
    """The names of languages, places, months, days and currencies, in some hundred languages."""
    lists = []
    for name in localedata.locale_identifiers():
        try:
            locale = Locale.parse(name)
        except (ValueError, UnknownLocaleError):
            continue
        for names in (locale.languages, locale.territories, locale.months["format"]["wide"], locale.days["format"]["wide"],
                      locale.currencies):
            lists.append(", ".join(str(name) for name in list(names.values())[:200]))
    return lists


def text_of(size, choose):
    """Some megabytes of text in many scripts, source code, emoji, numbers, white space, and characters at random."""
    names = names_of_locales()
    code = "".join(path.read_text() for path in sorted(pathlib.Path(__file__).resolve().parents[2].glob("include/locus/*/*.hpp")))
    assigned = [chr(c) for c in range(0x20, 0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    emoji = [c for c in map(chr, range(0x1F300, 0x1FAFF)) if unicodedata.category(c) != "Cn"] + JOINED
    kinds = [
        (50, lambda: choose.choice(names)),
        (25, lambda: code[(begin := choose.randrange(len(code) - 500)):begin + 500]),
        (5, lambda: "".join(choose.choices(emoji, k=choose.randrange(1, 20)))),
        (5, lambda: "".join(choose.choices(assigned, k=30))),
        (5, lambda: " ".join(choose.choices(HARD, k=20))),
        (3, lambda: unicodedata.normalize("NFD", choose.choice(names))[:2000]),
        (2, lambda: choose.choice([END, f" {END} ", "<|im_start|>user\n", "<|x|>"])),
        (1, lambda: "a" * choose.randrange(1, 3000)),
        (4, lambda: "".join(choose.choices(SPACES, k=choose.randrange(1, 12)))),
    ]
    parts, total = [], 0
    while total < size:
        make, = choose.choices([make for _, make in kinds], [weight for weight, _ in kinds])
        parts.append(make() + choose.choice(SPACES))
        total += len(parts[-1].encode())
    return known("".join(parts).encode())


def known(content):
    """The text without characters that this Python does not know."""
    while True:
        text = content.decode(errors="surrogateescape")
        shorter = "".join(c for c in text if unicodedata.category(c) != "Cn").encode(errors="surrogateescape")
        if shorter == content:
            return content
        content = shorter  # the bytes beside them may join to another character


def broken(content, choose):
    """With one byte in 500 replaced by one that is not ASCII."""
    changed = bytearray(content)
    for _ in range(len(content) // 500):
        changed[choose.randrange(len(content))] = choose.randrange(128, 256)
    return known(bytes(changed))


def untrained(name):
    tokenizer = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    if name == "gpt2":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(LLAMA if name == "llama3" else QWEN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(tokenizer, text):
    lines = text.splitlines(keepends=True)
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=VOCABULARY, min_frequency=2, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))


def finish(tokenizer, name):
    """Adds a template of special tokens, and added tokens of every kind."""
    if name == "llama3":
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=f"{END} $A", pair=f"{END} $A {END} $B", special_tokens=[(END, tokenizer.token_to_id(END))])])
    if name == "qwen2":
        tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
        tokenizer.add_tokens([AddedToken("<|x|>", lstrip=True, rstrip=True, normalized=True), AddedToken("user", single_word=True)])


def prepare(folder, size):
    choose = random.Random(1)
    content = text_of(size, choose)
    (folder / "text.txt").write_bytes(content)
    (folder / "broken.txt").write_bytes(broken(content, choose))
    for name in ("gpt2", "llama3", "qwen2"):
        tokenizer = untrained(name)
        train(tokenizer, content.decode())
        finish(tokenizer, name)
        tokenizer.save(str(folder / f"{name}.json"))


def main():
    folder = pathlib.Path(sys.argv[1])
    prepare(folder, int(float(sys.argv[2]) * 1e6))
    print("ready", flush=True)
    for line in sys.stdin:
        action, clock, name, text_name = line.split()
        now = time.process_time if clock == "processor" else time.perf_counter
        text = (folder / f"{text_name}.txt").read_bytes().decode(errors="replace")
        tokenizer = Tokenizer.from_file(str(folder / f"{name}.json")) if action == "encode" else untrained(name)
        begin = now()
        if action == "encode":
            (encoding,) = tokenizer.encode_batch_fast([text])  # without positions in the text
        else:
            train(tokenizer, text)
        milliseconds = 1e3 * (now() - begin)
        if action == "encode":
            (folder / "theirs").write_bytes(array.array("q", encoding.ids).tobytes())
        else:
            tokenizer.save(str(folder / "theirs.json"))
        print(milliseconds, flush=True)


if __name__ == "__main__":
    main()
