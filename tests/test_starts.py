"""Special starts: legal, of the kind that their name promises, and a function of seed and game."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from engine.board import BAR, Board, flip, make_board, pips
from engine.rules import HYPERGAMMON, INTERNATIONAL
from training.starts import FEW_CHECKERS, StartKind, StartMix, make_start

SPECIAL = [kind for kind in StartKind if kind is not StartKind.OPENING]
GAMES = range(60)


def drawn(kind: StartKind, game: int, checkers: int = 15) -> Board:
    """A start of a kind."""
    return make_start(kind, np.random.default_rng([3, game]), checkers)


def sides(board: Board) -> list[Board]:
    """The position from both sides: which of them has the pattern is drawn."""
    return [board, flip(board)]


def checkers(board: Board, first: int, last: int) -> int:
    """The mover's checkers on points first .. last."""
    return int(np.maximum(board[first : last + 1], 0).sum())


def enemies(board: Board, first: int, last: int) -> int:
    """The opponent's checkers on the mover's points first .. last."""
    return int(np.maximum(-board[first : last + 1], 0).sum())


def longest_prime(board: Board) -> int:
    """Most made points of the mover in a row."""
    best = run = 0
    for point in range(1, 25):
        run = run + 1 if board[point] > 1 else 0
        best = max(best, run)
    return best


def is_back_game(board: Board) -> bool:
    """Two anchors or more in the opponent's home, and far behind."""
    own, other = pips(board)
    return sum(board[19:25] > 1) >= 2 and own >= other + 30


def is_containment(board: Board) -> bool:
    """The opponent has borne off and still has a checker in the mover's home or on the bar; three home points."""
    off = 15 - enemies(board, 0, 24)
    return off >= 3 and 1 <= enemies(board, 0, 6) <= 2 and sum(board[1:7] > 1) >= 3 and checkers(board, 1, 25) == 15


def is_primes(board: Board) -> bool:
    """Four points in a row on either side, and somebody behind each."""
    both = all(longest_prime(side) >= 4 for side in sides(board))
    return both and all(enemies(side, 0, 12) >= 1 for side in sides(board))


def is_bear_in(board: Board) -> bool:
    """All the mover's checkers on 1 .. 12, and two opposing ones or more in his home or on the bar."""
    return checkers(board, 13, 25) == 0 and enemies(board, 0, 6) >= 2


def is_race(board: Board) -> bool:
    """The mover's last checker has passed the opponent's last one."""
    last = max(place for place in range(26) if board[place] > 0)
    return last < min(place for place in range(26) if board[place] < 0)


PROMISES = {
    StartKind.BACK_GAME: is_back_game,
    StartKind.CONTAINMENT: is_containment,
    StartKind.PRIMES: is_primes,
    StartKind.BEAR_IN: is_bear_in,
    StartKind.RACE: is_race,
}


@pytest.mark.parametrize("kind", SPECIAL, ids=lambda kind: kind.value)
def test_every_start_is_a_legal_board_on_which_somebody_can_move(kind: StartKind) -> None:
    for game in GAMES:
        board = drawn(kind, game)
        assert make_board(board.tolist()).tolist() == board.tolist()
        shut = [side[BAR] > 0 and all(side[19:25] < -1) for side in sides(board)]
        assert not all(shut)


@pytest.mark.parametrize("kind", PROMISES, ids=lambda kind: kind.value)
def test_every_start_is_of_the_kind_it_is_named_after(kind: StartKind) -> None:
    for game in GAMES:
        board = drawn(kind, game)
        assert any(PROMISES[kind](side) for side in sides(board)), board.tolist()


@pytest.mark.parametrize("kind", SPECIAL, ids=lambda kind: kind.value)
def test_no_two_games_start_alike_and_either_side_gets_the_pattern(kind: StartKind) -> None:
    boards = [drawn(kind, game) for game in GAMES]
    assert len({board.tobytes() for board in boards}) > 55
    if kind in PROMISES and kind is not StartKind.PRIMES and kind is not StartKind.RACE:
        mover = sum(PROMISES[kind](board) for board in boards)
        assert 10 < mover < 50


def test_random_positions_have_checkers_everywhere_and_of_every_number() -> None:
    boards = [drawn(StartKind.RANDOM, game) for game in range(400)]
    assert all(any(board[place] > 0 for board in boards) for place in range(1, 26))
    assert {checkers(board, 1, 25) for board in boards} == set(range(1, 16))


def test_few_checkers_make_small_starts() -> None:
    for kind in FEW_CHECKERS - {StartKind.OPENING}:
        for game in GAMES:
            board = drawn(kind, game, checkers=3)
            assert all(1 <= checkers(side, 1, 25) <= 3 for side in sides(board))


def test_a_mix_starts_games_in_its_proportions_by_seed_and_number() -> None:
    mix = StartMix({StartKind.OPENING: 0.5, StartKind.PRIMES: 0.3, StartKind.RACE: 0.2})
    starts = [mix.start(INTERNATIONAL, 7, game) for game in range(500)]
    counts = Counter(start.kind for start in starts)
    assert 200 < counts[StartKind.OPENING] < 300
    assert 110 < counts[StartKind.PRIMES] < 190
    assert 60 < counts[StartKind.RACE] < 140
    again = mix.start(INTERNATIONAL, 7, 123)
    assert (again.kind, again.board.tobytes()) == (starts[123].kind, starts[123].board.tobytes())
    other = [mix.start(INTERNATIONAL, 8, game).board.tobytes() for game in range(500)]
    assert other != [start.board.tobytes() for start in starts]


def test_the_opening_is_that_of_the_rule_set() -> None:
    start = StartMix({StartKind.OPENING: 1.0}).start(HYPERGAMMON, 1, 0)
    assert start.board.tolist() == HYPERGAMMON.start.board.tolist()
