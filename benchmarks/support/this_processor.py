"""The processor of this machine, and the folder of results/ that its measurements go to."""

import pathlib
import platform
import re

# Vendor, family, first and last model, as /proc/cpuinfo numbers them. Source: arch/x86/kernel/cpu/amd.c of Linux.
GENERATIONS = [("AuthenticAMD", 23, 0x00, 0x2f, "amd-zen-1"), ("AuthenticAMD", 23, 0x30, 0xff, "amd-zen-2"),
               ("AuthenticAMD", 25, 0x00, 0x0f, "amd-zen-3"), ("AuthenticAMD", 25, 0x20, 0x5f, "amd-zen-3"),
               ("AuthenticAMD", 25, 0x10, 0x1f, "amd-zen-4"), ("AuthenticAMD", 25, 0x60, 0xaf, "amd-zen-4"),
               ("AuthenticAMD", 26, 0x00, 0xff, "amd-zen-5")]


def fields(text=None):
    """{key: value} of the first processor."""
    path = pathlib.Path("/proc/cpuinfo")
    text = text if text is not None else path.read_text() if path.exists() else ""
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.split("\n\n")[0].splitlines())}


def name():
    return fields().get("model name", "") or platform.machine()


def flags():
    return fields().get("flags", "").split()


def kind(text=None):
    """`amd-zen-4`, `intel-xeon-amx`: processors of one kind overwrite each other's results. text: of /proc/cpuinfo"""
    of = fields(text)
    vendor, family, model = of.get("vendor_id", ""), of.get("cpu family", ""), of.get("model", "")
    for of_vendor, of_family, first, last, generation in GENERATIONS:
        if vendor == of_vendor and family == str(of_family) and model.isdigit() and first <= int(model) <= last:
            return generation
    has = of.get("flags", "").split()
    widest = next((word for flag, word in (("amx_tile", "amx"), ("avx512f", "avx512"), ("avx2", "avx2")) if flag in has), "")
    line = "xeon" if "Xeon" in of.get("model name", "") else ""
    maker = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(vendor) or vendor or platform.machine()
    return re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, (maker, line, widest))).lower())
