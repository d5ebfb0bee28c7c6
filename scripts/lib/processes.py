"""Runs programs, each in a process group of its own and with a time-out. A group ends with its program, at its
time-out, and with this process, however this process ends. Only a child that leaves its group (setsid) survives.

If this process is killed, the kernel kills the programs that it started. A guard process, whose input then ends, kills
their children.
"""

import ctypes
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing

KEPT = 1 << 20  # characters kept of an output; a longer one keeps its two ends
SHORTEST = 1  # seconds; with less time left no program is started
DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG
GUARD = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
prctl = ctypes.PyDLL(None).prctl  # looked up here, because the child of a process with threads must not take locks
running = set()
stopped = False
guard = None
guard_lock = threading.Lock()


class OutOfTime(Exception):
    """The run's deadline, not the program's own limit, ended the program or prevented its start."""

    def __init__(self, output=""):
        super().__init__("out of time")
        self.output = output


@dataclasses.dataclass(frozen=True)
class Done:
    """status: None after a time-out, negative after a signal. output: stdout and stderr together."""
    status: typing.Optional[int]
    output: str
    seconds: float

    @property
    def ending(self):
        """How the program ended, in words."""
        if self.status is None:
            return f"timed out after {self.seconds:.0f} s"
        if self.status < 0:
            try:
                return f"crashed: {signal.Signals(-self.status).name}"
            except ValueError:
                return f"crashed: signal {-self.status}"
        return f"ended with status {self.status}"


def input_of_guard():
    """The guard's descriptor: "+PID" makes it kill the process group PID when this process ends, "-PID" cancels
    that."""
    global guard
    with guard_lock:
        if guard is None or guard.poll() is not None:
            guard = subprocess.Popen([sys.executable, "-I", "-S", "-c", GUARD], stdin=subprocess.PIPE,
                                     start_new_session=True)
        return guard.stdin.fileno()


def kill(process):
    """Kills the program and its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass


def start(command, environment=None, **options):
    """Starts the program with `environment` added to this process's; end() must follow. Throws OSError."""
    if stopped:
        raise OSError("not started: this run was ended")
    to_guard = input_of_guard()

    def begin():  # runs in the child: from here on, the guard knows it, whatever happens to this process
        prctl(DEATH_SIGNAL, signal.SIGKILL)
        os.write(to_guard, b"+%d\n" % os.getpid())

    process = subprocess.Popen([str(part) for part in command], env={**os.environ, **(environment or {})},
                               start_new_session=True, preexec_fn=begin, **options)
    running.add(process)
    if stopped:  # set since the check above: end_all() may have missed this program
        end(process)
        raise OSError("not started: this run was ended")
    return process


def end(process):
    """Kills the program and its process group, and waits for its end. A process that the kernel does not release is
    abandoned."""
    kill(process)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        pass
    if process in running:
        running.discard(process)
        os.write(input_of_guard(), b"-%d\n" % process.pid)


def end_all():
    """Ends all programs and prevents new ones. For signal handlers: does not wait."""
    global stopped
    stopped = True
    for process in list(running):
        kill(process)


def text_of(file):
    file.seek(0)
    output = file.read().decode(errors="replace")
    if len(output) > KEPT:
        left_out = len(output) - KEPT
        output = f"{output[:KEPT // 2]}\n... {left_out} characters left out ...\n{output[-KEPT // 2:]}"
    return output


def run(command, timeout=300, environment=None):
    """Runs the command, with `environment` added to this process's, for at most `timeout` seconds."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = start(command, environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        except (OSError, subprocess.SubprocessError) as error:
            return Done(127, str(error), 0.0)
        try:
            status = process.wait(timeout=max(0.1, timeout))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end(process)
        return Done(status, text_of(output), round(time.monotonic() - started, 3))


def run_until(deadline, command, limit=None, environment=None):
    """As run, until the deadline and for at most `limit` seconds if given. Throws OutOfTime if the deadline comes
    first, or is near."""
    left = deadline - time.monotonic()
    if left < SHORTEST:
        raise OutOfTime
    done = run(command, left if limit is None else min(limit, left), environment)
    if done.status is None and (limit is None or left < limit):
        raise OutOfTime(done.output)
    return done


def last_line(text):
    return (text.strip().splitlines() or ["it printed nothing"])[-1][:200]


def read(command):
    """The output of the command; None if it failed."""
    done = run(command, timeout=30)
    return done.output.strip() if done.status == 0 else None
