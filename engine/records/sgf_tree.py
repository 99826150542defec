"""The syntax of SGF (FF[4]): game trees of nodes of properties. Only the main line of each tree is kept.

Written as one pass without recursion, so that no file can nest too deeply, and with limits on what a file may hold.
"""

from __future__ import annotations

import re

from engine.errors import InputError
from engine.records.encoding import decode, decode_as

Node = dict[str, list[str]]
"""Property -> values, with escapes resolved."""

MOST_DEPTH = 10_000
MOST_NODES = 500_000
_CHARSET = re.compile(rb"CA\s*\[((?:\\.|[^\]\\]){1,40})\]", re.DOTALL)
_VALUE_MARK = re.compile(r"[\]\\]")
_SPACE = " \t\n\v\f"


def read_trees(data: bytes) -> tuple[list[list[Node]], str]:
    """The main lines of all game trees, and the encoding.

    What stands outside trees is ignored, as are empty nodes' missing properties. A tree that isn't closed ends with
    the file.

    Raises:
        InputError: broken syntax, or more nodes or deeper nesting than a match has.
    """
    charset = _CHARSET.search(data[:100_000])
    if charset is not None:
        text, encoding = decode_as(data, re.sub(rb"\\(.)", rb"\1", charset[1]).decode("ascii", "replace"))
    else:
        text, encoding = decode(data)
    return _Parser(text).trees(), encoding


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def trees(self) -> list[list[Node]]:
        """All main lines."""
        trees: list[list[Node]] = []
        children: list[int] = []
        """For every open tree the number of subtrees that have begun in it."""
        side_line = 0
        """At which depth a variation began that is not the main line; 0 on the main line."""
        nodes = 0
        while (letter := self._next()) is not None:
            if letter == "(":
                if not children:
                    trees.append([])
                else:
                    children[-1] += 1
                    if children[-1] > 1 and not side_line:
                        side_line = len(children) + 1
                children.append(0)
                if len(children) > MOST_DEPTH:
                    raise InputError("SGF", f"{len(children)} open brackets", f"at most {MOST_DEPTH}")
            elif not children:
                continue
            elif letter == ")":
                if side_line == len(children):
                    side_line = 0
                children.pop()
            elif letter == ";":
                nodes += 1
                if nodes > MOST_NODES:
                    raise InputError("SGF", f"{nodes} nodes", f"at most {MOST_NODES}")
                node = self._node()
                if not side_line:
                    trees[-1].append(node)
            else:
                raise InputError("SGF", letter, f"a node or a bracket at character {self._at}")
        return trees

    def _next(self) -> str | None:
        """The next letter that is no space; None at the end."""
        while self._at < len(self._text):
            letter = self._text[self._at]
            self._at += 1
            if letter not in _SPACE:
                return letter
        return None

    def _node(self) -> Node:
        node: Node = {}
        while (letter := self._next()) is not None:
            if not (letter.isascii() and letter.isalpha()):
                self._at -= 1
                return node
            name = letter
            while self._at < len(self._text) and self._text[self._at].isascii() and self._text[self._at].isalnum():
                name += self._text[self._at]
                self._at += 1
                if len(name) > 64:
                    raise InputError("SGF property", name, "a name of at most 64 letters")
            # Older files write long names with small letters in between.
            values = node.setdefault("".join(part for part in name if not part.islower()), [])
            while (letter := self._next()) == "[":
                values.append(self._value())
            if letter is None:
                return node
            self._at -= 1
        return node

    def _value(self) -> str:
        parts: list[str] = []
        begin = self._at
        while (mark := _VALUE_MARK.search(self._text, self._at)) is not None:
            parts.append(self._text[self._at : mark.start()])
            self._at = mark.end()
            if mark.group() == "]":
                return "".join(parts)
            escaped = self._text[self._at : self._at + 1]
            parts.append("" if escaped == "\n" else escaped)
            self._at += 1
        raise InputError("SGF", self._text[begin : begin + 40], "a closing bracket ]")
