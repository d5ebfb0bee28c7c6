"""The processor of this machine, and the folder of results/ that its measurements go to."""

import pathlib
import platform
import re

# Vendor, family, first and last model, as /proc/cpuinfo numbers them. Source: arch/x86/kernel/cpu/amd.c of Linux.
GENERATIONS = [("AuthenticAMD", 23, 0x00, 0x2f, "amd-zen-1"), ("AuthenticAMD", 23, 0x30, 0xff, "amd-zen-2"),
               ("AuthenticAMD", 25, 0x00, 0x0f, "amd-zen-3"), ("AuthenticAMD", 25, 0x20, 0x5f, "amd-zen-3"),
               ("AuthenticAMD", 25, 0x10, 0x1f, "amd-zen-4"), ("AuthenticAMD", 25, 0x60, 0xaf, "amd-zen-4"),
               ("AuthenticAMD", 26, 0x00, 0xff, "amd-zen-5")]

# With --avx2, programs are compiled for AVX2 and FMA alone, and libraries told so: what most laptops and many servers have.
AVX2_ALONE = {"LOCUS_CPU_ISA": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
              "ONEDNN_MAX_CPU_ISA": "AVX2"}
is_limited = False


def limit_to_avx2():
    """From now on, the processor counts as one that has AVX2 alone."""
    global is_limited
    is_limited = True


def environment():
    """Of programs that are measured."""
    return AVX2_ALONE if is_limited else {}


def architecture():
    """For -march."""
    return "haswell" if is_limited else "native"


def fields(text=None):
    """{key: value} of the first processor."""
    path = pathlib.Path("/proc/cpuinfo")
    text = text if text is not None else path.read_text() if path.exists() else ""
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.split("\n\n")[0].splitlines())}


def name():
    found = fields().get("model name", "") or platform.machine()
    return f"{found}, limited to AVX2" if is_limited else found


def flags():
    found = fields().get("flags", "").split()
    return [flag for flag in found if not is_limited or not flag.startswith(("avx512", "avx_vnni", "amx"))]


def kind(text=None):
    """`amd-zen-4`, `intel-xeon-amx`, `amd-zen-5-avx2` if limited: processors of one kind overwrite each other's results.
    text: of /proc/cpuinfo"""
    return generation(text) + ("-avx2" if is_limited else "")


def generation(text=None):
    of = fields(text)
    vendor, family, model = of.get("vendor_id", ""), of.get("cpu family", ""), of.get("model", "")
    for of_vendor, of_family, first, last, word in GENERATIONS:
        if vendor == of_vendor and family == str(of_family) and model.isdigit() and first <= int(model) <= last:
            return word
    has = of.get("flags", "").split()
    widest = next((word for flag, word in (("amx_tile", "amx"), ("avx512f", "avx512"), ("avx2", "avx2")) if flag in has), "")
    line = "xeon" if "Xeon" in of.get("model name", "") else ""
    maker = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(vendor) or vendor or platform.machine()
    return re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, (maker, line, widest))).lower())
