"""Answers of `gammonfarm met`: tables, scores, and cubeless tables from rollouts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from cluster.met_schemas import MetComputedReport, MetInfo, MetScoreReport, MetTableReport, SideStakes
from engine.bearoff import Bearoff
from engine.errors import InputError
from engine.evaluator import Nets
from engine.game_chances import EstimatedChances, estimate_chances
from engine.match import DEFAULT_CUBE_CAP, MatchState
from engine.met import MAX_AWAY, MatchEquityTable, load_met
from engine.met.stakes import CubeStakes, game_values, take_points
from engine.rollout import RESULT_VERSION, RolloutSettings
from engine.rules import rule_set


def describe(met: MatchEquityTable) -> MetInfo:
    """Which table."""
    return MetInfo(
        name=met.name, source=met.source, rules=met.rules, cube=met.cube, length=met.length, digest=met.digest
    )


def table_report(met: MatchEquityTable, length: int) -> MetTableReport:
    """The table up to `length` points.

    Raises:
        InputError: an impossible length.
    """
    if not 1 <= length <= MAX_AWAY:
        raise InputError("length", length, f"a whole number from 1 to {MAX_AWAY}")
    rows = met.pre_crawford[:length, :length].tolist()
    return MetTableReport(
        met=describe(met),
        pre_crawford=tuple(tuple(row) for row in rows),
        post_crawford=tuple(met.post_crawford[:length].tolist()) if met.cube else None,
    )


def match_at(met: MatchEquityTable, away: tuple[int, int], cube: int, crawford: bool | None) -> MatchState:
    """The match at a score, before the game, as it is played with this table.

    Args:
        away: points that (own side, opponent) need.
        crawford: whether this is the Crawford game; None where that can be told from the score.

    Raises:
        InputError: a score or a cube that cannot be, or one point needed and nothing said about the Crawford game.
    """
    shown = f"{away[0]} {away[1]}"
    if not 1 <= min(away) <= max(away) <= MAX_AWAY:
        raise InputError("away", shown, f"two numbers of points from 1 to {MAX_AWAY}")
    if min(away) > 1 and crawford is not None:
        raise InputError("away", shown, "a side that needs one point, since the Crawford game is spoken of")
    if crawford is None and min(away) == 1 and max(away) > 1 and met.cube:
        raise InputError("away", shown, "--crawford or --post-crawford beside it, since a side needs one point")
    length = max(away)
    return MatchState(
        length=length,
        score=(length - away[0], length - away[1]),
        cube_value=cube,
        cube_cap=max(DEFAULT_CUBE_CAP, cube) if met.cube else 1,
        crawford=bool(crawford),
        rules=rule_set(met.rules),
    )


def score_report(met: MatchEquityTable, match: MatchState) -> MetScoreReport:
    """Chances, take points and gammon values of both sides.

    Raises:
        InputError: a score beyond what tables hold.
    """
    own, opponent = take_points(match, met)
    return MetScoreReport(
        met=describe(met),
        crawford=match.crawford,
        post_crawford=match.post_crawford and met.cube,
        cube=match.cube_value,
        own=_side(met, match, own),
        opponent=_side(met, match.flip(), opponent),
    )


def _side(met: MatchEquityTable, match: MatchState, stakes: CubeStakes) -> SideStakes:
    values = game_values(match, met, 0)[0].tolist()
    return SideStakes(
        points_away=match.length - match.score[0],
        mwc=met.before(match),
        after_win=(values[0], values[1], values[2]),
        after_loss=(values[3], values[4], values[5]),
        take_point_dead=stakes.take_point_dead,
        take_point_live=stakes.take_point_live,
        gammon_value=stakes.gammon_value,
        backgammon_value=stakes.backgammon_value,
    )


def compute_table(
    path: Path,
    nets: Nets,
    open_databases: Callable[[], Bearoff],
    settings: RolloutSettings,
    trials: int,
    length: int,
    progress: Callable[[float], None] | None = None,
) -> MetComputedReport:
    """Estimate how games end, write a cubeless table to `path` and read it back.

    Raises:
        InputError: a path that doesn't end in `.toml` or can't be written, an impossible length, or no trials.
    """
    if path.suffix != ".toml":
        raise InputError("file", path, "a name that ends in .toml")
    if not 1 <= length <= MAX_AWAY:
        raise InputError("length", length, f"a whole number from 1 to {MAX_AWAY}")
    started = time.perf_counter()
    found = estimate_chances(nets, open_databases().arrays, settings, trials, progress)
    try:
        path.write_text(_as_toml(found, nets, settings, length), encoding="utf-8")
    except OSError as error:
        raise InputError("file", path, f"a file that can be written ({error.strerror})") from error
    return MetComputedReport(
        met=describe(load_met(str(path))),
        file=str(path),
        win=found.chances.win,
        lose=found.chances.lose,
        se=found.se,
        trials=found.trials,
        net=nets.digest,
        seconds=time.perf_counter() - started,
    )


def _as_toml(found: EstimatedChances, nets: Nets, settings: RolloutSettings, length: int) -> str:
    rules = settings.rules.name
    win, lose = (", ".join(f"{p:.6f}" for p in side) for side in (found.chances.win, found.chances.lose))
    return f"""\
name = "{rules} without a cube"
source = "computed by gammonfarm: chances of a game from {found.trials} trials at {settings.level}-ply, exact recursion"
rules = "{rules}"
length = {length}

# Chances of the side that begins to win or lose exactly a single game, a gammon, a backgammon.
[game]
win = [{win}]
lose = [{lose}]

[made_with]
net = "{nets.digest}"
level = {settings.level}
seed = {settings.seed}
trials = {found.trials}
standard_error = {found.se:.6f}  # the largest one of the cumulative chances
result_version = {RESULT_VERSION}
"""
