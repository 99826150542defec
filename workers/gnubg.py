"""GNU Backgammon as a player, where it is installed: cubeless money play at a given level.

It runs a small script in its own Python, without a window and without the user's settings, and answers through a pair
of pipes. Each answer waits for a poll of 10 ms inside the program, whatever the search takes; so several processes
work side by side, and many games are played at once.
"""

from __future__ import annotations

import os
import select
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from engine.board import OPPONENT_BAR, Board, flip
from engine.errors import InfrastructureError, InputError
from engine.kernels.moves import legal_plays
from workers.gnubg_program import QUIET, gnubg_version, variables_at

HIGHEST_LEVEL = 4
"""Plies counted from 1; the program counts them from 0."""

_MOST_PROCESSES = 16
"""At level 1, where nearly all the time is waiting for the poll; each takes 21 MB without its cache."""
_FEW_PROCESSES = 2
"""Above, where each keeps a core busy."""
_DEADLINE = 300.0
"""Seconds for one batch."""
_START_DEADLINE = 60.0
_STEPS = 8
"""Numbers of an answer: from and to of up to four checker moves; a zero in front ends them early."""
_READY = b"R"

_SCRIPT = """
import os, struct
import gnubg

requests = os.fdopen({requests}, "rb")
answers = os.fdopen({answers}, "wb")
for line in {settings}:
    gnubg.command(line)
cube = gnubg.cubeinfo(1, -1, 1, 0, (0, 0), 0, 0)
how = gnubg.evalcontext(0, {plies}, 1, 1, 0.0)
answers.write(b"R")
answers.flush()
while True:
    head = requests.read(2)
    if len(head) < 2:
        break
    reply = b""
    for _ in range(struct.unpack("<H", head)[0]):
        asked = requests.read(52)
        found = gnubg.findbestmove((tuple(asked[:25]), tuple(asked[25:50])), cube, how, tuple(asked[50:]))
        reply += bytes(found) + bytes({steps} - len(found))
    answers.write(reply)
    answers.flush()
os._exit(0)
"""


def gnubg_board(board: Board) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A board as its Python module takes it: opponent, mover; each with its own points 1..24, then its bar."""

    def side(seen: Board) -> tuple[int, ...]:
        return tuple(max(int(count), 0) for count in seen[1:])

    return side(flip(board)), side(board)


def check_gnubg_level(level: int) -> None:
    """
    Raises:
        InputError: a level at which it isn't asked to play.
    """
    if not 1 <= level <= HIGHEST_LEVEL:
        raise InputError("gnubg-level", level, f"a whole number from 1 (its 0-ply) to {HIGHEST_LEVEL}")


def after_steps(board: Board, steps: Sequence[int]) -> Board:
    """The after-position of a play given as from, to, from, to ... (25 = bar, 0 = off), in the mover's view."""
    after = board.copy()
    for source, target in zip(steps[::2], steps[1::2], strict=True):
        if source == 0:
            break
        after[source] -= 1
        if target == 0:
            continue
        if after[target] == -1:
            after[target] = 0
            after[OPPONENT_BAR] -= 1
        after[target] += 1
    return after


class GnubgPlayer:
    """Some processes of the program that share the questions; an `engine.versus.GamePlayer` for international rules."""

    def __init__(self, program: str, level: int, version: str | None = None) -> None:
        """
        Args:
            version: the one that it must be (another machine may have another); None = any.

        Raises:
            InputError: an unknown level. InfrastructureError: it can't be started, or is of another version.
        """
        check_gnubg_level(level)
        if version is not None and (found := gnubg_version(program)) != version:
            raise InfrastructureError(f"gnubg is version {found} here, where {version} was asked for")
        self._program = program
        self._room = _MOST_PROCESSES if level == 1 else _FEW_PROCESSES
        self._level = level
        self._processes: list[_Process] = []

    def choose(self, boards: NDArray[np.int8], dice: NDArray[np.int64]) -> NDArray[np.int8]:
        """See `GamePlayer`.

        Raises:
            InfrastructureError: a process ends, doesn't answer, or answers with an illegal play.
        """
        afters = np.empty_like(boards)
        asked: list[int] = []
        for i, (board, roll) in enumerate(zip(boards, dice, strict=True)):
            plays = legal_plays(board, int(roll[0]), int(roll[1]), 0)
            if len(plays) == 1:
                afters[i] = plays[0]
            else:
                asked.append(i)
        for i, steps in zip(asked, self._answers([(boards[i], dice[i]) for i in asked]), strict=True):
            afters[i] = self._checked(boards[i], dice[i], steps)
        return afters

    def close(self) -> None:
        """End the processes; the player must not be used afterwards."""
        for process in self._processes:
            process.close()
        self._processes = []

    def __enter__(self) -> GnubgPlayer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answers(self, questions: list[tuple[Board, NDArray[np.int64]]]) -> list[bytes]:
        """The steps of each play, in the order of the questions."""
        wanted = min(self._room, len(questions))
        for _ in range(wanted - len(self._processes)):
            self._processes.append(_Process(self._program, self._level))
        used = self._processes[:wanted]
        for k, process in enumerate(used):
            process.ask(questions[k::wanted])
        answers = [b""] * len(questions)
        for k, process in enumerate(used):
            answers[k::wanted] = process.answers(len(questions[k::wanted]))
        return answers

    @staticmethod
    def _checked(board: Board, roll: NDArray[np.int64], steps: bytes) -> Board:
        after = after_steps(board, steps)
        plays = legal_plays(board, int(roll[0]), int(roll[1]), 0)
        if not (plays == after).all(axis=1).any():
            shown = " ".join(f"{a}/{b}" for a, b in zip(steps[::2], steps[1::2], strict=True) if a)
            raise InfrastructureError(f"gnubg played {shown} with {roll[0]}-{roll[1]}, which is illegal here")
        return after


class _Process:
    """One process of the program with its pipes; it may still be starting when its first questions are sent."""

    def __init__(self, program: str, level: int) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._starting = True
        # The home goes once the program is up, so that nothing is left behind when this process is killed: the program
        # then ends with its pipe.
        self._folder = tempfile.TemporaryDirectory(prefix="gammonfarm-gnubg-")
        path = Path(self._folder.name) / "player.py"
        cache = ("set cache 1024",) if level == 1 else ()  # positions hardly come again where only plays are valued
        settings = (*QUIET, *cache, "new session")
        script = _SCRIPT.format(requests=requests, answers=answers, plies=level - 1, steps=_STEPS, settings=settings)
        path.write_text(script, encoding="utf-8")
        home = self._folder.name
        try:
            self._process = subprocess.Popen(
                [program, "-t", "-q", "-p", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=variables_at(home),
                cwd=home,
                pass_fds=(requests, answers),
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._requests)
            os.close(self._answers)
            self._folder.cleanup()
            raise InfrastructureError(f"gnubg can't be started ({error.strerror})") from error
        finally:
            os.close(requests)
            os.close(answers)

    def ask(self, questions: Sequence[tuple[Board, NDArray[np.int64]]]) -> None:
        """Send positions with dice."""
        text = struct.pack("<H", len(questions))
        for board, roll in questions:
            opponent, mover = gnubg_board(board)
            text += bytes((*opponent, *mover, int(roll[0]), int(roll[1])))
        try:
            while text:
                text = text[os.write(self._requests, text) :]
        except OSError as error:
            raise InfrastructureError("gnubg has ended") from error

    def answers(self, count: int) -> list[bytes]:
        """The steps of so many plays."""
        if self._starting:
            if self._read(1, _START_DEADLINE) != _READY:
                raise InfrastructureError("gnubg did not start as expected")
            self._starting = False
            self._folder.cleanup()
        text = self._read(count * _STEPS, _DEADLINE)
        return [text[i : i + _STEPS] for i in range(0, len(text), _STEPS)]

    def close(self) -> None:
        """End it."""
        os.close(self._requests)
        os.close(self._answers)
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def _read(self, count: int, seconds: float) -> bytes:
        text = b""
        ends = time.monotonic() + seconds
        while len(text) < count:
            if not select.select([self._answers], [], [], max(ends - time.monotonic(), 0.0))[0]:
                raise InfrastructureError(f"gnubg did not answer within {seconds:.0f} s")
            part = os.read(self._answers, count - len(text))
            if not part:
                raise InfrastructureError("gnubg has ended")
            text += part
        return text
