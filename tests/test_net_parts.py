"""A main net in two files: one for contact, one for races."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nets import random_filter, random_net
from strategies import board_of

from engine.board import START
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.weights import Net, NetKind, file_kind, join_parts, load_net, make_net, part_of, save_net, shipped_net

CONTACT_BOARDS = np.stack([START, board_of({25: 1, 6: 2}, {20: 2, 5: 1}), board_of({24: 2, 2: 13}, {24: 5, 22: 10})])
RACES = np.stack([board_of({12: 5, 6: 10}, {12: 7, 3: 8}), board_of({6: 2, 1: 3}, {4: 4})])

A = make_net(random_net(1).arrays, {"recipe": "a", "seed": "1"})
B = make_net(random_net(2).arrays, {"recipe": "b", "seed": "2"})


def values(net: Net, boards: np.ndarray) -> list[list[int]]:
    """Outcomes of the integer twin."""
    found: list[list[int]] = Evaluator(Nets(net)).after_positions(boards).tolist()
    return found


def test_the_parts_of_a_net_put_together_are_the_net() -> None:
    again = join_parts(part_of(A, NetKind.CONTACT), part_of(A, NetKind.RACE))
    assert again.digest == A.digest
    for name, array in A.arrays.items():
        assert again.arrays[name].tobytes() == np.ascontiguousarray(array).tobytes()


def test_a_joined_net_values_races_like_one_net_and_contact_like_the_other() -> None:
    joined = join_parts(A, B)
    assert values(joined, CONTACT_BOARDS) == values(A, CONTACT_BOARDS) != values(B, CONTACT_BOARDS)
    assert values(joined, RACES) == values(B, RACES) != values(A, RACES)


def test_a_joined_net_says_where_both_parts_come_from() -> None:
    joined = join_parts(A, B)
    assert joined.description == {"recipe": "a", "seed": "1", "race_recipe": "b", "race_seed": "2"}
    assert part_of(joined, NetKind.RACE).description == B.description
    assert part_of(joined, NetKind.CONTACT).description == A.description
    assert join_parts(joined, joined).description == joined.description


def test_parts_are_saved_and_read_as_what_they_are(tmp_path: Path) -> None:
    for kind in (NetKind.CONTACT, NetKind.RACE):
        path = tmp_path / f"{kind.value}.safetensors"
        save_net(part_of(A, kind), path)
        assert file_kind(path) is kind
        assert load_net(path, kind).digest == part_of(A, kind).digest
        with pytest.raises(InputError, match="a whole main net"):
            load_net(path)
    with pytest.raises(InputError, match="a race net"):
        load_net(tmp_path / "contact.safetensors", NetKind.RACE)


def test_what_does_not_fit_together_is_refused() -> None:
    wide = {
        name: np.zeros((*a.shape[:-1], 64), np.float32) for name, a in A.arrays.items() if name in ("table", "bias")
    }
    wide["second"] = np.zeros((A.arrays["second"].shape[0], 64, 32), np.float32)
    wider = make_net({**A.arrays, **wide})
    with pytest.raises(InputError, match="width"):
        join_parts(A, wider)
    with pytest.raises(InputError, match="filter"):
        join_parts(random_filter(1), A)
    with pytest.raises(InputError, match="race"):
        join_parts(part_of(A, NetKind.RACE), A)


def test_the_shipped_main_net_is_its_two_files() -> None:
    net = shipped_net()
    assert net.kind is NetKind.MAIN
    assert part_of(net, NetKind.RACE).digest == shipped_net(NetKind.RACE).digest
    assert part_of(net, NetKind.CONTACT).digest == shipped_net(NetKind.CONTACT).digest
