"""The envelope of every stored payload: magic, version, checksum, body.

A server that lost power, a full disk or a foreign writer may leave bytes that are not what was written. A rollout must
never count them, so every payload is sealed on the way in and checked on the way out, here and nowhere else.

Layout: `b"GF"`, one version byte, 8 bytes BLAKE2b of the body, the body.
"""

from __future__ import annotations

import hashlib

from engine.errors import InternalError

MAGIC = b"GF"
VERSION = 1
_DIGEST_SIZE = 8
_HEADER_SIZE = len(MAGIC) + 1 + _DIGEST_SIZE


class CorruptPayloadError(InternalError):
    """Stored bytes are not what was written. The reader drops them and has them computed again."""


def seal(body: bytes) -> bytes:
    """The bytes to store for `body`."""
    return MAGIC + bytes([VERSION]) + _digest(body) + body


def unseal(stored: bytes) -> bytes:
    """The body of stored bytes. Raises `CorruptPayloadError` if they are cut, altered or of another version."""
    if len(stored) < _HEADER_SIZE:
        raise CorruptPayloadError(f"payload of {len(stored)} bytes is shorter than its header")
    if not stored.startswith(MAGIC):
        raise CorruptPayloadError("payload has no gammonfarm header")
    version = stored[len(MAGIC)]
    if version != VERSION:
        raise CorruptPayloadError(f"payload has version {version}, this program reads {VERSION}")
    body = stored[_HEADER_SIZE:]
    if stored[len(MAGIC) + 1 : _HEADER_SIZE] != _digest(body):
        raise CorruptPayloadError("payload does not match its checksum")
    return body


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_SIZE).digest()
