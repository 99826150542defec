"""Any record from any bytes, and to any format: the content decides, never the name of the file."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import InputError
from engine.records.bgf import looks_like_bgf, read_bgf
from engine.records.encoding import check_size, decode
from engine.records.gnu_text import looks_like_gnu_text, read_gnu_text
from engine.records.id_list import looks_like_ids, read_ids, write_ids
from engine.records.json_record import looks_like_json, read_json, write_json
from engine.records.mat import looks_like_mat, read_mat
from engine.records.mat_writer import write_mat
from engine.records.position_text import looks_like_positions, read_positions
from engine.records.record import MatchRecord, RecordFormat
from engine.records.sgf import looks_like_sgf, read_sgf
from engine.records.sgf_writer import write_sgf
from engine.records.xg import read_xg
from engine.records.xg_file import MAGIC

_WRITERS: dict[RecordFormat, Callable[[MatchRecord], str]] = {
    RecordFormat.MAT: write_mat,
    RecordFormat.TXT: lambda record: write_mat(record, RecordFormat.TXT),
    RecordFormat.SGF: write_sgf,
    RecordFormat.XGID: write_ids,
    RecordFormat.JSON: write_json,
}
WRITTEN = tuple(_WRITERS)
"""Formats that can be written."""


def read_record(data: bytes) -> MatchRecord:
    """Read a record of any format.

    Raises:
        InputError: no format that is known, or broken beyond reading.
    """
    check_size(data)
    if not data.strip(b" \t\r\n\0\xef\xbb\xbf"):
        raise InputError("file", "nothing", "a match record")
    if data.startswith(MAGIC):
        return read_xg(data)
    if looks_like_bgf(data):
        return read_bgf(data)
    text, encoding = decode(data)
    if looks_like_json(text):
        return read_json(data)
    if looks_like_sgf(data):
        return read_sgf(data)
    if looks_like_gnu_text(text):
        return read_gnu_text(text, encoding)
    if looks_like_positions(text):
        return read_positions(text, encoding)
    if looks_like_ids(text):
        return read_ids(text, encoding)
    if looks_like_mat(text):
        return read_mat(text, encoding)
    expected = "a match text, SGF, XG or BGBlitz file, text export of GNU Backgammon or XG, list of IDs or JSON record"
    raise InputError("file", " ".join(text[:200].split())[:60], expected)


def write_record(record: MatchRecord, target: RecordFormat) -> str:
    """Write a record; docs/records.md says what each format can't hold.

    Raises:
        InputError: a format that is only read, or one that can't hold this record.
    """
    writer = _WRITERS.get(target)
    if writer is None:
        raise InputError("format", target.value, f"one of {', '.join(known.value for known in WRITTEN)}")
    return writer(record)
