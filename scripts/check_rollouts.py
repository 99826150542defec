"""Our rollouts with the cube beside those of others: a book at match scores, published rollouts, GNU Backgammon's own.

    python -m scripts.check_rollouts book DATA/benchmarks/xg_book_half.jsonl
    python -m scripts.check_rollouts published DATA/benchmarks/reference_rollouts.json
    python -m scripts.check_rollouts gnubg POSITIONS.txt             (XGIDs before the roll, money, X on roll)

Trials are kept like those of any rollout: the same command goes on where it was stopped. Each line says both equities
and whether ours is inside what a different engine of the same strength may say: three half-widths of the 95 % interval,
and 0.02 for the bias of either net.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.bench.gnubg_cube import gnubg_cube_rollout
from cluster.cli.options import chosen_nets
from cluster.coordinator import RolloutRun
from cluster.executor import InlineExecutor
from cluster.planner import plan
from cluster.redis_store import open_store
from cluster.schemas import RolloutRequest, RolloutResult
from cluster.settings import load_settings
from cluster.store import Store
from engine.bearoff import open_databases
from engine.board import flip
from engine.evaluator import Evaluator, Nets
from engine.gnuid import parse_position_id
from engine.match import MatchState
from engine.notation import format_play, parse_play
from engine.position import Position
from engine.rules import INTERNATIONAL
from engine.tally import Estimate
from engine.xgid import format_xgid, parse_xgid
from workers.gnubg_program import find_gnubg

HALF_WIDTHS = 3.0
BIAS = 0.02
_95 = 1.96


@dataclass(frozen=True, slots=True)
class Compared:
    """An equity by others and by us, in units of the cube (EMG)."""

    what: str
    theirs: Estimate
    """Without a known error: 0."""
    ours: Estimate

    @property
    def difference(self) -> float:
        """Ours less theirs."""
        return self.ours.mean - self.theirs.mean

    @property
    def allowed(self) -> float:
        """How far apart the two may be."""
        return HALF_WIDTHS * _95 * math.hypot(self.theirs.se, self.ours.se) + BIAS

    def __str__(self) -> str:
        verdict = "ok" if abs(self.difference) <= self.allowed else "OUTSIDE"
        return (
            f"{self.what}: {self.theirs.mean:+.4f} ± {self.theirs.se:.4f}, ours {self.ours.mean:+.4f} ± "
            f"{self.ours.se:.4f}, difference {self.difference:+.4f} of {self.allowed:.4f} {verdict}"
        )


class Rollouts:
    """Ordinary rollouts, in this process."""

    def __init__(self, store: Store, nets: Nets, trials: int) -> None:
        self._store = store
        self._nets = nets
        self._trials = trials
        self._evaluator = Evaluator(nets, open_databases().arrays)
        self._executor = InlineExecutor()

    def __call__(self, position: str, plays: tuple[str, ...] = ()) -> RolloutResult:
        """Of a cube decision, or of some plays with the cube in play."""
        request = RolloutRequest(position=position, plays=plays, trials=self._trials, cube=True, block=108)
        question = plan(request, self._evaluator)
        run = RolloutRun(request, question, self._nets, self._store)
        return run.run(lambda: self._executor, lambda _: None).result


def book(file: Path, rollouts: Rollouts) -> Iterator[Compared]:
    """The best two plays of each first roll that the book knows at a match score, as in normal games: where one side
    alone needs one point, the book doesn't say whether it is the Crawford game.
    """
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        length = int(entry["length"])
        scores = tuple(entry["score_p1_p2"])
        mine, other = scores if entry["mover_is"] == "p1" else scores[::-1]
        away = (length - mine, length - other)
        if length == 0 or min(away) == 1 < max(away):
            continue
        board, (high, low) = parse_position_id(entry["pos"]), sorted(entry["dice"], reverse=True)
        position = Position(board, MatchState(length=length, score=(mine, other)), (high, low))
        listed = {}
        for candidate in [c for c in entry["cand"] if c["level"] == "book"][:2]:
            after = flip(parse_position_id(candidate["after"]))
            listed[format_play(board, after, (high, low), INTERNATIONAL)] = float(candidate["equity"])
        rolled = {c.play: c for c in rollouts(format_xgid(position), tuple(listed)).candidates}
        for play, equity in listed.items():
            ours = rolled[play]
            what = f"{away[0]}-away/{away[1]}-away {high}{low} {play}"
            yield Compared(what, Estimate(equity, 0.0), Estimate(ours.equity, ours.se))


def published(file: Path, rollouts: Rollouts) -> Iterator[Compared]:
    """Rollouts that people posted: cube decisions, and plays with the cube in play; half-widths of 95 % unless said."""
    for entry in json.loads(file.read_text(encoding="utf-8")):
        xgid = f"XGID={entry['xgid']}"
        unit = 1.0 if entry.get("ci_kind") == "standard error" else 1.0 / _95
        if entry["type"] == "cube":
            told = [(name, entry[name], entry.get(f"{name}_ci")) for name in ("nd", "dt")]
            ours = rollouts(xgid).candidates
        else:
            position = parse_xgid(xgid)
            assert position.dice is not None
            told = []
            for text, equity, width in entry["moves"]:
                after = parse_play(text, position.board, position.dice, INTERNATIONAL)
                told.append((format_play(position.board, after, position.dice, INTERNATIONAL), equity, width))
            by_play = {c.play: c for c in rollouts(xgid, tuple(play for play, *_ in told)).candidates}
            ours = tuple(by_play[play] for play, *_ in told)
        for (name, equity, width), our in zip(told, ours, strict=True):
            theirs = Estimate(equity, unit * (width or 0.0))
            yield Compared(f"{entry['id']} {name}", theirs, Estimate(our.equity, our.se))


def gnubg(file: Path, rollouts: Rollouts, trials: int) -> Iterator[Compared]:
    """Both branches of each cube decision, by GNU Backgammon at its 0-ply and by us at 1-ply."""
    program = find_gnubg()
    lines = file.read_text(encoding="utf-8").splitlines()
    for xgid in (line.strip() for line in lines if line.strip() and not line.startswith("#")):
        theirs = gnubg_cube_rollout(program, xgid, trials)
        ours = rollouts(xgid).candidates
        for name, one, our in zip(
            ("no double", "double/take"), (theirs.no_double, theirs.double_take), ours, strict=True
        ):
            yield Compared(f"{xgid} {name}", one, Estimate(our.equity, our.se))


def main() -> None:
    """Print every comparison as it comes, and how many are outside."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("against", choices=["book", "published", "gnubg"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--trials", type=int, default=1296, help="ours")
    parser.add_argument("--their-trials", type=int, default=648, help="GNU Backgammon's")
    options = parser.parse_args()
    with open_store(load_settings()) as store:
        rollouts = Rollouts(store, chosen_nets(None), options.trials)
        comparisons = {
            "book": lambda: book(options.file, rollouts),
            "published": lambda: published(options.file, rollouts),
            "gnubg": lambda: gnubg(options.file, rollouts, options.their_trials),
        }
        found = []
        for compared in comparisons[options.against]():
            found.append(compared)
            print(compared, flush=True)
    outside = sum(abs(one.difference) > one.allowed for one in found)
    mean = sum(one.difference for one in found) / len(found)
    absolute = sum(abs(one.difference) for one in found) / len(found)
    print(f"{len(found)} equities, {outside} outside; mean difference {mean:+.4f}, mean absolute {absolute:.4f}")


if __name__ == "__main__":
    main()
