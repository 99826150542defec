"""The network: integer kernel against plain Python, the Torch module, and weights on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nets import random_model, random_net
from oracles import facts as facts_oracle
from oracles import network as oracle
from safetensors.numpy import load_file, save_file
from strategies import boards, rolls

from engine import outcome as outcomes
from engine.board import START, Board, borne_off, flip, make_board
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.facts import ROWS, WIDTH, rows_of
from engine.kernels.network import ONE
from engine.rules import HYPERGAMMON, INTERNATIONAL, TAVLA, rule_set
from engine.search import rank_plays
from engine.weights import FORMAT, Net, inputs_digest, load_net, make_net, quantise, save_net
from training.limits import on_grid

NETS = 3


def changed(net: Net, name: str, value: float) -> Net:
    """The net with one weight of an array set (not one of an empty row)."""
    arrays = {key: np.array(array) for key, array in net.arrays.items()}
    arrays[name][-1, ..., -1].flat[-1] = value
    return make_net(arrays)


def inputs(of: list[Board]) -> tuple[torch.Tensor, torch.Tensor]:
    """(rows, classes) for the Torch module."""
    rows = np.empty((len(of), WIDTH), dtype=np.int32)
    classes = np.empty(len(of), dtype=np.int64)
    rows_of(np.stack(of), rows, classes)
    return torch.from_numpy(rows).long(), torch.from_numpy(classes)


EVALUATORS = [Evaluator(Nets(random_net(seed))) for seed in range(NETS)]
WEIGHTS = [oracle.quantised(evaluator.nets.main.arrays) for evaluator in EVALUATORS]
which = st.integers(0, NETS - 1)
board_lists = st.lists(boards(), min_size=1, max_size=5)

# After-positions: the races, a bear-off, and contact with bars.
RACE = make_board([0, 3, 3, 3, 3, 3] + [0] * 14 + [-3, -3, -3, -3, -3, 0])
LATE_RACE = make_board([0, 0, 1, 0, 0, 0, 0, -1] + [0] * 18)
ON_THE_BAR = make_board([-2, 2, 2, 2, 2, 0, 1] + [0] * 12 + [-2, -2, -2, 0, 0, -1, 1])


# The integer network


@given(seed=which, some=board_lists)
@example(seed=0, some=[START, RACE, LATE_RACE, ON_THE_BAR])
@example(seed=1, some=[START, RACE, LATE_RACE, ON_THE_BAR])
@settings(max_examples=60, deadline=None)
def test_outcomes_equal_the_plain_integer_network(seed: int, some: list[Board]) -> None:
    found = EVALUATORS[seed].after_positions(np.stack(some))
    assert found.tolist() == [oracle.integer_outcome(board.tolist(), WEIGHTS[seed]) for board in some]


@pytest.mark.parametrize("value", [-15.0, -7.0, -0.3, 0.7, 7.0, 15.0, 40.0])
def test_sure_things_equal_the_plain_integer_network_too(value: float) -> None:
    # `last_bias` moves the logit of losing a backgammon in a contact position; `second_bias` as well, past both ends.
    for name in ("last_bias", "second_bias"):
        evaluator = Evaluator(Nets(changed(random_net(0), name, value)))
        weights = oracle.quantised(evaluator.nets.main.arrays)
        found = evaluator.after_positions(np.stack([START, ON_THE_BAR]))
        assert found.tolist() == [oracle.integer_outcome(b.tolist(), weights) for b in (START, ON_THE_BAR)]


def test_clipping_is_exercised_in_both_layers() -> None:
    net = random_net(0)
    arrays = {name: np.array(array) for name, array in net.arrays.items()}
    arrays["bias"] *= 12
    arrays["second"] *= 4
    evaluator = Evaluator(Nets(make_net(arrays)))
    weights = oracle.quantised(evaluator.nets.main.arrays)
    rows = [row for row in facts_oracle.rows(START.tolist()) if row]
    sums = np.array(weights["bias"][1]) + np.array(weights["table"][1])[rows].sum(axis=0)
    assert (sums > 4 * 1024).any()
    assert (sums < 0).any()
    for board in (START, RACE, ON_THE_BAR):
        assert evaluator.after_positions(board[np.newaxis])[0].tolist() == oracle.integer_outcome(
            board.tolist(), weights
        )


@given(seed=which, board=boards(), dice=rolls(), rules=st.sampled_from(["international", "tavla+forced-bear-off"]))
@example(seed=0, board=START, dice=(6, 6), rules="international")
@settings(max_examples=100, deadline=None)
def test_updating_from_the_position_before_gives_the_same_outcomes(
    seed: int, board: Board, dice: tuple[int, int], rules: str
) -> None:
    evaluator = EVALUATORS[seed]
    afters, found = evaluator.plays(board, dice, rule_set(rules))
    assert found.tolist() == evaluator.after_positions(afters).tolist()


@pytest.mark.parametrize("seed", range(NETS))
def test_updating_is_exact_where_contact_ends_or_begins_with_the_play(seed: int) -> None:
    # The last man behind runs past the opponent with some plays of 6-5; with 2-1 he stays.
    breaking = make_board([0, 2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0, -3, 0, 0, 0, 0, 1, -2, -2, -2, -2, -2, -2, 0])
    for board, dice in ((breaking, (6, 5)), (breaking, (2, 1)), (RACE, (3, 3)), (LATE_RACE, (1, 1))):
        afters, found = EVALUATORS[seed].plays(board, dice, INTERNATIONAL)
        assert found.tolist() == [oracle.integer_outcome(after.tolist(), WEIGHTS[seed]) for after in afters]
    classes = {facts_oracle.is_race(after.tolist()) for after in EVALUATORS[seed].plays(breaking, (6, 5), TAVLA)[0]}
    assert classes == {False, True}


@given(seed=which, some=board_lists)
@settings(max_examples=60, deadline=None)
def test_outcomes_are_consistent_and_know_who_has_borne_off(seed: int, some: list[Board]) -> None:
    found = EVALUATORS[seed].after_positions(np.stack(some))
    assert outcomes.is_consistent(found / ONE, tolerance=0.0)
    for board, (_, gammon, backgammon, lose_gammon, lose_backgammon) in zip(some, found.tolist(), strict=True):
        own_off, other_off = borne_off(board)
        assert not (other_off and (gammon or backgammon))
        assert not (own_off and (lose_gammon or lose_backgammon))


def test_a_side_that_has_borne_off_shows_no_gammon_losses_although_the_net_is_sure_of_them() -> None:
    certain = Evaluator(Nets(changed(random_net(0), "last_bias", 12.0)))  # contact: loses a backgammon
    whole, one_off = np.array(ON_THE_BAR), np.array(ON_THE_BAR)
    whole[6] += 15 - int(whole[whole > 0].sum())
    one_off[6] = whole[6] - 1
    lost_whole, lost_one_off = certain.after_positions(np.stack([whole, one_off]))[:, 3:]
    assert lost_whole.min() > 0
    assert lost_one_off.tolist() == [0, 0]


@given(seed=which, board=boards(checkers=3), dice=rolls())
@example(seed=0, board=HYPERGAMMON.start.board, dice=(6, 5))
@settings(max_examples=40, deadline=None)
def test_with_three_checkers_a_side_one_borne_off_saves_the_gammon(
    seed: int, board: Board, dice: tuple[int, int]
) -> None:
    evaluator = EVALUATORS[seed]
    afters, found = evaluator.plays(board, dice, HYPERGAMMON)
    assert found.tolist() == [oracle.integer_outcome(after.tolist(), WEIGHTS[seed], 3) for after in afters]
    assert found.tolist() == evaluator.after_positions(afters, 3).tolist()
    for after, (_, gammon, _, lose_gammon, _) in zip(afters, found.tolist(), strict=True):
        own, other = int(after[after > 0].sum()), -int(after[after < 0].sum())
        assert other == 3 or not gammon
        assert own == 3 or not lose_gammon


def finished(other: dict[int, int]) -> Board:
    """The mover is off; the opponent's checkers by place in the mover's numbering (0 = his bar)."""
    board = np.zeros(26, dtype=np.int8)
    for place, count in other.items():
        board[place] = -count
    return board


@pytest.mark.parametrize(
    ("other", "points", "points_in_tavla"),
    [
        ({24: 11}, 1, 1),
        ({24: 11, 3: 3}, 1, 1),  # four off: single, wherever the others stand
        ({24: 14, 18: 1}, 2, 2),
        ({7: 15}, 2, 2),
        ({24: 14, 6: 1}, 3, 2),
        ({24: 14, 1: 1}, 3, 2),
        ({24: 14, 0: 1}, 3, 2),
    ],
)
def test_a_finished_game_is_worth_exactly_what_the_rules_say(
    other: dict[int, int], points: int, points_in_tavla: int
) -> None:
    board = finished(other)
    outcome = EVALUATORS[0].after_positions(board[np.newaxis])
    assert outcome[0].tolist() == oracle.final_outcome(board.tolist())
    assert outcomes.cubeless_equity(outcome / ONE, INTERNATIONAL).tolist() == [points]
    assert outcomes.cubeless_equity(outcome / ONE, TAVLA).tolist() == [points_in_tavla]


def test_a_play_that_ends_the_game_is_exact() -> None:
    board = make_board([0, 1, 1] + [0] * 16 + [-15] + [0] * 6)
    afters, found = EVALUATORS[0].plays(board, (2, 1), INTERNATIONAL)
    won = [outcome for after, outcome in zip(afters.tolist(), found.tolist(), strict=True) if max(after) == 0]
    assert won == [[ONE, ONE, 0, 0, 0]]


@given(seed=which, board=boards(), dice=rolls())
@settings(max_examples=40, deadline=None)
def test_plays_are_ranked_by_equity_then_by_checkers_off(seed: int, board: Board, dice: tuple[int, int]) -> None:
    ranked = rank_plays(EVALUATORS[seed], board, dice, INTERNATIONAL)
    afters = EVALUATORS[seed].plays(board, dice, INTERNATIONAL)[0]
    assert sorted(play.after.tolist() for play in ranked) == sorted(afters.tolist())
    keys = [(-play.value.equity, -borne_off(play.after)[0]) for play in ranked]
    assert keys == sorted(keys)
    for play in ranked:
        exact = np.array(oracle.integer_outcome(play.after.tolist(), WEIGHTS[seed])) / ONE
        assert play.value.outcome == tuple(exact)


def test_a_position_before_the_roll_is_the_turned_after_position() -> None:
    board = ON_THE_BAR
    win, gammon, backgammon, lose_gammon, lose_backgammon = oracle.integer_outcome(flip(board).tolist(), WEIGHTS[0])
    seen = (ONE - win, lose_gammon, lose_backgammon, gammon, backgammon)
    value = EVALUATORS[0].before_roll(board, INTERNATIONAL)
    assert value.outcome == tuple(p / ONE for p in seen)
    assert value.equity == pytest.approx((2 * seen[0] + seen[1] + seen[2] - seen[3] - seen[4]) / ONE - 1, abs=1e-12)


@pytest.mark.parametrize("level", [0, 5, -1])
def test_levels_that_do_not_exist_are_refused(level: int) -> None:
    with pytest.raises(InputError, match="level"):
        rank_plays(EVALUATORS[0], START, (2, 1), INTERNATIONAL, level)


# The Torch module


@given(seed=which, some=board_lists)
@example(seed=2, some=[START, RACE, LATE_RACE, ON_THE_BAR])
@settings(max_examples=40, deadline=None)
def test_the_module_equals_the_plain_float_network(seed: int, some: list[Board]) -> None:
    model = random_model(seed)
    arrays = random_net(seed).arrays
    with torch.no_grad():
        logits = model(*inputs(some)).numpy()
    exact = [oracle.float_logits(board.tolist(), arrays, ROWS) for board in some]
    np.testing.assert_allclose(logits, exact, rtol=0, atol=1e-5)


@given(seed=which, some=board_lists)
@example(seed=0, some=[START, RACE, LATE_RACE, ON_THE_BAR])
@settings(max_examples=100, deadline=None)
def test_the_integer_twin_is_close_to_the_module(seed: int, some: list[Board]) -> None:
    with torch.no_grad():
        probabilities = torch.sigmoid(random_model(seed)(*inputs(some))).double().numpy()
    limited = [oracle.within_rules(board.tolist(), p, 1.0) for board, p in zip(some, probabilities, strict=True)]
    found = EVALUATORS[seed].after_positions(np.stack(some)) / ONE
    np.testing.assert_allclose(found, limited, rtol=0, atol=0.02)


# Weights


@pytest.mark.parametrize(
    ("name", "value"),
    [("table", 40.0), ("table", -40.0), ("second", 16.1), ("last", 16.1), ("last", -17.0)],
)
def test_weights_beyond_16_bits_are_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"weights {name}"):
        quantise(changed(random_net(0), name, value))


def test_sums_beyond_32_bits_are_refused() -> None:
    arrays = {key: np.array(array) for key, array in random_net(0).arrays.items()}
    arrays["second"][1, :, 0] = 7.9  # 32 of them: 253, just within 256
    quantise(make_net(arrays))
    arrays["second"][1, :, 0] = 8.1
    with pytest.raises(InputError, match="weights second"):
        quantise(make_net(arrays))


def test_sums_of_the_first_layer_beyond_16_bits_are_refused() -> None:
    arrays = {key: np.array(array) for key, array in random_net(0).arrays.items()}
    arrays["table"] = np.clip(arrays["table"] * 20, -3.9, 3.9)
    with pytest.raises(InputError, match="weights table"):
        quantise(make_net(arrays))


def test_largest_allowed_sums_stay_exact() -> None:
    arrays = {key: np.array(array) for key, array in random_net(0).arrays.items()}
    arrays["bias"][:] = 10.0  # every unit clipped at 4
    arrays["second"][:, :, ::2] = 7.9
    arrays["second"][:, :, 1::2] = -7.9
    evaluator = Evaluator(Nets(make_net(arrays)))
    weights = oracle.quantised(evaluator.nets.main.arrays)
    for board in (START, RACE):
        found = evaluator.after_positions(board[np.newaxis])[0].tolist()
        assert found == oracle.integer_outcome(board.tolist(), weights)


def test_a_saved_net_is_read_back_bit_for_bit(tmp_path: Path) -> None:
    net = make_net(random_net(1).arrays, {"recipe": "tiny"})
    save_net(net, tmp_path / "net.safetensors")
    loaded = load_net(tmp_path / "net.safetensors")
    assert loaded.digest == net.digest
    assert loaded.width == 32
    assert loaded.description["recipe"] == "tiny"
    assert loaded.arrays.keys() == net.arrays.keys()
    for name, array in net.arrays.items():
        assert loaded.arrays[name].dtype == np.float32
        assert loaded.arrays[name].tobytes() == np.ascontiguousarray(array).tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["net.safetensors"]


def test_a_net_rounded_to_the_integer_grid_keeps_its_twin_and_takes_half_the_room(tmp_path: Path) -> None:
    net = random_net(1)
    rounded = on_grid(net)
    boards = np.stack([START, RACE, LATE_RACE, ON_THE_BAR])
    values = [Evaluator(Nets(one)).after_positions(boards).tolist() for one in (net, rounded)]
    assert values[0] == values[1]
    for number, one in enumerate((net, rounded)):
        save_net(one, tmp_path / f"{number}.safetensors")
        loaded = load_net(tmp_path / f"{number}.safetensors")
        assert loaded.digest == one.digest
        assert all(array.dtype == np.float32 for array in loaded.arrays.values())
    whole, half = (path.stat().st_size for path in sorted(tmp_path.iterdir()))
    assert half < 0.6 * whole


@pytest.mark.parametrize("name", ["table", "bias", "second", "second_bias", "last", "last_bias"])
def test_any_other_weight_gives_another_digest(name: str) -> None:
    net = random_net(0)
    last = float(np.asarray(net.arrays[name]).flat[-1])
    assert changed(net, name, last).digest == net.digest
    assert changed(net, name, float(np.nextafter(np.float32(last), np.float32(9)))).digest != net.digest


def test_nets_with_missing_misshapen_or_infinite_arrays_are_refused() -> None:
    arrays = dict(random_net(0).arrays)
    with pytest.raises(InputError, match="bias"):
        make_net({name: a for name, a in arrays.items() if name != "bias"})
    with pytest.raises(InputError, match="weights last: 'missing'"):
        make_net({name: a for name, a in arrays.items() if name != "last"})
    with pytest.raises(InputError, match="weights second"):
        make_net({**arrays, "second": arrays["second"][:, :-1]})
    with pytest.raises(InputError, match="weights last_bias"):
        make_net({**arrays, "last_bias": np.full_like(arrays["last_bias"], np.nan)})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A net on disk."""
    path = tmp_path / "net.safetensors"
    save_net(random_net(2), path)
    return path


@pytest.mark.parametrize("part", [0.25, 0.5, 0.99])
def test_flipped_bytes_in_the_weights_are_noticed(saved: Path, part: float) -> None:
    content = bytearray(saved.read_bytes())
    content[int(len(content) * part)] ^= 0x01
    saved.write_bytes(content)
    with pytest.raises(InputError, match="net"):
        load_net(saved)


@pytest.mark.parametrize("content", [b"", b"not a net", b"\xff" * 100])
def test_what_is_no_net_at_all_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match="readable safetensors"):
        load_net(path)


def test_a_net_cut_short_or_absent_is_refused(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes()[:-1000])
    with pytest.raises(InputError, match="readable safetensors"):
        load_net(saved)
    with pytest.raises(InputError, match="readable safetensors"):
        load_net(saved.with_name("elsewhere"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another-net-7"}, FORMAT),
        ({"inputs": "0123456789ab"}, "board facts"),
        ({"digest": "0" * 16}, "undamaged"),
    ],
)
def test_a_net_of_another_kind_is_refused(saved: Path, change: dict[str, str], message: str) -> None:
    arrays = load_file(saved)
    header = {"format": FORMAT, "inputs": inputs_digest(), "digest": random_net(2).digest}
    save_file(arrays, saved, metadata=header)
    assert load_net(saved).digest == random_net(2).digest
    save_file(arrays, saved, metadata=header | change)
    with pytest.raises(InputError, match=message):
        load_net(saved)
