"""The gate's verdict: the match decides where there is one, and the benchmark may object."""

from __future__ import annotations

import pytest

from cluster.match_gate import match_gate
from cluster.settings import load_settings
from engine.errors import InputError
from engine.tally import Estimate
from training import match
from training.compare import PairedScore
from training.gate import GateResult, MatchScore, Verdict

WON, LOST, OPEN = match.Verdict.A_BETTER, match.Verdict.B_BETTER, match.Verdict.UNDECIDED
MATCHES = {
    verdict: MatchScore(verdict, Estimate(points, 0.01), (points - 0.02, points + 0.02), 2000)
    for verdict, points in ((WON, 0.05), (LOST, -0.05), (OPEN, 0.01), (match.Verdict.EQUAL, 0.0))
}


def on_benchmark(difference: float) -> PairedScore:
    """What the net loses more than the champion, known to about 1 mEq either way."""
    return PairedScore(500, 8.0 + difference, 8.0, difference, 0.5, 40)


@pytest.mark.parametrize(
    ("difference", "played", "verdict"),
    [
        (-2.0, None, Verdict.BETTER),
        (2.0, None, Verdict.WORSE),
        (-0.5, None, Verdict.UNDECIDED),
        (None, WON, Verdict.BETTER),
        (None, LOST, Verdict.WORSE),
        (None, OPEN, Verdict.UNDECIDED),
        (0.5, WON, Verdict.BETTER),
        (2.0, WON, Verdict.UNDECIDED),  # better in the match, proven worse on the benchmark
        (-2.0, OPEN, Verdict.UNDECIDED),  # a good benchmark alone is not enough where a match was played
        (-2.0, LOST, Verdict.WORSE),
        (-2.0, match.Verdict.EQUAL, Verdict.UNDECIDED),
    ],
)
def test_the_verdict_follows_from_the_evidence(
    difference: float | None, played: match.Verdict | None, verdict: Verdict
) -> None:
    benchmark = None if difference is None else on_benchmark(difference)
    games = None if played is None else MATCHES[played]
    assert GateResult("net", "champion", benchmark, games).verdict is verdict


@pytest.mark.parametrize("games", [2, 7, 3_000_000])
def test_a_number_of_games_that_no_match_has_is_refused_before_anything_starts(games: int) -> None:
    with pytest.raises(InputError, match="gate-games"):
        match_gate(games, load_settings(), lambda: pytest.fail("nothing to play"))
