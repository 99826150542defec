"""The match of a training run's gate: the finished net against the champion, on workers that keep every block."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from cluster.executor import Executor
from cluster.match import MatchProgress, NamedNets, check_games, plan_match
from cluster.match_schemas import MAX_GAMES, MatchRequest
from cluster.match_session import play_recorded
from cluster.nets import with_filter
from cluster.redis_store import open_store
from cluster.settings import Settings
from engine.errors import InputError
from engine.rules import RuleSet
from engine.tally import Estimate
from engine.weights import Net
from training.gate import MatchGate, MatchScore
from training.match import LEAST_BETWEEN_LOOKS

_MOST_LOOKS = 10


def match_gate(games: int, settings: Settings, start_executor: Callable[[], Executor]) -> MatchGate:
    """A gate that plays up to `games` games at 1-ply, looks at them up to ten times, and ends as soon as it is decided.

    Finished blocks are kept, so a gate that was interrupted goes on where it was; the match is a run in MLflow too.

    Raises:
        InputError: a number of games that a match can't have.
    """
    if not 4 <= games <= MAX_GAMES:
        raise InputError("gate-games", games, f"an even number of games from 4 to {MAX_GAMES}")
    check_games("gate-games", games)
    looks = max(1, min(_MOST_LOOKS, games // (2 * LEAST_BETWEEN_LOOKS)))

    def play(net: Net, champion: Net, rules: RuleSet, tell: Callable[[str], None]) -> MatchScore:
        request = MatchRequest(games=games, looks=looks, rules=rules.name)
        sides = (NamedNets("net", with_filter(net)), NamedNets("champion", with_filter(champion)))
        question = plan_match(request, *sides)

        def show(progress: MatchProgress) -> None:
            found = f", {progress.estimate.mean:+.3f} points" if progress.tally.pairs else ""
            tell(f"gate: {progress.games_done:,} of {progress.games:,} games{found}")

        with open_store(settings) as store:
            report = play_recorded(question, settings, store, start_executor, nullcontext(show))
        found = report.result.estimate
        return MatchScore(
            verdict=report.result.verdict,
            estimate=Estimate(found.points, found.se),
            interval95=found.interval95,
            games=report.result.games,
        )

    return play
