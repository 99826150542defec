"""What an error repeats of a value that doesn't fit."""

from __future__ import annotations

import pickle
from pathlib import Path

from engine.errors import InputError


def test_a_long_value_is_cut_behind_and_a_long_path_in_front_where_it_says_less() -> None:
    text = str(InputError("position", "X" * 60 + "Y" * 60, "an id"))
    assert text == f"position: '{'X' * 60 + 'Y' * 17}...': expected an id"
    path = Path("/", "deep" * 40, "games", "match.mat")
    cut = str(InputError("path", path, "a file"))
    assert cut.startswith("path: '...")
    assert cut.endswith("/games/match.mat': expected a file")
    assert len(cut) == len("path: '': expected a file") + 80


def test_an_error_that_comes_from_another_process_says_the_same() -> None:
    error = InputError("path", Path("/", "deep" * 40, "match.mat"), "a file")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.field, again.value, again.expected) == (
        str(error),
        error.field,
        error.value,
        error.expected,
    )
