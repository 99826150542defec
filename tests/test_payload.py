import pytest

from cluster.payload import CorruptPayloadError, seal, unseal


@pytest.mark.parametrize("body", [b"", b"x", bytes(range(256)) * 40])
def test_what_is_sealed_comes_back(body: bytes) -> None:
    assert unseal(seal(body)) == body


@pytest.mark.parametrize("position", range(len(seal(b"body"))))
def test_a_changed_byte_anywhere_is_noticed(position: int) -> None:
    stored = bytearray(seal(b"body"))
    stored[position] ^= 1
    with pytest.raises(CorruptPayloadError):
        unseal(bytes(stored))


@pytest.mark.parametrize("length", range(len(seal(b"body"))))
def test_a_cut_payload_is_noticed(length: int) -> None:
    with pytest.raises(CorruptPayloadError):
        unseal(seal(b"body")[:length])


def test_a_payload_of_a_later_version_is_refused_by_name() -> None:
    stored = bytearray(seal(b"body"))
    stored[2] = 9
    with pytest.raises(CorruptPayloadError, match="version 9"):
        unseal(bytes(stored))
