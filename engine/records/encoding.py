"""Bytes to text: UTF-8 and UTF-16 with and without a mark, Windows code pages; line ends of all systems."""

from __future__ import annotations

import codecs
import re

from engine.errors import InputError

MOST_BYTES = 32 << 20
"""Of one file, also unpacked. The largest real record, a long analysed match, has a few megabytes."""
MOST_LINES = 500_000
MOST_LETTERS = 20_000
"""Of one line; longer ones say nothing and are read as empty, because patterns may take quadratic time."""

_TELLING = 400
"""Bytes from which UTF-16 is told."""
_TEXT = re.compile(
    r"(utf-?(8|16)|(windows-|cp)-?[0-9]{3,4}|iso-?8859-[0-9]{1,2}|latin-?1|koi8-?[ru]|shift-?jis|euc-?jp|big5|gbk)"
)
"""Encodings that a file may name. Python knows more, some of which take quadratic time."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def check_size(data: bytes) -> None:
    """
    Raises:
        InputError: more than any real record has.
    """
    if len(data) > MOST_BYTES:
        raise InputError("file", f"{len(data)} bytes", f"at most {MOST_BYTES} bytes")


def decode(data: bytes) -> tuple[str, str]:
    """Text with `\\n` line ends, and the name of its encoding.

    A byte order mark decides; else UTF-8 if it is that; else Windows-1252, the code page of nearly all older files,
    in which every byte means something here (five have no letter and become U+FFFD).
    """
    check_size(data)
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _lines(data.decode(name, "replace")), name
    if _is_wide(data):
        return _lines(data.decode("utf-16-le", "replace")), "utf-16-le"
    try:
        return _lines(data.decode("utf-8")), "utf-8"
    except UnicodeDecodeError:
        return _lines(data.decode("cp1252", "replace")), "cp1252"


def _is_wide(data: bytes) -> bool:
    """Whether nearly every other byte is zero: UTF-16 of an older Windows, without its mark."""
    some = data[1:_TELLING:2]
    return len(some) > 10 and some.count(0) > 0.9 * len(some) and 0 not in data[0:_TELLING:2]


def decode_as(data: bytes, name: str) -> tuple[str, str]:
    """The same with an encoding that the file names itself; an unknown name counts for nothing."""
    check_size(data)
    wanted = name.strip().lower().replace("_", "-")
    if not _TEXT.fullmatch(wanted):
        return decode(data)
    try:
        return _lines(data.decode(wanted)), wanted
    except (LookupError, UnicodeError):
        return decode(data)


def lines_of(text: str) -> list[str]:
    """The lines of a text.

    Raises:
        InputError: more than any record has.
    """
    lines = text.split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        raise InputError("file", f"more than {MOST_LINES} lines", f"at most {MOST_LINES} lines")
    return [line if len(line) <= MOST_LETTERS else "" for line in lines]


def _lines(text: str) -> str:
    # Control-Z ended the files of DOS.
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ").replace("\x1a", " ")
