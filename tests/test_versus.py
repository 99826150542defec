"""Pairs of games: against a plain oracle, and what duplicate dice promise."""

from __future__ import annotations

import numpy as np
import pytest
from nets import random_filter, random_net
from oracles import versus as oracle
from oracles.dice import match_roll

from engine import versus
from engine.bearoff import Bearoff
from engine.board import START, Board, make_board
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.network import ONE
from engine.kernels.versus import pair_dice, points_won, roll_lucks
from engine.moves import ROLLS, roll_weight
from engine.rules import HYPERGAMMON, INTERNATIONAL, NACKGAMMON, TAVLA, RuleSet, rule_set
from engine.versus import NetPlayer, VersusSettings, play_pairs
from engine.weights import NetKind, shipped_net

A = Evaluator(Nets(random_net(3)))
B = Evaluator(Nets(random_net(4)))
OTHER = make_board([-1, 2, 0, 2, -1, 2, 4, 0, 3, 0, 0, 0, -4, 2, 0, 0, 0, -3, 0, -4, -2, 0, 0, 0, 0, 0])

# Four checkers of each side far behind, taken from the stacks of five.
NACK = make_board([0, -2, -2, 0, 0, 0, 4, 0, 3, 0, 0, 0, -4, 4, 0, 0, 0, -3, 0, -4, 0, 0, 0, 2, 2, 0])


@pytest.mark.parametrize(
    ("rules", "levels", "pairs"),
    [(INTERNATIONAL, (1, 1), 4), (TAVLA, (1, 1), 2), (NACKGAMMON, (1, 1), 1), (INTERNATIONAL, (2, 1), 1)],
)
def test_games_equal_those_of_the_plain_oracle(rules: RuleSet, levels: tuple[int, int], pairs: int) -> None:
    settings = VersusSettings(rules, seed=11)
    a, b = NetPlayer(A, rules, levels[0]), NetPlayer(B, rules, levels[1])
    rows = play_pairs(a, b, A, settings, 5, pairs)
    players = (oracle.Player(A, levels[0]), oracle.Player(B, levels[1]))
    for i, row in enumerate(rows.tolist()):
        games = [
            oracle.game(
                players,
                first,
                A,
                rules,
                11,
                5 + i,
                NACK if rules is NACKGAMMON else np.array(START),
                lambda after: oracle.points(after, rules.backgammon_counts),
            )
            for first in (0, 1)
        ]
        assert row == [games[0][0], games[1][0], games[0][1], games[1][1]]


def test_games_end_in_wins_gammons_and_backgammons_of_both_sides() -> None:
    # Without this, the comparison with the oracle might never meet some of them.
    rows = play_pairs(NetPlayer(A, INTERNATIONAL, 1), NetPlayer(B, INTERNATIONAL, 1), A, bare(), 0, 150)
    assert set(rows[:, :2].ravel().tolist()) >= {-3, -2, -1, 1, 2}


def bare(seed: int = 1) -> VersusSettings:
    """Without luck."""
    return VersusSettings(INTERNATIONAL, seed, variance_reduction=False)


@pytest.mark.parametrize("reroll", [False, True])
def test_dice_equal_the_oracle_and_are_shared_by_the_pair(reroll: bool) -> None:
    pairs = np.repeat(np.arange(40, 140), 2)
    for half_move in (0, 1, 7):
        dice = np.empty((len(pairs), 2), dtype=np.int64)
        pair_dice(9, pairs, half_move, reroll, dice)
        assert dice.tolist() == [list(match_roll(9, int(pair), half_move, reroll)) for pair in pairs]
        assert (dice[::2] == dice[1::2]).all()
        doubles = (dice[:, 0] == dice[:, 1]).any()
        assert doubles == (reroll or half_move > 0)


def test_any_cut_of_the_pairs_gives_the_same_games() -> None:
    a, b, settings = NetPlayer(A, INTERNATIONAL, 1), NetPlayer(B, INTERNATIONAL, 1), VersusSettings(INTERNATIONAL, 2)
    whole = play_pairs(a, b, A, settings, 0, 7)
    parts = [play_pairs(a, b, A, settings, first, count) for first, count in ((0, 2), (2, 1), (3, 4))]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert play_pairs(a, b, A, VersusSettings(INTERNATIONAL, 3), 0, 7).tolist() != whole.tolist()


def test_players_that_change_seats_change_the_sign() -> None:
    a, b, settings = NetPlayer(A, INTERNATIONAL, 1), NetPlayer(B, INTERNATIONAL, 1), VersusSettings(INTERNATIONAL)
    ab, ba = play_pairs(a, b, A, settings, 0, 6), play_pairs(b, a, A, settings, 0, 6)
    # The game that a player begins as A in one match he begins as B, in the second game of the pair, in the other.
    assert (ab == -ba[:, [1, 0, 3, 2]]).all()


def test_a_player_against_himself_wins_and_loses_the_same_game() -> None:
    a = NetPlayer(A, INTERNATIONAL, 1)
    rows = play_pairs(a, a, B, VersusSettings(INTERNATIONAL), 0, 5)
    assert rows[:, 0].any()
    assert rows[:, 2].any()
    assert (rows[:, 0] + rows[:, 1] == 0).all()
    assert (rows[:, 2] + rows[:, 3] == 0).all()


@pytest.mark.parametrize("board", [np.array(START), OTHER])
@pytest.mark.parametrize("filtered", [False, True])
def test_luck_is_zero_on_average_over_the_throws(board: Board, filtered: bool) -> None:
    judge = Evaluator(Nets(random_net(5), random_filter(5) if filtered else None))
    boards = np.repeat(board[None], 21, axis=0)
    lucks = np.empty(21, dtype=np.int64)
    roll_lucks(boards, np.array(ROLLS), judge.engine(INTERNATIONAL), judge.workspaces[0], lucks)
    assert sum(roll_weight(roll) * luck for roll, luck in zip(ROLLS, lucks.tolist(), strict=True)) == 0
    assert len(set(lucks.tolist())) > 10


def test_luck_takes_most_of_the_spread_when_the_judge_knows_the_game(databases: Bearoff) -> None:
    judge = Evaluator(Nets(shipped_net(), shipped_net(NetKind.FILTER)), databases.arrays)
    player = NetPlayer(judge, INTERNATIONAL, 1)
    rows = play_pairs(player, player, judge, settings(), 0, 20)
    played = rows[:, 0]
    less_luck = played - rows[:, 2] / ONE
    assert less_luck.std() < played.std() / 2


def settings() -> VersusSettings:
    """With luck."""
    return VersusSettings(INTERNATIONAL, 1)


def test_without_luck_only_points_are_left() -> None:
    a, b = NetPlayer(A, INTERNATIONAL, 1), NetPlayer(B, INTERNATIONAL, 1)
    with_luck, without = play_pairs(a, b, A, settings(), 0, 3), play_pairs(a, b, A, bare(), 0, 3)
    assert with_luck[:, 2:].any()
    assert not without[:, 2:].any()
    assert with_luck[:, :2].tolist() == without[:, :2].tolist()


def test_a_game_without_end_scores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versus, "MAX_HALF_MOVES", 5)
    rows = play_pairs(NetPlayer(A, INTERNATIONAL, 1), NetPlayer(B, INTERNATIONAL, 1), A, bare(), 0, 3)
    assert not rows.any()


def test_points_are_those_of_the_rule_set() -> None:
    lost = np.zeros((4, 26), dtype=np.int8)
    lost[0, 10] = -14  # one checker off: a plain win
    lost[1, 10] = -15  # none off: a gammon
    lost[2, [10, 3]] = (-14, -1)  # one of them in the winner's home: a backgammon
    lost[3, [10, 5]] = (-15, 1)  # the game goes on
    points = np.empty(4, dtype=np.int64)
    points_won(lost, 15, INTERNATIONAL.utility, points)
    assert points.tolist() == [1, 2, 3, 0]
    points_won(lost, 15, TAVLA.utility, points)
    assert points.tolist() == [1, 2, 2, 0]
    lost[:3] = 0
    lost[0, 10] = -2
    lost[1, 10] = -3
    lost[2, [10, 3]] = (-2, -1)
    points_won(lost, HYPERGAMMON.start.checkers, HYPERGAMMON.utility, points)
    assert points.tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("level", [0, 3])
def test_nets_play_at_level_1_or_2(level: int) -> None:
    with pytest.raises(InputError, match="level"):
        NetPlayer(A, INTERNATIONAL, level)


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="seed"):
        VersusSettings(INTERNATIONAL, seed=-1)
    assert not VersusSettings(rule_set("international+forced-bear-off")).uses_bearoff
