"""What GNU Backgammon writes about plays (`A`) and cube decisions (`DA`) into an SGF.

    A[0][mhxv E ver 3 0.508 0.134 0.006 0.131 0.004 0.029 0C 0 1 0.000000 1][...]
      |   |   |       five probabilities            |     plies, C = cubeful
      |   play evaluated (R: rolled out)            equity, normalised in a match
      which one was played
    DA[E ver 3 0C 1 0.000000 1 ND: five probabilities, cubeless, cubeful; DT: the same]

In `DA` the cubeful values are match-winning chances in a match and equities for money. Values of rollouts stand after
`Output`: five probabilities, cubeless and cubeful equity.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from engine.notation import Spoken
from engine.position import Player
from engine.records.record import Candidate, Chances, CubeAnalysis, PlayAnalysis, Unit

_FLOAT = r"[-+]?(?:\d{1,20}\.?\d{0,20}|\.\d{1,20})(?:[eE][-+]?\d{1,3})?"
_NUMBER = re.compile(_FLOAT, re.ASCII)
_PLAY = re.compile(rf"(\S*)\s+E\s+ver\s+\d+\s+((?:{_FLOAT}\s+){{6}})(\d{{1,2}})(C?)\b.*", re.ASCII | re.DOTALL)
_CUBE = re.compile(rf"\s*E\s+ver\s+\d+\s+(\d{{1,2}})(C?)\s+\d+\s+{_FLOAT}\s+\d+\s+(.*)", re.ASCII | re.DOTALL)
_TRIALS = re.compile(r"Trials\s+(\d{1,9})", re.ASCII)
_OUTPUT = re.compile(rf"Output\s+((?:{_FLOAT}\s+){{6}}{_FLOAT})", re.ASCII)
_MOST = 100
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def read_move(letters: str, player: Player) -> Spoken | None:
    """Pairs of letters: `a` to `x` are White's points 1 to 24, `y` a bar, `z` off; None if they are none."""
    pairs = letters.strip()
    if len(pairs) % 2 or len(pairs) > 16:
        return None
    segments = []
    for start, end in zip(pairs[::2], pairs[1::2], strict=True):
        if start not in _LETTERS or end not in _LETTERS:
            return None
        first, last = _place(start, player), _place(end, player)
        if first <= last:
            return None
        segments.append((first, last))
    return Spoken(tuple(segments))


def write_move(spoken: Spoken, player: Player) -> str:
    """The letters of a play, step by step."""
    return "".join(_letter(place, player) for segment in spoken.segments for place in segment)


def play_analysis(
    values: Sequence[str], luck: float | None, program: str, player: Player
) -> tuple[PlayAnalysis | None, list[Spoken]]:
    """Property `A`: the analysis, and what it says about each of its plays."""
    candidates: list[Candidate] = []
    spoken: list[Spoken] = []
    for value in values[:_MOST]:
        words = value.strip()
        move = read_move(words.split(" ", 1)[0], player) if " " in words else None
        if move is None:
            continue
        candidate = _evaluated(words) or _rolled_out(words)
        if candidate is not None:
            candidates.append(candidate)
            spoken.append(move)
    if not candidates and luck is None:
        return None, []
    return PlayAnalysis(tuple(candidates), luck, program), spoken


def cube_analysis(value: str, program: str, is_money: bool) -> CubeAnalysis | None:
    """Property `DA`, in the view of the player who could double."""
    unit = Unit.EQUITY if is_money else Unit.MWC
    found = _CUBE.fullmatch(value)
    if found is not None:
        numbers = _numbers(found[3])
        level = f"{found[1]}-ply {'cubeful' if found[2] else 'cubeless'}"
        if numbers is None or len(numbers) < 14:
            return None
        return CubeAnalysis(unit, numbers[6], numbers[13], None, Chances(*numbers[:5]), level, program, value)
    outputs = [_numbers(output[1]) for output in _OUTPUT.finditer(value)]
    if len(outputs) < 2 or outputs[0] is None or outputs[1] is None:
        return None
    level = _rollout_level(value)
    return CubeAnalysis(unit, outputs[0][6], outputs[1][6], None, Chances(*outputs[0][:5]), level, program, value)


def luck_of(values: Sequence[str]) -> float | None:
    """Property `LU`; GNU Backgammon writes -inf where it said nothing."""
    numbers = _numbers(values[0]) if values else None
    return numbers[0] if numbers else None


def _evaluated(words: str) -> Candidate | None:
    found = _PLAY.fullmatch(words)
    numbers = _numbers(found[2]) if found is not None else None
    if found is None or numbers is None:
        return None
    level = f"{found[3]}-ply {'cubeful' if found[4] else 'cubeless'}"
    return Candidate("", numbers[5], Chances(*numbers[:5]), level, words)


def _rolled_out(words: str) -> Candidate | None:
    output = _OUTPUT.search(words)
    numbers = _numbers(output[1]) if output is not None else None
    if numbers is None:
        return None
    return Candidate("", numbers[6], Chances(*numbers[:5]), _rollout_level(words), words)


def _rollout_level(words: str) -> str:
    trials = _TRIALS.search(words)
    return f"rollout, {trials[1]} trials" if trials is not None else "rollout"


def _numbers(text: str) -> list[float] | None:
    words = text.split()
    if not all(_NUMBER.fullmatch(word) for word in words):
        return None
    numbers = [float(word) for word in words]
    return numbers if all(map(math.isfinite, numbers)) else None


def _place(letter: str, player: Player) -> int:
    index = _LETTERS.index(letter) + 1
    if index > 24:
        return 25 if letter == "y" else 0
    return index if player is Player.X else 25 - index


def _letter(place: int, player: Player) -> str:
    if place in (0, 25):
        return "y" if place else "z"
    return _LETTERS[(place if player is Player.X else 25 - place) - 1]
