"""Fit the efficiency of the cube to our own rollouts with the cube, and write it as a file of `configs/cube/`.

    python -m scripts.fit_efficiency --folder runs/efficiency --out configs/cube/fitted.toml

Positions come from self-play of the shipped net (never from benchmark data): of each class of `engine.efficiency` some
in which a double is worth a thought. Each is rolled out for money in three states of the cube: centred, owned by the
player on roll, owned by the opponent. Finished positions are kept in the folder; the same command goes on after them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from cluster.cli.options import chosen_nets
from engine.bearoff import Bearoff, open_databases
from engine.board import Board, flip
from engine.cube import CubeBranch, CubePlay
from engine.cubeful import CubefulEvaluator
from engine.decision import equities_of
from engine.efficiency import CLASSES, CubeEfficiency, load_efficiency
from engine.evaluator import Evaluator, Nets
from engine.match import CubeOwner, MatchState
from engine.position import Position
from engine.rollout import Candidate, Roller, RolloutSettings
from engine.rules import INTERNATIONAL
from engine.tally import Tally
from engine.xgid import format_xgid
from training.cube_efficiency import CubeSample, EfficiencyFit, class_of, ends_of, fit
from training.selfplay import play_round

GAMES = 6000
SEED = 20_261_130
NEAR = 0.2
"""Equity by which a double may look worse than rolling at 1-ply."""
PASSED = 1.25
"""What double/take may look worth: beyond, nobody thinks about it."""
CENTRED = MatchState()
OWNED = MatchState(cube_value=2, cube_owner=CubeOwner.MOVER)
BY_PIPS = ("race",)


def decisions(nets: Nets, databases: Bearoff) -> Iterator[tuple[str, Board]]:
    """(class, position before the roll) of self-play where a double is worth a thought, in a random order."""
    afters = play_round(nets, INTERNATIONAL, SEED, 0, GAMES, 0.0).boards
    evaluator = CubefulEvaluator(Evaluator(nets, databases.arrays))
    for number in np.random.default_rng(SEED).permutation(len(afters)):
        board = flip(afters[number])
        if not ((board > 0).any() and (board < 0).any()) or evaluator.is_exact(board, CENTRED):
            continue
        found = equities_of(evaluator.before_roll(board, CENTRED))
        assert found.taken is not None
        if min(found.taken, 1.0) > found.no_double - NEAR and found.taken < PASSED:
            yield class_of(board), board


def roll_out(board: Board, kind: str, roller: Roller, efficiency: CubeEfficiency, trials: int) -> list[CubeSample]:
    """The three states of the cube."""
    name = format_xgid(Position(board, CENTRED))
    pips = int(sum(int(count) * place for place, count in enumerate(board) if count > 0))
    samples = []
    for match, branch in (
        (CENTRED, CubeBranch.NO_DOUBLE),
        (OWNED, CubeBranch.NO_DOUBLE),
        (CENTRED, CubeBranch.DOUBLE_TAKE),
    ):
        settings = RolloutSettings(INTERNATIONAL, seed=SEED, cube=CubePlay.of(match, None, efficiency))
        tally = Tally.of([roller.trials(Candidate.before_roll(board, branch), settings, 0, trials)], INTERNATIONAL)
        doubled = branch is CubeBranch.DOUBLE_TAKE
        dead, live = ends_of([chance.mean for chance in tally.outcome(0)], match, doubled=doubled)
        rolled = tally.equity(0).mean / (2.0 if doubled else 1.0)
        samples.append(CubeSample(name, kind, pips, dead, live, rolled))
    return samples


def collect(folder: Path, per_class: int, trials: int) -> list[CubeSample]:
    """The samples of all classes; those that are in the folder are not rolled out again."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"samples-{trials}.jsonl"
    known = [CubeSample(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    done = {sample.position for sample in known}
    left = dict.fromkeys(CLASSES, per_class)
    nets, databases, efficiency = chosen_nets(None), open_databases(), load_efficiency()
    roller = Roller(nets, databases.arrays)
    wanted: list[CubeSample] = []
    by_position = {name: [s for s in known if s.position == name] for name in done}
    for kind, board in decisions(nets, databases):
        if left[kind] == 0:
            continue
        left[kind] -= 1
        name = format_xgid(Position(board, CENTRED))
        if name not in by_position:
            by_position[name] = roll_out(board, kind, roller, efficiency, trials)
            with file.open("a") as out:
                out.writelines(json.dumps(asdict(sample)) + "\n" for sample in by_position[name])
        wanted += by_position[name]
        if not any(left.values()):
            break
    return wanted


def left_by(samples: list[CubeSample], efficiency: CubeEfficiency) -> float:
    """Root mean square error of the equities by an efficiency as it is."""
    row = efficiency.rows[CLASSES.index(samples[0].kind)]
    errors = []
    for s in samples:
        x = min(max(float(row[0] + row[1] * s.pips), float(row[2])), float(row[3]))
        errors.append(s.dead + x * (s.live - s.dead) - s.rolled)
    return float(np.sqrt(np.mean(np.square(errors))))


def text_of(fits: list[EfficiencyFit], net: str, trials: int) -> str:
    """The file."""
    counts = ", ".join(f"{one.kind} {one.positions}" for one in fits)
    source = (
        f"Fitted by scripts/fit_efficiency.py to rollouts with the cube of {trials} trials a state, money, by net "
        f"{net}: positions of self-play where a double is worth a thought ({counts})"
    )
    lines = [
        "# Efficiency of the cube, by class of position: see published.toml for the format, docs/cube.md for the fit.",
        f'source = "{source}"',
    ]
    for one in fits:
        low, high = one.interval95
        lines += [
            "",
            f"[{one.kind}] # {one.middle:.3f} at the mean pips, 95 % {low:.3f} to {high:.3f}",
            f"constant = {one.constant:.4f}",
            f"per_pip = {one.per_pip:.6f}",
            f"least = {one.least:.4f}",
            f"most = {one.most:.4f}",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Collect, fit, write, and say how the fit compares with the published numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where finished positions are kept")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--positions", type=int, default=150, help="of each class")
    parser.add_argument("--trials", type=int, default=324, help="of each state of the cube")
    options = parser.parse_args()
    samples = collect(options.folder, options.positions, options.trials)
    fits = []
    for kind in CLASSES:
        mine = [sample for sample in samples if sample.kind == kind]
        found = fit(kind, mine, by_pips=kind in BY_PIPS)
        fits.append(found)
        low, high = found.interval95
        print(
            f"{kind}: x {found.middle:.3f} (95 % {low:.3f} to {high:.3f}), {found.positions} positions; "
            f"rms {found.rms:.4f}, by the published x {left_by(mine, load_efficiency()):.4f}"
        )
    options.out.write_text(text_of(fits, chosen_nets(None).digest, options.trials))


if __name__ == "__main__":
    main()
