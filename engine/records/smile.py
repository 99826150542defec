"""Reading Smile, the binary twin of JSON in which BGBlitz keeps its matches.

Source: the public specification of the format, version 1.0. Big numbers and raw bytes, which no match holds, are
refused.
"""

from __future__ import annotations

import struct

from engine.errors import InputError

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

MAGIC = b":)\n"
MOST_DEPTH = 60
MOST_VALUES = 3_000_000
_MOST_SHARED = 1024
_END_OF_TEXT = 0xFC
_END_ARRAY, _END_OBJECT = 0xF9, 0xFB


def read_smile(data: bytes) -> JsonValue:
    """The value of a document.

    Raises:
        InputError: broken, cut off, or more values or deeper nesting than a match has.
    """
    if not data.startswith(MAGIC) or len(data) < 5:
        raise InputError("Smile", data[:4], "the four bytes that documents begin with")
    try:
        return _Decoder(data).value(0)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise InputError("Smile", f"{len(data)} bytes", "a whole document") from None


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 4
        self._shares_values = bool(data[3] & 2)
        self._names: list[str] = []
        self._values: list[str] = []
        self._count = 0

    def value(self, depth: int) -> JsonValue:
        """The value that begins here."""
        self._count += 1
        if self._count > MOST_VALUES or depth > MOST_DEPTH:
            raise InputError("Smile", self._count, f"at most {MOST_VALUES} values, {MOST_DEPTH} deep")
        token = self._byte()
        if token == 0xF8:
            return self._array(depth)
        if token == 0xFA:
            return self._object(depth)
        if 0xC0 <= token <= 0xDF:
            return _signed(token & 0x1F)
        if 0x01 <= token <= 0x1F:
            return self._values[token - 1]
        if 0x20 <= token <= 0x23:
            return ("", None, False, True)[token - 0x20]
        if token in (0x24, 0x25):
            return _signed(self._whole())
        if token == 0x28:
            return float(struct.unpack(">f", struct.pack(">I", self._sevens(5) & 0xFFFFFFFF))[0])
        if token == 0x29:
            return float(struct.unpack(">d", struct.pack(">Q", self._sevens(10) & (2**64 - 1)))[0])
        if 0x40 <= token <= 0xBF:
            return self._short(token)
        if token in (0xE0, 0xE4):
            return self._long()
        if 0xEC <= token <= 0xEF:
            return self._values[(token & 3) << 8 | self._byte()]
        raise InputError("Smile", f"token {token:#x}", "a value that a match can hold")

    def _array(self, depth: int) -> JsonValue:
        items: list[JsonValue] = []
        while self._data[self._at] != _END_ARRAY:
            items.append(self.value(depth + 1))
        self._at += 1
        return items

    def _object(self, depth: int) -> JsonValue:
        items: dict[str, JsonValue] = {}
        while self._data[self._at] != _END_OBJECT:
            name = self._name()
            items[name] = self.value(depth + 1)
        self._at += 1
        return items

    def _name(self) -> str:
        token = self._byte()
        if token == 0x20:
            return ""
        if 0x30 <= token <= 0x33:
            return self._names[(token & 3) << 8 | self._byte()]
        if 0x40 <= token <= 0x7F:
            return self._names[token - 0x40]
        if token == 0x34:
            return self._long()
        if 0x80 <= token <= 0xBF:
            name = self._text((token & 0x3F) + 1)
        elif 0xC0 <= token <= 0xF7:
            name = self._text((token & 0x3F) + 2)
        else:
            raise InputError("Smile", f"token {token:#x}", "a name")
        _share(self._names, name)
        return name

    def _short(self, token: int) -> str:
        length = (token & 0x1F) + {0x40: 1, 0x60: 33, 0x80: 2, 0xA0: 34}[token & 0xE0]
        text = self._text(length)
        if self._shares_values:
            _share(self._values, text)
        return text

    def _long(self) -> str:
        end = self._data.find(_END_OF_TEXT, self._at)
        if end < 0:
            raise IndexError
        text = self._data[self._at : end].decode("utf-8")
        self._at = end + 1
        return text

    def _text(self, length: int) -> str:
        end = self._at + length
        if end > len(self._data):
            raise IndexError
        text = self._data[self._at : end].decode("utf-8")
        self._at = end
        return text

    def _byte(self) -> int:
        byte = self._data[self._at]
        self._at += 1
        return byte

    def _whole(self) -> int:
        """Seven bits a byte, the last byte six with its highest bit set."""
        value = 0
        for _ in range(10):
            byte = self._byte()
            if byte & 0x80:
                return value << 6 | byte & 0x3F
            value = value << 7 | byte
        raise IndexError

    def _sevens(self, count: int) -> int:
        value = 0
        for _ in range(count):
            value = value << 7 | self._byte() & 0x7F
        return value


def _share(known: list[str], text: str) -> None:
    if len(known) >= _MOST_SHARED:
        known.clear()
    known.append(text)


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)
