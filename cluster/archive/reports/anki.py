"""Blunders as flash cards: an Anki package (.apkg). The only module that imports genanki.

A card is known by its position and what was done, so a deck that is imported again brings its cards up to date and
keeps what Anki knows about them.
"""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import dataclass
from html import escape
from pathlib import Path

import genanki

from cluster.archive.reports.boards import decision_board
from cluster.archive.reports.page import cube_lines, question_text
from cluster.archive.reports.words import Words
from cluster.archive.results import DecisionKind, DecisionResult, MatchAnalysis
from engine.analysis.language import Language, percent
from engine.analysis.thresholds import Grade
from engine.board_svg import STYLE

MOST_CARDS = 1000
"""The worst blunders of an archive; more would never be learned."""
DECK_NAME = "gammonfarm: blunders"
_DECK, _MODEL = 1_620_417_031, 1_620_417_032
_CSS = f"""{STYLE}
.card{{font-family:system-ui,sans-serif;font-size:17px;text-align:left;max-width:34rem;margin:0 auto;padding:.5rem}}
table{{border-collapse:collapse;width:100%}}td{{padding:.15rem .4rem;text-align:right}}
td:first-child{{text-align:left}}.soft{{opacity:.7;font-size:.85em}}b{{color:#2c7a3f}}i{{color:#b3261e}}"""


@dataclass(frozen=True, slots=True)
class _Blunder:
    rules: str
    player: str
    source: str
    decision: DecisionResult


class Cards:
    """Collects the worst blunders."""

    def __init__(self, language: Language) -> None:
        self._words = Words(language)
        self._kept: list[tuple[float, int, _Blunder]] = []
        self._seen = 0

    def add(self, analysis: MatchAnalysis) -> None:
        """Take in a match."""
        for one in analysis.decisions:
            if not one.counts or one.grade is not Grade.BLUNDER or one.loss is None:
                continue
            self._seen += 1
            source = f"{analysis.players[0]} – {analysis.players[1]}, {one.game}/{one.turn}, {analysis.file}"
            blunder = _Blunder(analysis.rules, analysis.players[one.player - 1], source, one)
            heapq.heappush(self._kept, (one.loss, -self._seen, blunder))
            if len(self._kept) > MOST_CARDS:
                heapq.heappop(self._kept)

    def write(self, path: Path) -> int:
        """Write the package and say how many cards it has; the largest blunder comes first."""
        deck = genanki.Deck(_DECK, DECK_NAME)
        model = _model()
        for _, _, blunder in sorted(self._kept, key=lambda item: (-item[0], -item[1])):
            deck.add_note(self._note(model, blunder))
        genanki.Package(deck).write_to_file(str(path))
        return len(self._kept)

    def _note(self, model: genanki.Model, blunder: _Blunder) -> genanki.Note:
        one, words = blunder.decision, self._words
        question = question_text(one, escape(blunder.player), words)
        front = f"<p>{question}</p>{decision_board(one, blunder.rules, with_best=False)}"
        back = (
            f"{decision_board(one, blunder.rules)}<p><b>{escape(words.done(one.best))}</b></p>"
            f"<p>{escape(one.sentence)}</p>{self._values(one)}"
            f'<p class="soft">{words("played")}: {escape(words.done(one.done or ""))} · {escape(blunder.source)}</p>'
        )
        known = hashlib.blake2b(f"{one.xgid} {one.done}".encode(), digest_size=10).hexdigest()
        tags = ["gammonfarm", one.type.value.replace(" ", "-"), one.kind.value]
        return genanki.Note(model=model, fields=[one.xgid, front, back], guid=known, tags=tags)

    def _values(self, one: DecisionResult) -> str:
        words = self._words
        if one.kind is DecisionKind.PLAY:
            rows = [
                (
                    f"<i>{escape(c.play)}</i>" if c.play == one.done else escape(c.play),
                    words.number(c.equity, 3, sign=True),
                    words.number(-c.loss, 3) if c.loss else "",
                    percent(c.probabilities[0], words.language),
                )
                for c in one.candidates
                if c.level == one.level
            ]
        else:
            assert one.cube is not None
            lines = cube_lines(one.cube, one.kind)
            rows = [(escape(words.done(name)), words.number(value, 3, sign=True), "", "") for name, value in lines]
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table>{body}</table>"


def _model() -> genanki.Model:
    return genanki.Model(
        _MODEL,
        "gammonfarm decision",
        fields=[{"name": "Position"}, {"name": "Front"}, {"name": "Back"}],
        templates=[{"name": "Decision", "qfmt": "{{Front}}", "afmt": "{{Back}}"}],
        css=_CSS,
    )
