"""GNU Backgammon on the same positions, where it is installed.

It runs a small script in its own Python, without a window and without the user's settings, and times itself by its
processor time: on the clock every search would wait for a poll of 10 ms. Its cache is emptied before each level, since
a second look at a position would cost nothing. It prints standard errors only to a terminal, so it gets one.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from cluster.bench.engine import seconds_to_target
from engine.board import Board, flip
from engine.errors import InfrastructureError
from engine.position import Position
from engine.xgid import format_xgid
from workers.gnubg import gnubg_board
from workers.gnubg_program import FULL_ROLLOUTS, QUIET, variables_at

TRIALS = 216
"""Of each play: GNU Backgammon takes 8 seconds and more for two plays, and the whole part may take 45."""
_DEADLINE = 120.0
_CALIBRATIONS = 3
_ROUNDS = 60  # of `calibrate`: about half a second

_SCRIPT = """
import json, os, time
import gnubg

plan = json.loads(PLAN)

def report(what, *numbers):
    print("@" + what, *numbers, flush=True)

def timed(command):
    cpu, wall = time.process_time(), time.perf_counter()
    gnubg.command(command)
    return time.process_time() - cpu, time.perf_counter() - wall

for line in plan["settings"]:
    gnubg.command(line)
for rounds in plan["calibrate"]:
    report("calibrate", *timed("calibrate %d" % rounds))
cube = gnubg.cubeinfo(1, -1, 1, 0, (0, 0), 0, 0)
for level, positions in plan["search"].items():
    how = gnubg.evalcontext(0, int(level) - 1, 1, 1, 0.0)
    gnubg.command("clear cache")
    cpu = time.process_time()
    for board, dice in positions:
        gnubg.findbestmove(board, cube, how, tuple(dice))
    report("search", level, time.process_time() - cpu, len(positions))
for xgid in plan["rollout"]:
    gnubg.command("set xgid " + xgid)
    gnubg.command("clear cache")
    report("rollout", *timed("rollout"))
os._exit(0)
"""

_SETTINGS = (*QUIET, "set output digits 6", "new session", *FULL_ROLLOUTS, "set rollout cubeful off")

_CALIBRATION = re.compile(r"Calibration result: ([0-9.]+) static evaluations/second")
_ERROR = re.compile(r"\[[^\]]*\bCL\s+([0-9.]+)\]")
_VERSION = re.compile(r"GNU Backgammon ([0-9][0-9.]*)")


@dataclass(frozen=True, slots=True)
class Work:
    """What GNU Backgammon is asked to do; empty parts are left out."""

    calibrate: bool = False
    search: Mapping[int, Sequence[Position]] | None = None
    """Positions by level, counted from 1."""
    rollout: Sequence[Board] = ()
    """After-positions in the mover's view."""


@dataclass(frozen=True, slots=True)
class GnubgFigures:
    """What it needed, in processor time."""

    version: str
    evaluations_per_s: float | None
    ms_per_position: dict[int, float]
    trials_per_cpu_s: float | None
    cpu_s_to_se: float | None


def run_gnubg(program: str, work: Work) -> GnubgFigures:
    """Let GNU Backgammon do the work.

    Raises:
        InfrastructureError: it can't be started, doesn't finish, or doesn't answer as expected.
    """
    with tempfile.TemporaryDirectory(prefix="gammonfarm-gnubg-") as folder:
        script = Path(folder) / "bench.py"
        script.write_text(f"PLAN = {json.dumps(_plan(work))!r}\n{_SCRIPT}", encoding="utf-8")
        text = _on_a_terminal([program, "-t", "-q", "-p", str(script)], variables_at(folder), folder)
    return parse_output(text, work)


def parse_output(text: str, work: Work) -> GnubgFigures:
    """Figures from what the program printed.

    Raises:
        InfrastructureError: something that was asked for is missing.
    """
    version = _VERSION.search(text)
    rates: list[float] = []
    searches: dict[int, float] = {}
    errors: list[float] = []
    rolled = 0.0
    seen = ""
    for line in text.splitlines():
        mark, _, rest = line.strip().partition(" ")
        if mark == "@calibrate":
            cpu, wall = (float(number) for number in rest.split())
            counted = _CALIBRATION.findall(seen)
            # It counts by the clock; other processes may have had the core for a part of it.
            rates.extend(float(rate) * wall / cpu for rate in counted[-1:])
        elif mark == "@search":
            level, cpu_text, count = rest.split()
            searches[int(level)] = 1000 * float(cpu_text) / int(count)
        elif mark == "@rollout":
            rolled += float(rest.split()[0])
            errors.extend(float(error) for error in _ERROR.findall(seen)[-1:])
        else:
            seen += line + "\n"
            continue
        seen = ""
    missing = (
        (work.calibrate and len(rates) < _CALIBRATIONS)
        or set(searches) != set(work.search or ())
        or len(errors) != len(work.rollout)
    )
    if missing or version is None:
        last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing")
        raise InfrastructureError(f"gnubg did not do all that was asked; its last line: {last[:80]}")
    return GnubgFigures(
        version=version[1].rstrip("."),
        evaluations_per_s=median(rates) if rates else None,
        ms_per_position=searches,
        trials_per_cpu_s=TRIALS * len(errors) / rolled if errors else None,
        cpu_s_to_se=seconds_to_target(errors, rolled) if errors else None,
    )


def _plan(work: Work) -> dict[str, object]:
    return {
        "settings": [*_SETTINGS, f"set rollout trials {TRIALS}"],
        "calibrate": [_ROUNDS] * _CALIBRATIONS if work.calibrate else [],
        "search": {
            str(level): [(gnubg_board(position.board), position.dice) for position in positions]
            for level, positions in (work.search or {}).items()
        },
        # Always X on roll, before the roll: programs differ in whose view the board of an XGID takes when O is.
        "rollout": [format_xgid(Position(flip(after))) for after in work.rollout],
    }


def _on_a_terminal(command: list[str], variables: dict[str, str], folder: str) -> str:
    """What a program prints to a terminal until it ends."""
    import pty  # not on every system

    master, slave = pty.openpty()
    try:
        with _started(command, variables, folder, slave):
            os.close(slave)
            slave = -1
            return _read(master).decode("utf-8", errors="replace")
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)


@contextmanager
def _started(command: list[str], variables: dict[str, str], folder: str, terminal: int) -> Iterator[None]:
    try:
        process = subprocess.Popen(
            command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=variables,
            cwd=folder,
            start_new_session=True,
        )
    except OSError as error:
        raise InfrastructureError(f"gnubg can't be started ({error.strerror})") from error
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _read(terminal: int) -> bytes:
    """Until the other side is closed."""
    output = b""
    ends = time.monotonic() + _DEADLINE
    with suppress(OSError):  # how Linux says that nobody holds the terminal any more
        while True:
            if not select.select([terminal], [], [], max(ends - time.monotonic(), 0.0))[0]:
                raise InfrastructureError(f"gnubg did not finish within {_DEADLINE:.0f} s")
            chunk = os.read(terminal, 1 << 16)
            if not chunk:
                break
            output += chunk
    return output
