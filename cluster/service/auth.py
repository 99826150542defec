"""Who asks, and what he may do: bearer tokens with roles. Only their hashes are kept.

A token is 32 random bytes, so a plain hash of it can't be turned back by guessing. The file of tokens has lines
`NAME ROLE SHA256`, is read again when it changes, and is named by GAMMONFARM_TOKENS_FILE; GAMMONFARM_TOKENS may hold
the same lines. Without any tokens the API serves loopback only.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
import secrets
import threading
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.errors import InputError

log = logging.getLogger(__name__)

_NAME = r"[A-Za-z0-9._-]{1,40}"
_LINE = re.compile(rf"({_NAME})\s+(submit|operate)\s+([0-9a-f]{{64}})")


class Role(StrEnum):
    """What a token allows."""

    SUBMIT = "submit"
    """Submit, read, cancel what one has asked for, and move one's own jobs."""
    OPERATE = "operate"
    """The same with the jobs of others; cancelling ends a job for all who asked for it."""


@dataclass(frozen=True)
class Caller:
    """Who asks."""

    name: str
    role: Role

    def may_change(self, owner: str) -> bool:
        """Whether he may move a job of this client."""
        return self.role is Role.OPERATE or self.name == owner


LOCAL = Caller("local", Role.OPERATE)


class Tokens:
    """The tokens that are known.

    Raises:
        InputError: a line that is none.
    """

    def __init__(self, file: Path | None = None, text: str = "") -> None:
        self._file = file
        self._fixed = parse_tokens(text)
        self._stamp: tuple[float, int] | None = None
        self._read: dict[str, Caller] = {}
        self._lock = threading.Lock()
        self._refresh()

    @property
    def required(self) -> bool:
        """Whether a caller needs one."""
        return self._file is not None or bool(self._fixed)

    def __len__(self) -> int:
        return len(self._fixed | self._read)

    def caller(self, token: str) -> Caller | None:
        """Whose token it is. All are compared, each in constant time, so that time tells nothing."""
        self._refresh()
        given = token_hash(token)
        found: Caller | None = None
        for known, caller in (self._fixed | self._read).items():
            if hmac.compare_digest(known, given):
                found = caller
        return found

    def _refresh(self) -> None:
        if self._file is None:
            return
        with self._lock:
            try:
                status = self._file.stat()
                stamp = (status.st_mtime, status.st_size)
                if stamp != self._stamp:
                    self._read = self._parsed(self._file.read_text(encoding="utf-8"))
                    self._stamp = stamp
            except OSError as error:
                if self._stamp is None:
                    expected = f"a readable file ({error.strerror}); `gammonfarm tokens new NAME` makes its lines"
                    raise InputError("GAMMONFARM_TOKENS_FILE", self._file, expected) from error

    def _parsed(self, text: str) -> dict[str, Caller]:
        """A slip of the pen in the file must not start a farm, and not lock everybody out of one that runs."""
        try:
            return parse_tokens(text)
        except InputError as error:
            if self._stamp is None:
                raise
            log.error("%s has a line that is none, which is left out: %s", self._file, error)
            return parse_tokens("\n".join(line for line in text.split("\n") if _is_line(line)))


def _is_line(line: str) -> bool:
    try:
        parse_tokens(line)
    except InputError:
        return False
    return True


def parse_tokens(text: str) -> dict[str, Caller]:
    """Callers by the hash of their token.

    Raises:
        InputError: a line that is not `NAME ROLE SHA256`, a comment or empty. The line is not repeated.
    """
    found: dict[str, Caller] = {}
    for number, line in enumerate(re.split(r"[\n;]", text), 1):
        stripped = line.partition("#")[0].strip()
        if not stripped:
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise InputError("tokens", f"line {number}", "NAME ROLE SHA256, ROLE being submit or operate")
        found[match[3]] = Caller(match[1], Role(match[2]))
    return found


def new_token(name: str, role: Role) -> tuple[str, str]:
    """A new token, and the line for the file.

    Raises:
        InputError: a name that is none.
    """
    if not re.fullmatch(_NAME, name):
        raise InputError("name", name, "1 to 40 letters, digits and - . _")
    token = "gf_" + secrets.token_urlsafe(32)
    return token, f"{name} {role.value} {token_hash(token)}"


def token_hash(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
