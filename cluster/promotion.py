"""Whether a net becomes champion: only on a test with an error bar, never on a noisy best score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cluster.match_schemas import MatchReport, PairedBenchmark
from training.match import Verdict

if TYPE_CHECKING:
    from training.registry import Promotion, RegisteredNet


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a net is promoted, and why in one line."""

    promoted: bool
    reason: str


def decide(match: MatchReport | None, benchmark: PairedBenchmark | None) -> Decision:
    """The decision on a candidate (A of both) against the champion; without a match there was no champion to beat.

    The match must have proven the candidate better; the benchmark, where there is one, must not have proven it worse.
    """
    if match is None:
        return Decision(True, "there was no champion yet")
    r = match.result
    low, high = r.estimate.interval95
    found = f"{r.estimate.points:+.4f} points per game ({low:+.4f} to {high:+.4f}) over {r.games:,} games"
    if r.verdict is not Verdict.A_BETTER:
        return Decision(False, f"not proven better than the champion: {found}")
    if benchmark is not None and benchmark.interval95[0] > 0.0:
        low, high = benchmark.interval95
        worse = f"{benchmark.difference:+.2f} mEq per decision ({low:+.2f} to {high:+.2f})"
        return Decision(False, f"wins the match ({found}), but is worse on {benchmark.file}: {worse}")
    return Decision(True, f"better than the champion: {found}")


def evidence(
    replaced: RegisteredNet | None, match: MatchReport | None, benchmark: PairedBenchmark | None, forced: str | None
) -> Promotion:
    """What is kept with a promoted net."""
    from training.registry import promotion_now

    estimate = match.result.estimate if match else None
    return promotion_now(
        replaced=replaced.digest if replaced else None,
        points=estimate.points if estimate else None,
        low=estimate.interval95[0] if estimate else None,
        high=estimate.interval95[1] if estimate else None,
        games=match.result.games if match else 0,
        benchmark_difference=benchmark.difference if benchmark else None,
        forced=forced,
    )
