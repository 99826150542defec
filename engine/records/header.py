"""What headers of different formats say in different words: dates, variants, switches."""

from __future__ import annotations

import datetime
import re

from engine.rules import HYPERGAMMON, INTERNATIONAL, NACKGAMMON, TAVLA, RuleSet

_DATE = re.compile(r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})", re.ASCII)
_EUROPEAN = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4})", re.ASCII)
_VARIANTS = (
    ("nack", NACKGAMMON),
    ("hyper", HYPERGAMMON),
    ("tavla", TAVLA),
    ("backgammon", INTERNATIONAL),
    ("standard", INTERNATIONAL),
)


def date_of(text: str) -> str:
    """YYYY-MM-DD if the text is a date; else the text."""
    words = text.strip()
    found = _DATE.fullmatch(words)
    parts = found.groups() if found else ()
    if not parts:
        found = _EUROPEAN.fullmatch(words)
        parts = found.groups()[::-1] if found else ()
    try:
        return datetime.date(*map(int, parts)).isoformat() if parts else words
    except ValueError:
        return words


def rules_of(variation: str) -> RuleSet | None:
    """The rule set of a variant's name; None if it isn't known."""
    words = variation.lower()
    if not words.strip():
        return INTERNATIONAL
    return next((rules for name, rules in _VARIANTS if name in words), None)


def switched_on(text: str) -> bool:
    """Whether a header's value means yes."""
    return text.strip().lower() in ("on", "yes", "true", "1")
