"""The languages in which an analysis speaks to its reader."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class Language(enum.Enum):
    """Value: the ISO 639-1 code."""

    ENGLISH = "en"
    SPANISH = "es"
    PORTUGUESE = "pt"

    @property
    def decimal_mark(self) -> str:
        """Stands between whole and decimal digits."""
        return "." if self is Language.ENGLISH else ","

    @property
    def thousands_mark(self) -> str:
        """Stands between groups of three digits: a comma, or a space that doesn't break."""
        return "," if self is Language.ENGLISH else "\N{NARROW NO-BREAK SPACE}"


Text = Mapping[Language, str]
"""The same words in every language."""


def text(english: str, spanish: str, portuguese: str) -> Text:
    """One text in all languages."""
    return {Language.ENGLISH: english, Language.SPANISH: spanish, Language.PORTUGUESE: portuguese}


def percent(share: float, language: Language) -> str:
    """A share of 1 with one decimal, such as `25.1 %`."""
    return f"{100 * share:.1f} %".replace(".", language.decimal_mark)
