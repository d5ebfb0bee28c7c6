#!/usr/bin/env python3
"""The sanitizers of this build are on and fatal. usage: sanitizers.py PROGRAM (built from faulty.cpp)"""

import sys

import common

REPORTS = {"freed": "AddressSanitizer: use-after-poison", "beyond": "AddressSanitizer: use-after-poison",
           "undefined": "runtime error: signed integer overflow"}


def check_all(report):
    program = sys.argv[1]
    status, output = common.run([program])
    report.add("a sound program passes", output if status else None)
    for fault, text in REPORTS.items():
        status, output = common.run([program, fault])
        report.add(fault, None if status and text in output else f"status {status}, no '{text}' in: {output}")


if __name__ == "__main__":
    common.main(check_all)
