"""Games of a net against itself: a pure function of net, seed and number, with TD targets; games that explore."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nets import random_net
from oracles import dice as dice_oracle
from oracles import facts as facts_oracle
from oracles import moves as moves_oracle
from oracles import network as network_oracle

from engine.board import START
from engine.evaluator import Evaluator, Nets
from engine.kernels.facts import CLASSES, ROWS, TABLES
from engine.kernels.network import ONE
from engine.kernels.selfplay import Exploration
from engine.rollout import Candidate, Roller, RolloutSettings
from engine.rules import HYPERGAMMON, INTERNATIONAL, NACKGAMMON, TAVLA, RuleSet
from engine.weights import Net, make_net
from training.positions import Labelling, Shard, ShardMaker, ShardTask
from training.recipe import LabelKind
from training.selfplay import play_round
from training.starts import StartKind, StartMix

# Self-play


NET = random_net(3)


def game_by_game(rules: RuleSet, games: range, td_lambda: float) -> list[tuple[list[tuple[int, ...]], np.ndarray]]:
    """(after-positions, targets) of each game, played alone."""
    found = []
    for game in games:
        samples = play_round(Nets(NET), rules, 11, game, 1, td_lambda)
        assert samples.games == 1
        found.append(([tuple(board) for board in samples.boards.tolist()], samples.targets))
    return found


def last_outcome(after: tuple[int, ...], roll: tuple[int, int], rules: RuleSet) -> list[float]:
    """The final result when `roll` ends the game after `after`; view of the winner."""
    plays = moves_oracle.legal_after_positions(moves_oracle.turned_round(after), roll, rules)
    won = [
        network_oracle.final_outcome(play, rules.start.checkers)
        for play in plays
        if moves_oracle.own_checkers(play) == 0
    ]
    assert won, "the game was not over"
    best = max(won, key=sum)
    return [p / ONE for p in best]


def other_view(p: list[float]) -> list[float]:
    """The other player's chances."""
    return [1 - p[0], p[3], p[4], p[1], p[2]]


@pytest.mark.parametrize("rules", [INTERNATIONAL, TAVLA, HYPERGAMMON], ids=lambda rules: rules.name)
def test_games_follow_the_rules_and_the_documented_dice(rules: RuleSet) -> None:
    ((boards, _),) = game_by_game(rules, range(5, 6), 0.5)
    before = tuple(rules.start.board.tolist())
    for half_move, after in enumerate(boards):
        roll = dice_oracle.self_play_roll(11, 5, half_move, rules is TAVLA)
        assert after in moves_oracle.legal_after_positions(before, roll, rules)
        before = moves_oracle.turned_round(after)
    last_outcome(boards[-1], dice_oracle.self_play_roll(11, 5, len(boards), rules is TAVLA), rules)


def test_both_players_choose_the_best_play() -> None:
    ((boards, _),) = game_by_game(INTERNATIONAL, range(5, 6), 0.5)
    evaluator = Evaluator(Nets(NET))
    before = np.array(START)
    for half_move, after in enumerate(boards):
        plays, outcomes = evaluator.plays(before, dice_oracle.self_play_roll(11, 5, half_move, False), INTERNATIONAL)
        equities = (outcomes @ INTERNATIONAL.utility).tolist()
        assert equities[plays.tolist().index(list(after))] == max(equities)
        before = np.array(moves_oracle.turned_round(after), dtype=np.int8)


@pytest.mark.parametrize("td_lambda", [0.0, 0.5, 1.0])
def test_targets_equal_the_backward_recursion(td_lambda: float) -> None:
    for game, (boards, targets) in enumerate(game_by_game(INTERNATIONAL, range(4), td_lambda)):
        values = (Evaluator(Nets(NET)).after_positions(np.array(boards, dtype=np.int8)) / ONE).tolist()
        roll = dice_oracle.self_play_roll(11, game, len(boards), False)
        result = last_outcome(boards[-1], roll, INTERNATIONAL)
        values.append(result)
        expected: list[list[float]] = []
        target = result  # of the last after-position, which is the end of the game
        for following in reversed(values[1:]):
            mixed = [(1 - td_lambda) * v + td_lambda * t for v, t in zip(following, target, strict=True)]
            target = other_view(mixed)
            expected.insert(0, target)
        np.testing.assert_allclose(targets, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rules", [INTERNATIONAL, HYPERGAMMON], ids=lambda rules: rules.name)
def test_with_lambda_one_every_target_is_the_final_result(rules: RuleSet) -> None:
    kinds = set()
    for game, (boards, targets) in enumerate(game_by_game(rules, range(12), 1.0)):
        roll = dice_oracle.self_play_roll(11, game, len(boards), False)
        won = last_outcome(boards[-1], roll, rules)
        kinds.add(sum(won))
        views = [other_view(won), won]  # the one who made the last play but one has lost
        assert targets[::-1].tolist() == [views[i % 2] for i in range(len(boards))]
    assert len(kinds) > 1  # not all of the games are won singly


def test_a_round_is_the_same_games_however_it_is_split() -> None:
    net = Nets(NET)
    whole = play_round(net, INTERNATIONAL, 4, 100, 30, 0.7)
    parts = [play_round(net, INTERNATIONAL, 4, first, n, 0.7) for first, n in ((100, 1), (101, 12), (113, 17))]
    assert np.concatenate([part.boards for part in parts]).tobytes() == whole.boards.tobytes()
    assert np.concatenate([part.targets for part in parts]).tobytes() == whole.targets.tobytes()
    assert sum(part.games for part in parts) == whole.games > 20
    again = play_round(net, INTERNATIONAL, 4, 100, 30, 0.7)
    assert again.boards.tobytes() == whole.boards.tobytes()
    other = play_round(net, INTERNATIONAL, 5, 100, 30, 0.7)
    assert other.boards.tobytes() != whole.boards.tobytes()


def test_rounds_larger_than_the_kernels_buffer_are_whole() -> None:
    net = Nets(NET)
    whole = play_round(net, INTERNATIONAL, 4, 0, 600, 0.7)
    tail = play_round(net, INTERNATIONAL, 4, 590, 10, 0.7)
    assert len(whole.boards) > 256 * 96 + 1024  # what the kernel is given room for at once
    assert whole.boards[-len(tail.boards) :].tobytes() == tail.boards.tobytes()
    starts = {tuple(play) for roll in moves_oracle.ROLLS for play in opening_plays(roll)}
    assert sum(tuple(board) in starts for board in whole.boards.tolist()) >= whole.games > 500


def opening_plays(roll: tuple[int, int]) -> set[tuple[int, ...]]:
    """After-positions of the first half-move."""
    return moves_oracle.legal_after_positions(START.tolist(), roll, INTERNATIONAL)


def endless_net() -> Net:
    """Wants both players far behind and many own blots: with it games go round in circles of hits."""
    arrays = {name: np.zeros_like(array) for name, array in NET.arrays.items()}
    starts = {}
    row = 1 + facts_oracle.PLACE_ROWS
    for side in ("own", "other"):
        for name, size in facts_oracle.SIDE_FACTS:
            starts[side, name] = row
            row += size
    for t in range(TABLES):
        table = arrays["table"][t * ROWS :]
        for place in range(26):
            for count in range(1, 16):
                row = 1 + 31 * place + 15
                table[row + count, 0] = 0.006 * place * count  # pips of both sides
                table[row - count, 0] = 0.006 * (25 - place) * count
        for blots in range(1, 168):
            table[starts["own", "blots"] + blots, 0] = 0.1 * (blots // 21)
    for c in range(CLASSES):
        arrays["second"][c, 0, 27] = 1.0  # straight to the logit of winning
        arrays["second_bias"][c, 27] = -2.0
    return make_net(arrays)


def test_games_that_do_not_end_leave_no_samples() -> None:
    samples = play_round(Nets(endless_net()), INTERNATIONAL, 1, 0, 5, 0.5)
    assert samples.games == 0
    assert samples.boards.shape == (0, 26)
    assert samples.targets.shape == (0, 5)


# Shards: games with special starts and exploration


TASK = ShardTask(
    generation=0,
    index=0,
    rules=INTERNATIONAL,
    seed=11,
    first_game=5,
    games=6,
    starts=StartMix({StartKind.OPENING: 1.0}),
    settle=2,
    half_moves=10,
    explore=Exploration(0, 0, 8),
    labels=Labelling(LabelKind.TD, td_lambda=0.5),
)
ALWAYS = 1 << 32
EXPLORING = replace(TASK, games=4, labels=Labelling(LabelKind.TWO_PLY))


def made(task: ShardTask, net: Net = NET) -> Shard:
    """The shard of a task."""
    return ShardMaker(Nets(net)).make(task)


def test_a_shard_from_the_opening_is_the_games_of_a_round() -> None:
    shard = made(TASK)
    samples = play_round(Nets(NET), INTERNATIONAL, 11, 5, 6, 0.5)
    assert shard.boards.tobytes() == samples.boards.tobytes()
    assert shard.labels.tobytes() == samples.targets.tobytes()
    assert (shard.games, shard.refused) == (samples.games, 0)
    assert set(shard.starts.tolist()) == {list(StartKind).index(StartKind.OPENING)}


def test_nackgammon_games_begin_where_nackgammon_does() -> None:
    boards = made(replace(TASK, rules=NACKGAMMON)).boards
    roll = dice_oracle.self_play_roll(11, 5, 0, False)
    before = NACKGAMMON.start.board.tolist()
    assert tuple(boards[0].tolist()) in moves_oracle.legal_after_positions(before, roll, NACKGAMMON)


def test_games_from_special_starts_settle_first_and_leave_few_samples() -> None:
    task = replace(TASK, games=3, starts=StartMix({StartKind.PRIMES: 1.0}))
    labelled = made(task)
    whole = made(replace(task, settle=0, half_moves=1000))
    first = made(replace(task, games=1))
    assert len(first.boards) == 10
    start = task.starts.start(INTERNATIONAL, 11, 5).board.tolist()
    before = tuple(start)
    game = [tuple(board) for board in whole.boards.tolist()]
    for half_move in range(12):
        index = dice_oracle.below(dice_oracle.noise(11, dice_oracle.STREAM_SELF_PLAY, 5, half_move), 36)
        roll = (index // 6 + 1, index % 6 + 1)  # no opening roll: doubles may come
        assert game[half_move] in moves_oracle.legal_after_positions(before, roll, INTERNATIONAL)
        before = moves_oracle.turned_round(game[half_move])
    # The labels are those of the whole game: its end counts, though it leaves no samples.
    assert first.boards.tobytes() == whole.boards[2:12].tobytes() == labelled.boards[:10].tobytes()
    assert first.labels.tobytes() == whole.labels[2:12].tobytes()


def test_without_exploration_the_best_play_is_made_and_nothing_else_is_kept() -> None:
    shard = made(EXPLORING)
    samples = play_round(Nets(NET), INTERNATIONAL, 11, 5, 4, 0.0)
    assert shard.boards.tobytes() == samples.boards.tobytes()


def rank_of(after: tuple[int, ...], before: tuple[int, ...], roll: tuple[int, int]) -> int:
    """How many plays of a roll the net likes better than this one; the play must be legal."""
    plays, outcomes = Evaluator(Nets(NET)).plays(np.array(before, dtype=np.int8), roll, INTERNATIONAL)
    equities = (outcomes @ INTERNATIONAL.utility).tolist()
    value = equities[plays.tolist().index(list(after))]
    return sum(equity > value for equity in equities)


def test_exploring_games_make_one_of_the_best_plays() -> None:
    task = replace(EXPLORING, games=1, explore=Exploration(ALWAYS - 1, 0, 3))
    boards = [tuple(board) for board in made(task).boards.tolist()]
    before = tuple(START.tolist())
    ranks = []
    for half_move, after in enumerate(boards[:60]):
        ranks.append(rank_of(after, before, dice_oracle.self_play_roll(11, 5, half_move, False)))
        before = moves_oracle.turned_round(after)
    assert set(ranks) == {0, 1, 2}


def test_siblings_are_other_plays_of_the_same_roll() -> None:
    plain = [tuple(board) for board in made(replace(EXPLORING, games=1)).boards.tolist()]
    task = replace(EXPLORING, games=1, explore=Exploration(0, ALWAYS - 1, 4))
    boards = [tuple(board) for board in made(task).boards.tolist()]
    assert len(boards) > 1.3 * len(plain)
    before, half_move, siblings = tuple(START.tolist()), -1, 0
    for after in boards:
        if half_move + 1 < len(plain) and after == plain[half_move + 1]:
            half_move += 1
            previous, before = before, moves_oracle.turned_round(after)
            continue
        roll = dice_oracle.self_play_roll(11, 5, half_move, False)
        assert 0 < rank_of(after, previous, roll) < 4
        siblings += 1
    assert half_move == len(plain) - 1
    assert siblings == len(boards) - len(plain)


def test_labels_at_2ply_are_the_search_s_values() -> None:
    shard = made(replace(EXPLORING, games=1))
    evaluator = Evaluator(Nets(NET))
    for board, label in list(zip(shard.boards, shard.labels, strict=True))[::9]:
        value = evaluator.after_position(board, INTERNATIONAL, 2) / ONE
        np.testing.assert_allclose(label, value, rtol=0, atol=1e-7)


def test_labels_by_rollout_are_the_mean_of_outcome_less_luck() -> None:
    labels = Labelling(LabelKind.ROLLOUT, half_moves=2, trials=36)
    shard = made(
        replace(EXPLORING, first_game=0, games=1, labels=labels, half_moves=3, starts=StartMix({StartKind.RACE: 1.0}))
    )
    assert len(shard.boards) == 3
    settings = RolloutSettings(INTERNATIONAL, seed=11, truncate=2, bearoff=False)
    for i, board in enumerate(shard.boards):
        rows = Roller(Nets(NET)).trials(Candidate.after_play(board), settings, 36 * i, 36) / ONE
        expected = (rows[:, :5] - rows[:, 5:]).mean(axis=0)
        np.testing.assert_allclose(shard.labels[i], np.clip(expected, 0, 1), rtol=0, atol=2e-2)
        assert abs(float(shard.labels[i, 0]) - expected[0]) < 1e-6


def test_a_shard_is_a_function_of_its_task_and_the_nets() -> None:
    task = replace(EXPLORING, explore=Exploration(ALWAYS // 4, ALWAYS // 2, 8))
    assert made(task).boards.tobytes() == made(task).boards.tobytes()
    assert made(replace(task, seed=12)).boards.tobytes() != made(task).boards.tobytes()
    assert made(task, random_net(4)).boards.tobytes() != made(task).boards.tobytes()
    parts = [made(replace(task, first_game=5 + g, games=1)).boards for g in range(4)]
    assert np.concatenate(parts).tobytes() == made(task).boards.tobytes()
