#!/usr/bin/env python3
"""The example devices: it lists the host and each GPU, or says why there is none, and knows the environment's limits.

usage: devices_test.py DEVICES
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

DEVICES = sys.argv[1] if len(sys.argv) > 1 else ""


class Devices(cases.Scratch):
    def said(self, status=0, **variables):
        done = subprocess.run([DEVICES], capture_output=True, timeout=60, text=True, env={**os.environ, **variables})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_the_host_comes_first(self):
        said = self.said(LOCUS_MEMORY_LIMIT="")
        self.assertRegex(said, r"\Acpu: .+\n  processors  \d+, \w+\n  memory      [\d.]+ GiB, [\d.]+ GiB free\n  limit       none\n"
                               r"  bfloat16    (fast|slow)\n")

    def test_a_machine_without_a_gpu_says_why(self):
        said = self.said(CUDA_VISIBLE_DEVICES="")
        self.assertRegex(said.splitlines()[-1], r"^cuda: .*run on Cpu|^cuda: .*CUDA_VISIBLE_DEVICES")

    def test_the_environment_limits_memory(self):
        self.assertIn("  limit       1.5 GiB\n", self.said(LOCUS_MEMORY_LIMIT="cpu=1536M,cuda=2G"))
        self.assertRegex(self.said(LOCUS_MEMORY_LIMIT="1G", status=1),
                         r'\Adevices: LOCUS_MEMORY_LIMIT is "1G", where "1G" is no limit; expected PLACE=BYTES')


if __name__ == "__main__":
    common.main(cases.check)
