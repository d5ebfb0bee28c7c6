"""Training of networks by the examples: ResNet-18 on CIFAR-10 in each precision, averages of weights in captured and in
launched steps, and GPT-2; in turns with PyTorch's steps."""

import array
import json
import pathlib
import random
import re
import tempfile

from processes import last_line

# Runs of examples/cifar10 that are compared: name, options, environment. PyTorch's variants have the same names.
FULL = {"LOCUS_TF32_CONVOLUTIONS": "0"}
CHANNELS_LAST = ("--type", "bfloat16", "--channels-last")
PRECISIONS = (
    ("float", (), FULL),
    ("float, TF32", (), {}),
    ("float, TF32, nondeterministic", (), {"LOCUS_CUDNN_NONDETERMINISTIC": "1"}),
    ("bfloat16", CHANNELS_LAST, {}),
    ("bfloat16, nondeterministic", CHANNELS_LAST, {"LOCUS_CUDNN_NONDETERMINISTIC": "1"}),
    ("bfloat16, 64 MiB of workspace", CHANNELS_LAST, {"LOCUS_CUDNN_WORKSPACE": "64"}),
)
TUNED = {"LOCUS_AUTOTUNE": "1"}
# Sizes of a run: of a GPU, and to try the scripts on a CPU.
IMAGES, LONG_IMAGES, TINY_IMAGES = [(25600, 128)], [(50000, 128), (50000, 512)], [(8, 4)]  # of an epoch, of a batch
TOKENS, LONG_TOKENS, TINY_TOKENS = [(4, 1024, 60)], [(4, 1024, 120), (16, 1024, 60)], [(2, 16, 3)]  # texts, length, steps
AVERAGE = ("--images", "12800", "--test-images", "2000", "--epochs", "3", "--batch", "128", "--width", "16", "--average", "0.99")
LONG_AVERAGE = ("--epochs", "10", "--batch", "128", "--width", "64", "--average", "0.99")
# Accuracies of averages in captured and launched steps may differ by so much: sums of gradients are in one order, but
# running statistics of few images are coarse.
CLOSE = 0.05


def train_images(context, device, options, environment):
    """The records of a run of examples/cifar10, one for each epoch."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [context.build / "examples" / "cifar10", "--device", device, "--seed", "1", "--workers", "0", "--output", scratch,
                   *options]
        done = context.run(command, environment=environment)
        context.record.note(f"---- {' '.join(map(str, options))} {environment}\n{done.output}")
        if done.status != 0:
            raise RuntimeError(f"cifar10 {done.ending}: {last_line(done.output)}")
        return json.loads((pathlib.Path(scratch) / "history.json").read_text())


def peer(context, network, device, batch, steps, tiny):
    """{variant: line} of benchmarks/peers/torch_networks.py, or {"unavailable": why}."""
    program = context.root / "benchmarks" / "peers" / "torch_networks.py"
    options = [*(["--tiny"] if tiny else []), *(["--compile"] if context.compiles and not tiny else [])]
    done = context.run([context.torch, program, network, device, batch, steps, *options])
    context.record.note(done.output)
    lines = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    found = {line["variant"]: line for line in lines if "variant" in line}
    return found if done.status == 0 and found else {"unavailable": last_line(done.output) or done.ending}


def tell_ratios(context, unit, found):
    for name, run in found["runs"].items():
        line = f"   {name}, batches of {found['batch']}: {run['per_second']:.0f} {unit}/s, {run['peak_bytes'] / 1e6:.0f} MB"
        other = found["peer"].get(name)
        if other:
            line += f"; PyTorch {other['per_second']:.0f}: {run['per_second'] / other['per_second']:.2f}"
            line += f", {other['peak_bytes'] / 1e6:.0f} MB" if other.get("peak_bytes") else ""
        context.record.say(line)


def run_cifar10(context, device="cuda", tiny=False):
    """Images per second of each precision in the last of two epochs, for each size of a batch."""
    measured = []
    for images, batch in TINY_IMAGES if tiny else LONG_IMAGES if context.long else IMAGES:
        sizes = ["--images", images, "--test-images", batch, "--batch", batch, "--epochs", "2", *(["--width", "4"] if tiny else [])]
        found = {"batch": batch, "runs": {}}
        measured.append(found)
        for name, options, environment in PRECISIONS:
            if tiny and device == "cpu" and "--type" in options:
                continue  # half the programs' time, for the same lines of the scripts
            records = train_images(context, device, [*sizes, *options], {**TUNED, **environment})
            last = records[-1]
            found["runs"][name] = {"per_second": last["samples_per_second"], "loss": last["train_loss"],
                                   "peak_bytes": last["memory"]["peak_bytes"]}
            context.record.put("cifar10", {"batches": measured})
        found["peer"] = peer(context, "cifar10", device, batch, 2 if tiny else 50, tiny)
        tell_ratios(context, "images", found)
    return {"batches": measured}


def run_averages(context, device="cuda", options=None):
    """Accuracies of averaged weights whose statistics are recomputed, after each epoch, with and without capture."""
    options = options or (LONG_AVERAGE if context.long else AVERAGE)
    found = {name: [record["metrics"]["average accuracy"] for record in train_images(context, device, [*options, *more], FULL)]
             for name, more in (("captured", []), ("launched", ["--no-capture"]))}
    apart = max(abs(a - b) for a, b in zip(found["captured"], found["launched"]))
    context.record.say(f"   averages of captured and launched steps differ by {apart:.4f} at most")
    return {**found, "largest_difference": apart, "agrees": apart <= CLOSE}


def write_tokens(path, count, vocabulary):
    random.seed(1)
    path.write_bytes(array.array("H", (random.randrange(vocabulary) for _ in range(count))).tobytes())


def train_tokens(context, device, texts, length, steps, tiny):
    """The last line that examples/gpt2 reports: tokens per second, the share of the device's peak, loss and memory."""
    size = ["--size", "tiny", "--vocabulary", "64", "--peak", "1"] if tiny else ["--size", "124M"]
    with tempfile.TemporaryDirectory() as scratch:
        tokens = pathlib.Path(scratch) / "tokens.bin"
        write_tokens(tokens, texts * length * (steps + 2), 64 if tiny else 50257)
        command = [context.build / "examples" / "gpt2", "--device", device, "--train", tokens, "--batch", texts, "--context", length,
                   "--steps", steps, "--report-every", max(1, steps // 3), *size]
        done = context.run(command, environment=TUNED)
        context.record.note(done.output)
        if done.status != 0:
            raise RuntimeError(f"gpt2 {done.ending}: {last_line(done.output)}")
    lines = re.findall(r"loss ([\d.]+), .*? ([\d.]+) tokens/s, ([\d.]+) % of peak, ([\d.]+) MB", done.output)
    if not lines:
        raise RuntimeError("gpt2 printed no tokens per second")
    loss, speed, share, memory = map(float, lines[-1])
    return {"per_second": speed, "share_of_peak": share / 100, "loss": loss, "peak_bytes": 1e6 * memory}


def run_gpt2(context, device="cuda", tiny=False):
    """Tokens per second of examples/gpt2 in bfloat16, for each size of a batch."""
    measured = []
    for texts, length, steps in TINY_TOKENS if tiny else LONG_TOKENS if context.long else TOKENS:
        found = {"batch": texts, "runs": {"bfloat16": train_tokens(context, device, texts, length, steps, tiny)}}
        measured.append(found)
        context.record.put("gpt2", {"batches": measured})
        found["peer"] = peer(context, "gpt2", device, texts, 1 if tiny else 20, tiny)
        tell_ratios(context, "tokens", found)
    return {"batches": measured}
