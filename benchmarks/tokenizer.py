#!/usr/bin/env python3
"""Tokenizers in turns with the package tokenizers, of one thread: text to tokens, and training. All tokens are compared.

usage: tokenizer.py --python PYTHON [--megabytes 10] [--turns 3] [--processor-time] [--keep FOLDER]

PYTHON has tokenizers and babel, whose names of languages and places are a part of the text. The text has characters that
this Python knows: Python 3.11 has Unicode 14. A time is the least of the turns. --processor-time is for machines on which other
programs run. Results are written to results/PROCESSOR/cpu-tokenizer.json.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import BENCHMARKS, Player, processor, write_results  # noqa: E402

NAMES = ("gpt2", "llama3", "qwen2")
REQUESTS = [("encode", name, text) for text in ("text", "broken") for name in NAMES] + [("train", "gpt2", "text")]


def difference(folder, action):
    """How the results of both differ, or None."""
    if action == "train":
        ours, theirs = (json.loads((folder / f"{who}.json").read_text())["model"] for who in ("ours", "theirs"))
        return None if (ours["vocab"], ours["merges"]) == (theirs["vocab"], theirs["merges"]) else "vocabularies differ"
    ours, theirs = ((folder / who).read_bytes() for who in ("ours", "theirs"))
    if ours == theirs:
        return None
    first = next((i for i in range(0, min(len(ours), len(theirs)), 8) if ours[i:i + 8] != theirs[i:i + 8]), None)
    return f"{len(ours) // 8} and {len(theirs) // 8} tokens; the first that differs is " + ("one more" if first is None else str(first // 8))


def started_peer(options, folder):
    peer = Player(options.python, str(BENCHMARKS / "peers" / "package_tokenizers.py"), str(folder), str(options.megabytes))
    if peer.process.stdout.readline() != "ready\n":
        sys.exit("package_tokenizers.py ended before it was ready")
    return peer


def measure(options, folder):
    """{request: [our least time, theirs]} in milliseconds."""
    program = folder / "cpu_tokenizer"
    subprocess.run(["g++", "-std=c++20", "-O2", f"-I{BENCHMARKS.parent / 'include'}", BENCHMARKS / "cpu_tokenizer.cpp", "-o", program,
                    "-lpcre2-8", "-lutf8proc", "-lz"], check=True)
    both = started_peer(options, folder), Player(str(program), str(folder))
    least = {request: [float("inf")] * 2 for request in REQUESTS}
    for _ in range(options.turns):
        for request in REQUESTS:
            action, *names = request
            theirs, ours = (player.ask(" ".join((action, options.clock, *names)))[0] for player in both)
            least[request] = [min(pair) for pair in zip(least[request], (ours, theirs))]
            if problem := difference(folder, action):
                sys.exit(f"{' '.join(request)}: {problem}")
    for player in both:
        player.end()
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--processor-time", dest="clock", action="store_const", const="processor", default="wall")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="for the texts, tokenizers and tokens")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        least = measure(options, folder)
        sizes = {text: (folder / f"{text}.txt").stat().st_size for text in ("text", "broken")}
    print(f"{processor()}, one thread, {options.megabytes:g} MB, equal tokens and vocabularies; MB/s by the {options.clock}'s clock\n")
    print("| | tokenizer | text | Locus | tokenizers | ratio |\n|---|---|---|---|---|---|")
    for (action, name, text), (ours, theirs) in least.items():
        print(f"| {action} | {name} | {text} | {sizes[text] / ours / 1e3:.1f} | {sizes[text] / theirs / 1e3:.1f} | {theirs / ours:.1f} |")
    write_results("cpu-tokenizer.json", {"processor": processor(), "clock": options.clock, "megabytes": options.megabytes, "milliseconds": {
        " ".join(request): {"ours": ours, "tokenizers": theirs} for request, (ours, theirs) in least.items()}})


if __name__ == "__main__":
    main()
