"""An archive analysed by a farm: each match is a job, and the answers come back in the order of the files.

Files are read here, so that copies and what can't be read are known as always; a match is sent as its file's bytes. The
answer is the one that this machine would find: it depends on the match and the conditions alone.
"""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cluster.archive.analysis import AnalysedMatch, Counted
from cluster.archive.files import FoundFile, Reader, Skipped, printable
from cluster.archive.matches import Matches
from cluster.archive.policy import known_policies
from cluster.archive.session import AnalysisRequest
from cluster.archive.work import MatchWork
from cluster.client import Client
from cluster.client_calls import submission
from cluster.farm.analyse_job import MOST_LETTERS, AnalyseRequest, AnalyseResult
from cluster.service_models import BatchLine, Problem
from cluster.store import JobKind
from engine.bearoff import TWO_SIDED_CHECKERS
from engine.errors import InfrastructureError, InputError

_MATCHES, _LETTERS = 100, 4_000_000
"""At most so much in one batch; two of them are on the farm at a time."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """Files in their order, and the jobs of those that were sent."""

    batch: str | None
    works: tuple[tuple[MatchWork, str] | Skipped, ...]


class FarmAnalysis:
    """See `Analysis`; whose values came from where, the farm knows."""

    def __init__(self, client: Client, request: AnalysisRequest, net: str) -> None:
        """
        Args:
            net: what the farm calls the net.

        Raises:
            InputError: something that a farm doesn't do: it looks into the books that come with gammonfarm, beside its
                own values, and into the usual bear-off databases.
        """
        lookup, conditions, policy = request.lookup, request.conditions, request.policy
        if policy.name not in known_policies():
            raise InputError("policy", policy.name, f"one that comes with gammonfarm: {', '.join(known_policies())}")
        if conditions.bearoff_checkers != TWO_SIDED_CHECKERS:
            raise InputError("bearoff_checkers", conditions.bearoff_checkers, f"{TWO_SIDED_CHECKERS} on a farm")
        if lookup.instead:
            raise InputError("from_book", "true", "an analysis on this machine")
        if lookup.books is not None and not lookup.books.shipped:
            raise InputError("book", "another one", "the books that come with gammonfarm, or none")
        self._client, self._net = client, net
        self._matches = Matches(conditions)
        self._books = lookup.books
        self._asked = AnalyseRequest(
            policy=policy.name,
            level=policy.level,
            rollout_close=policy.rollout_close,
            met=conditions.met,
            efficiency=conditions.efficiency_name,
            language=request.language,
            books=lookup.books is not None,
        )
        self.counted = Counted()

    def run(self, files: Sequence[FoundFile]) -> Iterator[AnalysedMatch | Skipped]:
        """One answer for each file, in their order. Ctrl-C leaves the jobs running: the same command finds them.

        Raises:
            InfrastructureError: the farm is away. InputError: it refuses such questions.
        """
        ahead: deque[_Sent] = deque()
        for sent in self._sent(files):
            ahead.append(sent)
            if len(ahead) > 1:
                yield from self._answers(ahead.popleft())
        for sent in ahead:
            yield from self._answers(sent)

    def _sent(self, files: Sequence[FoundFile]) -> Iterator[_Sent]:
        window: list[tuple[MatchWork, str] | Skipped] = []
        letters = 0
        for work in Reader(self._matches).read(files):
            if isinstance(work, Skipped):
                window.append(work)
                continue
            content = base64.b64encode(work.path.read_bytes()).decode()
            if len(content) > MOST_LETTERS:
                window.append(Skipped(work.shown, f"too long for a farm (more than {MOST_LETTERS:,} letters)"))
                continue
            window.append((work, content))
            letters += len(content)
            if len(window) >= _MATCHES or letters >= _LETTERS:
                yield self._submitted(window)
                window, letters = [], 0
        yield self._submitted(window)

    def _submitted(self, window: list[tuple[MatchWork, str] | Skipped]) -> _Sent:
        contents = [one[1] for one in window if not isinstance(one, Skipped)]
        if not contents:
            return _Sent(None, tuple(window))
        questions = (self._asked.model_copy(update={"base64": content}) for content in contents)
        view = self._client.submit_batch([submission(JobKind.ANALYSE, one, net=self._net) for one in questions])
        items = iter(view.items)
        works: list[tuple[MatchWork, str] | Skipped] = []
        for one in window:
            if isinstance(one, Skipped):
                works.append(one)
                continue
            item = next(items)
            if item.job is None:
                works.append(_unanswered(one[0], item.problem, "it was refused"))
            else:
                works.append((one[0], item.job))
        return _Sent(view.batch, tuple(works))

    def _answers(self, sent: _Sent) -> Iterator[AnalysedMatch | Skipped]:
        lines: dict[str, BatchLine] = {}
        coming = iter(self._client.batch_results(sent.batch)) if sent.batch is not None else iter(())
        for one in sent.works:
            if isinstance(one, Skipped):
                yield one
                continue
            work, job = one
            while job not in lines:
                line = next(coming, None)
                if line is None:
                    raise InfrastructureError("the farm's answers ended before the last one")
                lines[line.job] = line
            yield self._match(work, lines[job])

    def _match(self, work: MatchWork, line: BatchLine) -> AnalysedMatch | Skipped:
        if line.answer is None:
            return _unanswered(work, line.problem, line.state.value)
        found = AnalyseResult.model_validate(line.answer.result)
        self.counted.decisions += len(work.asked)
        if self._books is not None:
            self._books.meet(work.record.match.rules.name)
        return AnalysedMatch(replace(found.analysis, file=work.shown), found.tallies, work)


def _unanswered(work: MatchWork, problem: Problem | None, otherwise: str) -> Skipped:
    why = otherwise if problem is None else problem.detail or problem.title
    return Skipped(work.shown, printable(f"the farm: {why}"))
