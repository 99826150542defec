"""The filter net: whole numbers equal to plain Python, and the plays that it leaves to the main net."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernels import plays_left
from nets import random_filter, random_net
from oracles import filter as oracle
from strategies import boards, rolls

from engine.board import START, Board, make_board
from engine.evaluator import INNER_PLAYS, Evaluator, Nets
from engine.kernels.filter import filter_boards
from engine.kernels.play import Engine
from engine.rules import INTERNATIONAL, RuleSet, rule_set
from engine.weights import Net, NetKind, make_net, quantise_filter

MAIN = random_net(6)
FILTERS = [random_filter(seed) for seed in range(3)]
EVALUATORS = [Evaluator(Nets(MAIN, net)) for net in FILTERS]
WEIGHTS = [oracle.quantised(net.arrays) for net in FILTERS]
which = st.integers(0, len(FILTERS) - 1)

# Before the roll: the last contact may end, the last checkers may be borne off, and there are many plays.
LAST_CONTACT = make_board([0, 2, 2, 2, 2, 2, 2, 1, 1] + [0] * 5 + [-1, 1] + [0] * 4 + [-3, -3, -3, -3, -2, 0])
NEARLY_OFF = make_board([0, 1, 1, 0, 0, 1] + [0] * 14 + [-2, -2, -1, 0, 0, 0])
MANY_PLAYS = make_board([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, -2, 0, 0, 1])


def scaled(net: Net, **factors: float) -> Net:
    """The filter net with some arrays multiplied."""
    arrays = {name: array * np.float32(factors.get(name, 1.0)) for name, array in net.arrays.items()}
    return make_net(arrays, kind=NetKind.FILTER)


def outcomes(of: list[Board], evaluator: Evaluator) -> list[list[int]]:
    """By the compiled filter net alone."""
    assert evaluator.nets.filter is not None
    found = np.zeros((len(of), 5), dtype=np.int64)
    weights = quantise_filter(evaluator.nets.filter)
    filter_boards(np.stack(of), weights, evaluator.workspaces[0].filter, found)
    listed: list[list[int]] = found.tolist()
    return listed


@given(number=which, some=st.lists(boards(), min_size=1, max_size=6))
@example(number=0, some=[START, LAST_CONTACT, NEARLY_OFF, MANY_PLAYS])
@example(number=1, some=[START, LAST_CONTACT, NEARLY_OFF, MANY_PLAYS])
@settings(max_examples=60, deadline=None)
def test_outcomes_equal_the_plain_integer_filter_net(number: int, some: list[Board]) -> None:
    expected = [oracle.integer_outcome(board.tolist(), WEIGHTS[number]) for board in some]
    assert outcomes(some, EVALUATORS[number]) == expected


@pytest.mark.parametrize("factors", [{"bias": 9.0}, {"bias": -9.0}, {"last": 30.0}, {"table": 3.0, "last": 12.0}])
def test_clipped_units_and_sure_things_equal_the_plain_integer_filter_net(factors: dict[str, float]) -> None:
    net = scaled(FILTERS[0], **factors)
    weights = oracle.quantised(net.arrays)
    some = [START, LAST_CONTACT, NEARLY_OFF]
    expected = [oracle.integer_outcome(board.tolist(), weights) for board in some]
    assert outcomes(some, Evaluator(Nets(MAIN, net))) == expected


def left(evaluator: Evaluator, board: Board, dice: tuple[int, int], engine: Engine) -> list[list[int]]:
    """The plays that the filter leaves to the main net, in the order in which it leaves them."""
    w = evaluator.workspaces[0]
    n = plays_left(np.array(board), *dice, engine, w)
    rows: list[list[int]] = w.main.plays[:n].tolist()
    return rows


def check_kept(number: int, board: Board, dice: tuple[int, int], rules: RuleSet, keep: int) -> None:
    """The kept plays are those of the oracle, and the main net values them as if from scratch."""
    evaluator = EVALUATORS[number]
    plays, _ = evaluator.plays(board, dice, rules)
    utility = [int(w) for w in rules.utility]
    won = [not (play > 0).any() for play in plays]
    equities = [
        0 if wins else oracle.equity(oracle.integer_outcome(play.tolist(), WEIGHTS[number]), utility)
        for play, wins in zip(plays, won, strict=True)
    ]
    expected = oracle.kept(equities, won, keep)
    assert left(evaluator, board, dice, evaluator.engine(rules)._replace(keep=keep)) == plays[expected].tolist()

    s = evaluator.workspaces[0].main
    n = len(expected)
    found = s.outcomes[:n].copy()
    for i in range(n):
        changed = {place for place in range(26) if s.plays[i, place] != board[place]}
        assert changed <= {place for place in range(26) if int(s.changed[i]) >> place & 1}
    assert s.equities[:n].tolist() == (found @ rules.utility - (1 << 20)).tolist()
    assert found.tolist() == evaluator.after_positions(plays[expected]).tolist()


@given(
    number=which,
    board=boards(),
    dice=rolls(),
    rules=st.sampled_from(["international", "tavla+forced-bear-off"]),
    keep=st.sampled_from([1, 2, INNER_PLAYS, 9]),
)
@example(number=0, board=START, dice=(6, 6), rules="international", keep=INNER_PLAYS)
@example(number=1, board=MANY_PLAYS, dice=(2, 1), rules="international", keep=INNER_PLAYS)
@example(number=1, board=MANY_PLAYS, dice=(1, 1), rules="tavla+forced-bear-off", keep=1)
@example(number=2, board=LAST_CONTACT, dice=(3, 2), rules="international", keep=INNER_PLAYS)
@example(number=0, board=NEARLY_OFF, dice=(6, 6), rules="international", keep=1)
@settings(max_examples=80, deadline=None)
def test_the_best_plays_by_the_filter_net_are_kept_in_their_order_and_valued_by_the_main_net(
    number: int, board: Board, dice: tuple[int, int], rules: str, keep: int
) -> None:
    check_kept(number, board, dice, rule_set(rules), keep)


def test_plays_that_end_the_contact_and_plays_that_do_not_are_compared() -> None:
    plays, _ = EVALUATORS[0].plays(LAST_CONTACT, (3, 2), INTERNATIONAL)
    races = {oracle.facts.is_race(play.tolist()) for play in plays}
    assert races == {False, True}


def indifferent() -> Evaluator:
    """Every play has the same filter equity."""
    return Evaluator(Nets(MAIN, scaled(FILTERS[0], table=0.0, bias=0.0, last=0.0, last_bias=0.0)))


@pytest.mark.parametrize("keep", [1, 3, 8])
@pytest.mark.parametrize(("board", "dice"), [(MANY_PLAYS, (2, 1)), (MANY_PLAYS, (1, 1)), (START, (3, 1))])
def test_of_equal_plays_those_generated_first_are_kept(keep: int, board: Board, dice: tuple[int, int]) -> None:
    evaluator = indifferent()
    plays, _ = evaluator.plays(board, dice, INTERNATIONAL)
    assert len(plays) > keep
    engine = evaluator.engine(INTERNATIONAL)._replace(keep=keep)
    assert left(evaluator, board, dice, engine) == plays[:keep].tolist()


@pytest.mark.parametrize("number", range(3))
def test_a_play_that_wins_is_always_kept(number: int) -> None:
    # 4-2 bears off both checkers, if wanted; a filter net that shuns it changes nothing.
    board = make_board([0, 0, 1, 0, 1] + [0] * 19 + [-2, 0])
    found = 0
    for evaluator in (EVALUATORS[number], indifferent()):
        for high, low in [(4, 2), (2, 2), (4, 4), (6, 5), (6, 6), (5, 5), (1, 1)]:
            plays, _ = evaluator.plays(board, (high, low), INTERNATIONAL)
            won = [play.tolist() for play in plays if not (play > 0).any()]
            kept = left(evaluator, board, (high, low), evaluator.engine(INTERNATIONAL)._replace(keep=1))
            assert len(kept) == 1
            if won:
                found += len(plays) > 1
                assert kept == won[:1]
    assert found


def test_without_a_filter_net_or_with_few_plays_all_are_kept() -> None:
    plain = Evaluator(Nets(MAIN))
    plays, _ = plain.plays(START, (6, 5), INTERNATIONAL)
    assert left(plain, START, (6, 5), plain.engine(INTERNATIONAL)) == plays.tolist()
    assert plain.engine(INTERNATIONAL).keep == 0
    filtered = EVALUATORS[0]
    assert filtered.engine(INTERNATIONAL).keep == INNER_PLAYS
    many = filtered.engine(INTERNATIONAL)._replace(keep=len(plays))
    assert left(filtered, START, (6, 5), many) == plays.tolist()


def test_the_digest_of_a_pair_names_both_nets() -> None:
    digests = {Nets(main, net).digest for main in (MAIN, random_net(7)) for net in (None, *FILTERS)}
    assert len(digests) == 8
