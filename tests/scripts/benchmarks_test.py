#!/usr/bin/env python3
"""The programs that benchmarks run in turns, and the names of processors."""

import contextlib
import io
import json
import math
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(HERE.parents[2] / "benchmarks" / "support")]
import cases  # noqa: E402
import common  # noqa: E402
import this_processor  # noqa: E402
import torch_turns  # noqa: E402

ANSWERS = """
import sys, time
for line in sys.stdin:
    if line.strip() == "slow":
        time.sleep(60)
    print(1, 2, flush=True)
"""


class Players(unittest.TestCase):
    def test_a_program_that_does_not_answer_is_left_out_of_that_workload(self):
        player = torch_turns.Player(sys.executable, "-c", ANSWERS, patience=2)
        began, said = time.monotonic(), io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                self.assertEqual(player.ask("quick"), [1, 2])
                for _ in range(20):
                    self.assertEqual(player.ask("slow"), [math.inf] * torch_turns.Player.MOST_TIMES)
                self.assertEqual(player.ask("quick"), [1, 2])
        finally:
            player.end()
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(said.getvalue().count("no answer in 2 s"), 1)

    def test_results_are_json_where_a_peer_was_left_out(self):
        stored = torch_turns.storable({"ours": 1.5, "pytorch": torch_turns.speed(64, math.inf), "turns": [(1, math.inf)]})
        self.assertEqual(json.loads(json.dumps(stored, allow_nan=False)), {"ours": 1.5, "pytorch": None, "turns": [[1, None]]})
        self.assertEqual(torch_turns.speed(64, 500), 128)


class Processors(unittest.TestCase):
    def test_each_kind_has_a_folder(self):
        def kind(vendor, family, model, name, flags):
            return this_processor.kind(f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n"
                                       f"model name\t: {name}\nflags\t\t: fpu {flags}\n\nprocessor\t: 1\nmodel\t: 99\n")
        self.assertEqual(kind("AuthenticAMD", 25, 1, "AMD EPYC", "avx2"), "amd-zen-3")
        self.assertEqual(kind("AuthenticAMD", 25, 17, "AMD EPYC", "avx2 avx512f"), "amd-zen-4")
        self.assertEqual(kind("AuthenticAMD", 26, 2, "AMD EPYC", "avx2 avx512f"), "amd-zen-5")
        self.assertEqual(kind("AuthenticAMD", 27, 0, "AMD EPYC", "avx2 avx512f"), "amd-avx512")
        self.assertEqual(kind("GenuineIntel", 6, 143, "Intel(R) Xeon(R) Processor", "avx2 avx512f amx_tile"), "intel-xeon-amx")
        self.assertEqual(kind("GenuineIntel", 6, 151, "12th Gen Intel(R) Core(TM)", "avx2"), "intel-avx2")
        self.assertTrue(this_processor.kind(""))

    def test_a_processor_limited_to_avx2_is_another_one(self):
        kind, flags = this_processor.kind(), this_processor.flags()
        self.assertEqual((this_processor.architecture(), this_processor.environment()), ("native", {}))
        self.addCleanup(setattr, this_processor, "is_limited", False)
        this_processor.limit_to_avx2()
        self.assertEqual(this_processor.kind(), f"{kind}-avx2")
        self.assertEqual(this_processor.architecture(), "haswell")
        self.assertEqual(this_processor.environment()["LOCUS_CPU_ISA"], "avx2")
        self.assertEqual([flag for flag in this_processor.flags() if "512" in flag or "amx" in flag], [])
        self.assertEqual([flag for flag in flags if flag == "avx2"], [flag for flag in this_processor.flags() if flag == "avx2"])


if __name__ == "__main__":
    common.main(cases.check)
