"""The container of XG's files: a header for the picture in a folder, a picture, and an archive of compressed files.

    0      header, 8,232 bytes: `RGMH`, version, size, where the picture begins and how long it is, titles
    ...    the picture (JPEG)
    ...    files, each a zlib stream: temp.xg (records of 2,560 bytes), temp.xgi, temp.xgr, temp.xgc (comments)
    -36 - n  registry, a zlib stream: 532 bytes for each file: name, path, sizes, where it begins, checksum
    -36    archive record: checksum, number of files, version, size of the registry, size of all files, compressed?

Some programs write the stream of records alone behind the picture. Sources: the public description of the format by its
author, and files.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from engine.errors import InputError
from engine.records.encoding import MOST_BYTES, check_size

MAGIC = b"RGMH"
RECORD_BYTES = 2560

_HEADER = struct.Struct("<4siiqi")
_HEADER_BYTES = 8232
_ARCHIVE = struct.Struct("<Iiiiii12x")
_ENTRY_BYTES = 532
_ENTRY = struct.Struct("<iii")
_MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class XgFile:
    """What is inside."""

    records: bytes
    comments: bytes = b""


def read_container(data: bytes) -> XgFile:
    """Unpack a file.

    Raises:
        InputError: it is no file of XG, broken, or holds more than a match could.
    """
    check_size(data)
    if len(data) < _HEADER_BYTES or not data.startswith(MAGIC):
        raise InputError("XG file", f"{len(data)} bytes", "the header of XG's files")
    _, _, header, picture, picture_bytes = _HEADER.unpack_from(data)
    if not (_HEADER.size <= header <= len(data)) or picture_bytes < 0 or picture < 0:
        raise InputError("XG header", header, "a header that fits the file")
    files = _archive(data)
    if files is None:
        stream = _unpacked(data[header + picture + picture_bytes :])
        files = {} if stream is None else {"temp.xg": stream}
    records = files.get("temp.xg")
    if records is None:
        raise InputError("XG file", f"{len(data)} bytes", "an archive with the records of a match (temp.xg)")
    if len(records) < RECORD_BYTES:
        raise InputError("XG file", f"temp.xg of {len(records)} bytes", f"one record of {RECORD_BYTES} bytes at least")
    return XgFile(records, files.get("temp.xgc", b""))


def _archive(data: bytes) -> dict[str, bytes] | None:
    """The files of the archive by name; None if there is no archive."""
    end = len(data) - _ARCHIVE.size
    _, count, _, registry_bytes, archive_bytes, _ = _ARCHIVE.unpack_from(data, end)
    begin = end - registry_bytes - archive_bytes
    if not 0 < count <= _MOST_FILES or registry_bytes <= 0 or archive_bytes <= 0 or begin < _HEADER.size:
        return None
    packed = data[end - registry_bytes : end]
    registry = _unpacked(packed, _ENTRY_BYTES * _MOST_FILES)
    if registry is None:
        registry = packed
    files = {}
    left = MOST_BYTES
    for place in range(min(count, len(registry) // _ENTRY_BYTES)):
        entry = registry[place * _ENTRY_BYTES : (place + 1) * _ENTRY_BYTES]
        name = entry[1 : 1 + entry[0]].decode("latin-1").lower()
        size, packed_bytes, start = _ENTRY.unpack_from(entry, 512)
        if start < 0 or packed_bytes < 0 or start + packed_bytes > archive_bytes:
            return None
        content = data[begin + start : begin + start + packed_bytes]
        unpacked = _unpacked(content, left)
        if unpacked is None:
            if size != packed_bytes:
                return None
            unpacked = content
        left -= len(unpacked)
        files[name] = unpacked
    return files or None


def _unpacked(content: bytes, most: int = MOST_BYTES) -> bytes | None:
    """A zlib stream, whatever follows it; None if it is none.

    Raises:
        InputError: it unpacks to more than `most` bytes.
    """
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(content, max(most, 0) + 1)
    except zlib.error:
        return None
    if len(unpacked) > most:
        raise InputError("XG file", f"more than {most} bytes unpacked", f"at most {MOST_BYTES} bytes")
    return unpacked if unpacker.eof else None
