#!/usr/bin/env python3
"""The ways to start ranks: one program as threads, under mpirun, and by a launcher that sets RANK and WORLD_SIZE.
Faults: a wrong number of ranks, a host file with too few slots, no MPI, and a rank that does not start. By TCP, also
between two hosts, which are network namespaces: addresses at which ranks listen, and secrets that are missing or differ."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import common  # noqa: E402
import processes_test  # noqa: E402

MPIRUN = ["mpirun", "--allow-run-as-root"]
THREE = "3 ranks, whose sum is 3\n"
SECONDS = 20


def expect(report, name, command, status, *texts):
    """One run: checks its exit status, its output, and that it ends soon."""
    begin = time.monotonic()
    env = {"OMP_NUM_THREADS": "1", "LOCUS_DIST_TIMEOUT": "2" if "absent" in command else "30"}
    ended, output = common.run(["timeout", "--kill-after=5", "60", *command], env=env)
    seconds = time.monotonic() - begin
    sound = bool(ended) == status and any(text in output for text in texts) and seconds < SECONDS
    report.add(name, None if sound else f"status {ended} after {seconds:.0f} s, expected {' or '.join(texts)}\n{output}")


def compile_program(report, compiler, program):
    status, output = common.run([*compiler, *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror",
                                 HERE / "launched.cpp", "-o", program, "-lz", "-pthread"])
    if status:
        report.fail(f"launched.cpp: {compiler[0]}", output)
    return not status


def check_without_mpi(report, program, has_mpirun):
    expect(report, "threads", [program, "3"], False, THREE)
    expect(report, "one rank where nothing is said", [program], False, "1 ranks, whose sum is 0\n")
    problem, output = processes_test.tcp(3, program)
    report.add("a launcher's variables", problem or (None if THREE in output else output))
    problem, output = processes_test.tcp(3, program, "2")
    report.add("a launcher's variables, another number", None if "2 ranks, but a launcher started 3" in output else output)
    os.environ["LOCUS_DIST_TIMEOUT"] = "2"
    problem, output = processes_test.tcp(3, program, "0", "absent")
    os.environ.pop("LOCUS_DIST_TIMEOUT")
    report.add("a rank that does not come", None if output.count("did not come within 2 seconds: 2") == 2 else output)
    if has_mpirun:
        expect(report, "mpirun of a program without MPI", [*MPIRUN, "--oversubscribe", "-n", "3", program], True,
               "each of the 3 processes that mpirun started would be rank 0 of 1")


def check_mpi(report, program, folder):
    hosts = folder / "hosts"
    hosts.write_text("localhost slots=2\n")
    run = [*MPIRUN, "--oversubscribe", "-n", "3", program]
    expect(report, "mpirun", run, False, THREE)
    expect(report, "mpirun, the same number", [*run, "3"], False, THREE)
    expect(report, "mpirun, another number", [*run, "2"], True, "2 ranks, but mpirun started 3 processes")
    expect(report, "a host file", [*MPIRUN, "--hostfile", hosts, "-n", "2", program], False, "2 ranks, whose sum is 1\n")
    expect(report, "more ranks than a host file has slots for", [*MPIRUN, "--hostfile", hosts, "-n", "3", program], True,
           "not enough slots")
    expect(report, "a rank that ends before it meets the others", [*run, "0", "absent"], True,
           "MPI has not started within 2 seconds", "exiting improperly")  # mpirun's words, if it notices first


class TwoHosts:
    """Two network namespaces and a cable between them, 10.77.0.1 and 10.77.0.2."""

    def __init__(self):
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "120"]) for _ in range(2)]
        time.sleep(0.3)
        self.works = all(status == 0 for status in [
            self.command(0, "ip", "link", "add", "cable0", "type", "veth", "peer", "name", "cable1"),
            self.command(0, "ip", "link", "set", "cable1", "netns", str(self.holders[1].pid)),
            *(self.command(host, "ip", *rest) for host in range(2) for rest in (
                ("addr", "add", f"10.77.0.{host + 1}/24", "dev", f"cable{host}"), ("link", "set", f"cable{host}", "up"), ("link", "set", "lo", "up")))])

    def enter(self, host):
        return ["nsenter", "--target", str(self.holders[host].pid), "--net"]

    def command(self, host, *command):
        return subprocess.run([*self.enter(host), *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def run(self, program, **variables):
        """The outputs of four ranks, two on each host. A variable with several values has one for each rank."""
        processes = []
        for rank in range(4):
            values = {name: value if isinstance(value, str) else value[rank] for name, value in variables.items()}
            env = dict(os.environ, OMP_NUM_THREADS="1", MASTER_PORT="29555", WORLD_SIZE="4", RANK=str(rank), LOCAL_RANK=str(rank % 2),
                       LOCUS_DIST_TIMEOUT="4", **values)
            processes.append(subprocess.Popen([*self.enter(rank // 2), "timeout", "30", program], env=env, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT, text=True))
        return [process.communicate()[0] for process in processes]

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


def check_two_hosts(report, program):
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("ip", "unshare", "nsenter")):
        return report.skip("two hosts", "only root makes network namespaces, with ip, unshare and nsenter")
    hosts = TwoHosts()
    try:
        if not hosts.works:
            return report.skip("two hosts", "this kernel makes no network namespaces")
        first, secret, four = "10.77.0.1", "known to all ranks of this run", "4 ranks, whose sum is 6\n"
        loopback = ("127.1", "127.1", first, first)  # as Debian's installer names a machine in its own /etc/hosts
        for name, expected, variables in (
                ("an address", four, {"MASTER_ADDR": first}),
                ("rank 0's machine is known there by a loopback address", four, {"MASTER_ADDR": loopback}),
                ("interfaces", four, {"MASTER_ADDR": first, "LOCUS_DIST_INTERFACE": ("cable0", first, "cable1", "0.0.0.0")})):
            outputs = hosts.run(program, LOCUS_DIST_SECRET=secret, **variables)
            report.add(f"two hosts, {name}", None if outputs == [expected, "", "", ""] else "".join(outputs))
        outputs = hosts.run(program, MASTER_ADDR=first, LOCUS_DIST_SECRET="")
        report.add("two hosts without a secret", None if all("without a secret" in output for output in outputs) else "".join(outputs))
        outputs = hosts.run(program, MASTER_ADDR=first, LOCUS_DIST_SECRET=(secret, secret, secret, "known to nobody of this run"))
        report.add("two hosts, and another secret on a rank", None if "rank 0 has another secret" in outputs[3] and
                   "did not come within 4 seconds: 3" in outputs[0] else "".join(outputs))
    finally:
        hosts.close()


def check(report):
    has_mpi = shutil.which("mpicxx") and shutil.which("mpirun")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch).resolve()
        program = folder / "without_mpi"
        if compile_program(report, ["g++", "-DLOCUS_MPI=0"], program):
            check_without_mpi(report, program, has_mpi)
            check_two_hosts(report, program)
        if not has_mpi:
            return report.skip("ranks of mpirun", "no MPI here")
        program = folder / "with_mpi"
        if compile_program(report, ["mpicxx"], program):
            check_mpi(report, program, folder)
            report.add("no process is left", ", ".join(processes_test.left_over(program)))


if __name__ == "__main__":
    common.main(check)
