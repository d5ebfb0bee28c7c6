#!/usr/bin/env python3
"""The scripts for Slurm are valid, and tell ranks their numbers; the Dockerfile installs the packages of scripts/test;
notebooks compile with the options of the README."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SBATCH = sorted((ROOT / "scripts" / "slurm").glob("*.sbatch"))
# A job of two tasks on two machines: runs the command after the options once for each.
SRUN = """#!/usr/bin/env bash
given=("SRUN_CPUS_PER_TASK=$SRUN_CPUS_PER_TASK LOCUS_WORKERS=$LOCUS_WORKERS")
while [[ $1 == --* ]]; do given+=("$1") && shift; done
echo "${given[*]}"
for task in 0 1; do SLURM_PROCID=$task SLURM_LOCALID=0 SLURM_NTASKS=2 "$@"; done
"""
SCONTROL = "#!/usr/bin/env bash\necho first\nseq 100000\n"  # more than a pipe holds: nobody waits for the end


class Slurm(unittest.TestCase):
    def run_job(self, script, program=None):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
                (tool := pathlib.Path(folder, name)).write_text(text)
                tool.chmod(0o755)
            env = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", SLURM_JOB_ID="12345", SLURM_JOB_NODELIST="n[1-2]",
                       SLURM_CPUS_PER_TASK="4")
            env.pop("LOCUS_WORKERS", None)
            report = 'echo "$RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $MASTER_PORT ${#LOCUS_DIST_SECRET} $1"'
            done = subprocess.run(["bash", script, *([program] if program else ["bash", "-c", report, "program", "two words"])], env=env, text=True,
                                  capture_output=True, check=True, timeout=60)
            return done.stdout.splitlines()

    def test_scripts_are_valid(self):
        self.assertEqual([script.name for script in SBATCH], ["mpi.sbatch", "one_node.sbatch", "several_nodes.sbatch"])
        for script in SBATCH:
            self.assertEqual(subprocess.run(["bash", "-n", script], check=False).returncode, 0, script)
            head = re.match(r"#!/usr/bin/env bash\n(?:#SBATCH --[a-z-]+=\S+\n)+(?!#SBATCH)", script.read_text())
            self.assertIsNotNone(head, f"{script}: options of sbatch stand before the first command")

    def test_ranks_know_their_numbers(self):
        for name, address in (("one_node", "127.0.0.1"), ("several_nodes", "first")):
            options, *lines = self.run_job(ROOT / "scripts" / "slurm" / f"{name}.sbatch")
            self.assertEqual(options, "SRUN_CPUS_PER_TASK=4 LOCUS_WORKERS=4 --export=ALL --gpu-bind=none")
            self.assertEqual(lines, [f"{rank} 2 0 {address} 20345 64 two words" for rank in (0, 1)])

    def test_mpi_gives_ranks_processors_and_the_environment(self):
        options, *_ = self.run_job(ROOT / "scripts" / "slurm" / "mpi.sbatch", "true")
        self.assertEqual(options, "SRUN_CPUS_PER_TASK=4 LOCUS_WORKERS=4 --export=ALL --mpi=pmix --gpu-bind=none")

    def test_scripts_ask_for_processors(self):
        for script in SBATCH:
            self.assertIn("#SBATCH --cpus-per-task=4\n", script.read_text())


class Notebook(unittest.TestCase):
    def test_the_cell_compiles_as_the_readme_says(self):
        """The same options of nvcc, but for the folder of the clone, -O2 and names of files."""
        def options(page):
            command = re.search(r"nvcc (-x cu .*?)[`\n]", (ROOT / page).read_text())[1].replace("-Ilocus/", "-I")
            return [word for word in command.split() if word.startswith("-") and word not in ("-O2", "-o")]
        self.assertEqual(options("docs/clusters.md"), options("README.md"))


class Docker(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "scripts" / "docker" / "Dockerfile").read_text().replace("\\\n", " ")

    def test_packages_are_those_of_the_fast_tests(self):
        wanted = re.search(r"^packages=\((.*?)\)", (ROOT / "scripts" / "test").read_text(), re.DOTALL | re.MULTILINE)[1].split()
        given = re.search(r"--no-install-recommends (.*?) &&", self.text)[1].split()
        self.assertEqual(given, wanted)

    def test_what_was_built_here_stays_here(self):
        ignored = (ROOT / ".dockerignore").read_text().splitlines()
        for folder in re.findall(r"^/(.*)/$", (ROOT / ".gitignore").read_text(), re.MULTILINE):
            self.assertIn(f"/{folder}", ignored)

    def test_commands_exist(self):
        commands = re.findall(r"\b(scripts/\w+)((?: --\w+)*)", re.sub(r"^#.*$", "", self.text, flags=re.MULTILINE))
        self.assertEqual([path for path, _ in commands], ["scripts/test", "scripts/demo"])
        for path, options in commands:
            for option in options.split():
                self.assertIn(option, (ROOT / path).read_text())


if __name__ == "__main__":
    common.main(cases.check)
