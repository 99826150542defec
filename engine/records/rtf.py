"""The plain text of a comment in RTF."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([^\\{}\r\n]+)|[\r\n\\]"
)
_HIDDEN = frozenset({"fonttbl", "colortbl", "stylesheet", "info", "pict", "generator", "listtable", "object"})
_BREAKS = {"par": "\n", "line": "\n", "tab": "\t", "emdash": "\u2014", "endash": "\u2013", "bullet": "\u2022"}
_QUOTES = {"lquote": "\u2018", "rquote": "\u2019", "ldblquote": "\u201c", "rdblquote": "\u201d", "sect": "\n"}


def plain_text(rtf: str) -> str:
    """What a reader sees of an RTF document; other text comes back as it is."""
    if not rtf.lstrip().startswith("{\\rtf"):
        return rtf.strip()
    text: list[str] = []
    hidden = 0
    """How deep inside a group that isn't shown; 0 = it is shown."""
    after_unicode = 0
    for token in _TOKEN.finditer(rtf):
        word, number, code, symbol, bracket, plain = token.groups()
        if bracket is not None:
            if hidden:
                hidden += 1 if bracket == "{" else -1
            continue
        if word in _HIDDEN or symbol == "*":
            hidden = hidden or 1
            continue
        if hidden:
            continue
        if word == "u" and number is not None:
            value = int(number) & 0xFFFF
            text.append("\ufffd" if 0xD800 <= value < 0xE000 else chr(value))
            after_unicode = 1
            continue
        if word is not None:
            text.append(_BREAKS.get(word) or _QUOTES.get(word, ""))
            continue
        shown = plain or ""
        if code is not None:
            shown = bytes.fromhex(code).decode("cp1252", "replace")
        elif symbol is not None:
            shown = {"~": "\u00a0", "_": "-"}.get(symbol, symbol if symbol in "\\{}" else "")
        # A character follows every \u for readers that don't know it.
        text.append(shown[after_unicode:] if code is None else "" if after_unicode else shown)
        after_unicode = 0 if shown else after_unicode
    return "".join(text).strip()
