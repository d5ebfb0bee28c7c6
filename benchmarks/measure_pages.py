#!/usr/bin/env python3
"""Measurements in pages of docs/: each study runs a program of this folder, and its tables are written into its pages.

usage: measure_pages.py                      prints the tables of all studies
       measure_pages.py STUDY --measure [--program PROGRAM] [--data MNIST] [--images FOLDER] [--rounds N]
       measure_pages.py [STUDY...] --write   writes tables and pictures into docs/
       measure_pages.py --check              tests that they are up to date

studies: training-accuracy (learning rates, depth, sizes), loader (workers), step-costs (accumulated gradients, mixed
precision, autotuning), ranks (DataParallel and DDP), cpu-aligned-dimensions (of aligned_dimensions.py --write),
scalar-functions (of scalar_functions.py).

Results go to results/PROCESSOR/STUDY.json. Without --program, the program is compiled for the CPU. A program that nvcc
built, such as build/release/benchmarks/step_costs_cuda, measures GPU 0: its results go to the folder of the GPU, and
the pages get its columns. Rounds follow each other, and the fastest counts, because other programs only increase a time.
"""

import argparse
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "studies"), str(HERE / "support"), str(HERE.parent / "scripts" / "lib")]
import whole_file  # noqa: E402
from accuracy import Accuracy  # noqa: E402
from cpu_aligned_dimensions import CpuAlignedDimensions  # noqa: E402
from float_errors import FloatErrors  # noqa: E402
from loading import Loading  # noqa: E402
from page_blocks import with_block  # noqa: E402
from ranks import Ranks  # noqa: E402
from steps import Steps  # noqa: E402
from study import RESULTS, Wrong  # noqa: E402

STUDIES = {study.name: study for study in (Accuracy(), Loading(), Steps(), Ranks(), CpuAlignedDimensions(), FloatErrors())}


def measure(study, options):
    is_shared = os.getloadavg()[0] > 0.5  # by other programs
    with tempfile.TemporaryDirectory() as folder:
        document = study.measured(options.program or study.compiled(folder), options, folder)
    document["environment"]["shared"] = is_shared
    study.store(document, options.results)


def made(studies, options):
    """{file of docs/: its text with the blocks of these studies}"""
    files = {}
    for study in studies:
        host, gpu = study.host_results(options.results), study.gpu_results(options.results)
        for (page, name), text in study.blocks(host, gpu).items():
            before = files.get(page) or (options.docs / page).read_text()
            files[page] = with_block(before, "measure_pages.py", name, text)
        files.update(study.pictures(host, gpu))
    return files


def check(files, docs):
    stale = [name for name, text in files.items() if not (docs / name).exists() or (docs / name).read_text() != text]
    print("".join(f"FAILED {name} is not what measure_pages.py --write makes\n" for name in stale) +
          f"{len(files) - len(stale)} passed, {len(stale)} failed, 0 skipped")
    return 1 if stale else 0


def run(options):
    studies = [STUDIES[name] for name in options.studies or STUDIES]
    for study in studies if options.measure else ():
        measure(study, options)
    if options.quick:  # too few rows for the tables
        return 0
    if options.check:
        return check(made(studies, options), options.docs)
    if options.write:
        for name, text in made(studies, options).items():
            whole_file.write(options.docs / name, text)
    for study in studies:
        for (page, name), text in study.blocks(study.host_results(options.results), study.gpu_results(options.results)).items():
            print(f"{page}, {name}\n\n{text}")
    return 0


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="default: all")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--docs", type=pathlib.Path, default=HERE.parent / "docs", metavar="FOLDER")
    parser.add_argument("--program", type=pathlib.Path, help="the study's built program; default: it is compiled for the CPU")
    parser.add_argument("--data", metavar="FOLDER", help="of MNIST's files, for training-accuracy; without it, digits are drawn")
    parser.add_argument("--images", metavar="FOLDER", help="of JPEGs, a folder for each class, for loader; without it, they are drawn")
    parser.add_argument("--rounds", type=int, default=0, help="default: the study's")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try the programs")
    options = parser.parse_args(arguments)
    for name in options.studies:
        if name not in STUDIES:
            parser.error(f"'{name}' is no study; expected {', '.join(STUDIES)}")
    if options.quick and options.results == RESULTS:
        parser.error("--quick is no measurement: name another folder by --results FOLDER")
    if options.measure and len(options.studies) != 1:
        parser.error("--measure: name one study")
    return options


def main():
    try:
        return run(parsed())
    except (Wrong, ValueError) as error:
        print(f"measure_pages.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
