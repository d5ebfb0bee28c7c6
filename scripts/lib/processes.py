"""Programs run by themselves: each with a time-out, in a process group that ends as a whole, and none that outlives this
process."""

import ctypes
import dataclasses
import os
import signal
import subprocess
import tempfile
import time
import typing

KEPT = 1 << 20  # characters of an output; of a longer one, its two ends
DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG
prctl = ctypes.PyDLL(None).prctl  # looked up here, since the child of a process with threads may lock nothing
running = set()
stopped = False


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


def kill(process):
    """Kills the program and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass


def end(process):
    """Kills the program, and waits for its end. One that the kernel does not give back is left behind."""
    kill(process)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        pass


def end_all():
    """No program runs from now on. For a handler of signals: waits for nothing."""
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
    """Runs the command, with `environment` on top of this process's, for at most `timeout` seconds."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        if stopped:
            return Done(127, "not started: this run was ended", 0.0)
        try:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
                                       start_new_session=True,
                                       preexec_fn=lambda: prctl(DEATH_SIGNAL, signal.SIGKILL))
        except (OSError, subprocess.SubprocessError) as error:
            return Done(127, str(error), 0.0)
        running.add(process)
        try:
            status = process.wait(timeout=max(0.1, timeout))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end(process)
            running.discard(process)
        return Done(status, text_of(output), round(time.monotonic() - started, 3))


def last_line(text):
    return (text.strip().splitlines() or ["it printed nothing"])[-1][:200]


def read(command):
    """What the command printed; None where it failed."""
    done = run(command, timeout=30)
    return done.output.strip() if done.status == 0 else None
