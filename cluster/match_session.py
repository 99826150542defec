"""A match from its question to its report: on workers that end with it, recorded in MLflow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from cluster.executor import Executor
from cluster.match import MatchProgress, MatchQuestion, MatchRun
from cluster.match_schemas import MatchReport
from cluster.settings import Settings
from cluster.store import Store
from cluster.tracking import track_match


def play_recorded(
    question: MatchQuestion,
    settings: Settings,
    store: Store,
    start_executor: Callable[[], Executor],
    live: AbstractContextManager[Callable[[MatchProgress], None]],
) -> MatchReport:
    """Play a match.

    Args:
        start_executor: called only if a game has to be played. live: shows how far the match is while it lasts.
    """
    with ExitStack() as stack:

        def executor() -> Executor:
            made = start_executor()
            stack.callback(made.close)
            return made

        tracked = track_match(settings, question)
        try:
            with live as show:
                report = MatchRun(question, store).run(executor, show)
        except BaseException:
            tracked.failed()
            raise
        tracked.finished(report)
        return report
