"""Training: recipes, self-play as a pure function, TD targets, checkpoints, and a learner that learns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from nets import random_net
from oracles import dice as dice_oracle
from oracles import facts as facts_oracle
from oracles import moves as moves_oracle
from oracles import network as network_oracle
from training.first_layer import SparseFirstLayer
from training.td import Round, TdTraining

from engine.board import START
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.facts import ROWS
from engine.kernels.network import ONE
from engine.network import Network
from engine.rules import INTERNATIONAL, TAVLA, RuleSet
from engine.weights import Net, make_net
from training.checkpoint import load_checkpoint, save_checkpoint
from training.recipe import TdRecipe, load_recipe
from training.selfplay import play_round


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Sums in Torch in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# Recipes


def recipe_file(tmp_path: Path, text: str) -> Path:
    """A recipe on disk."""
    path = tmp_path / "tiny.toml"
    path.write_text(text, encoding="utf-8")
    return path


GOOD = 'name = "tiny"\ngames = 80\ngames_per_round = 20\n'


def test_a_recipe_is_read_with_its_defaults(tmp_path: Path) -> None:
    recipe = load_recipe(recipe_file(tmp_path, GOOD + 'rules = "tavla+forced-bear-off"\ntd_lambda = 0.5\n'))
    assert (recipe.name, recipe.games, recipe.rounds) == ("tiny", 80, 4)
    assert recipe.rules == "tavla+forced-bear-off"
    assert recipe.td_lambda == 0.5
    assert recipe == TdRecipe(name="tiny", games=80, games_per_round=20, rules="tavla+forced-bear-off", td_lambda=0.5)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (GOOD + "learning_rat = 0.1\n", "learning_rat"),
        (GOOD + 'rules = "checkers"\n', "rules"),
        (GOOD + 'rules = "tavla+flying"\n', "rules"),
        (GOOD + "width = 33\n", "width"),
        (GOOD + "width = 0\n", "width"),
        (GOOD + "td_lambda = 1.5\n", "td_lambda"),
        (GOOD + "learning_rate = -1.0\n", "learning_rate"),
        (GOOD + 'batch = "many"\n', "batch"),
        (GOOD + "seed = -1\n", "seed"),
        ('name = "tiny"\n', "games"),
        ("games = 1000\n", "name"),
        ('name = "../up"\ngames = 1000\n', "name"),
        ('name = "tiny"\ngames = 90\ngames_per_round = 20\n', "games must be a multiple of games_per_round"),
    ],
)
def test_a_recipe_that_does_not_fit_names_the_field(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(recipe_file(tmp_path, text))
    assert named in str(caught.value)
    assert "tiny.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_recipes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="readable TOML"):
        load_recipe(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="valid TOML"):
        load_recipe(recipe_file(tmp_path, "name = = 3"))
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="valid TOML"):
        load_recipe(path)


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
    won = [network_oracle.final_outcome(play) for play in plays if moves_oracle.own_checkers(play) == 0]
    assert won, "the game was not over"
    best = max(won, key=sum)
    return [p / ONE for p in best]


def other_view(p: list[float]) -> list[float]:
    """The other player's chances."""
    return [1 - p[0], p[3], p[4], p[1], p[2]]


@pytest.mark.parametrize("rules", [INTERNATIONAL, TAVLA], ids=lambda rules: rules.name)
def test_games_follow_the_rules_and_the_documented_dice(rules: RuleSet) -> None:
    ((boards, _),) = game_by_game(rules, range(5, 6), 0.5)
    before = tuple(START.tolist())
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


def test_with_lambda_one_every_target_is_the_final_result() -> None:
    for game, (boards, targets) in enumerate(game_by_game(INTERNATIONAL, range(6), 1.0)):
        roll = dice_oracle.self_play_roll(11, game, len(boards), False)
        won = last_outcome(boards[-1], roll, INTERNATIONAL)
        views = [other_view(won), won]  # the one who made the last play but one has lost
        assert targets[::-1].tolist() == [views[i % 2] for i in range(len(boards))]


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
    for c in range(2):
        table = arrays["table"][c * ROWS :]
        for fifths in range(1, 64):
            table[starts["own", "fifths_of_pips"] + fifths, 0] = 0.03 * fifths
            table[starts["other", "fifths_of_pips"] + fifths, 0] = 0.03 * fifths
        for blots in range(1, 24):
            table[starts["own", "blots"] + blots, 0] = 0.1 * (blots // 3)
        arrays["second"][c, 0, 27] = 1.0  # straight to the logit of winning
        arrays["second_bias"][c, 27] = -2.0
    return make_net(arrays)


def test_games_that_do_not_end_leave_no_samples() -> None:
    samples = play_round(Nets(endless_net()), INTERNATIONAL, 1, 0, 5, 0.5)
    assert samples.games == 0
    assert samples.boards.shape == (0, 26)
    assert samples.targets.shape == (0, 5)
    rows, races = samples.inputs()
    assert len(rows) == len(races) == 0


# Training runs


TINY = TdRecipe(
    name="tiny", width=32, games=80, games_per_round=20, batch=256, warm_rounds=2, td_lambda_until=0.5, seed=7
)


def same_tensors(left: TdTraining, right: TdTraining) -> bool:
    """Model, player and optimiser agree bit for bit."""
    a, b = left.checkpoint().tensors, right.checkpoint().tensors
    return a.keys() == b.keys() and all(a[name].numpy().tobytes() == b[name].numpy().tobytes() for name in a)


@pytest.fixture(scope="module")
def uninterrupted() -> tuple[TdTraining, list[Round]]:
    """The tiny recipe from beginning to end."""
    training = TdTraining(TINY)
    return training, list(training.rounds())


def test_an_interrupted_and_resumed_run_ends_with_the_same_bits(
    tmp_path: Path, uninterrupted: tuple[TdTraining, list[Round]]
) -> None:
    whole, rounds = uninterrupted
    first = TdTraining(TINY)
    running = first.rounds()
    early = [next(running), next(running)]
    save_checkpoint(first.checkpoint(), tmp_path / "checkpoint")
    del running  # waits for the games that are being played
    assert not same_tensors(first, whole)

    resumed = TdTraining(TINY, load_checkpoint(tmp_path / "checkpoint"))
    assert resumed.done == 2
    assert same_tensors(resumed, first)
    late = list(resumed.rounds())
    assert early + late == rounds
    assert same_tensors(resumed, whole)
    assert resumed.net().digest == whole.net().digest
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_run_is_a_function_of_its_recipe(uninterrupted: tuple[TdTraining, list[Round]]) -> None:
    whole, rounds = uninterrupted
    assert [one.number for one in rounds] == [1, 2, 3, 4]
    assert all(one.games == 20 for one in rounds)
    assert whole.net().digest != TdTraining(TINY).net().digest
    assert whole.net().description["games"] == "80"
    other = TdTraining(TINY.model_copy(update={"seed": 8}))
    assert other.net().digest != TdTraining(TINY).net().digest
    assert list(whole.rounds()) == []


@pytest.mark.parametrize(
    "change", [{"seed": 8}, {"games": 160}, {"learning_rate": 2e-3}, {"batch": 128}, {"width": 64}, {"rules": "tavla"}]
)
def test_resuming_with_another_recipe_is_refused(
    change: dict[str, object], uninterrupted: tuple[TdTraining, list[Round]]
) -> None:
    changed = TdRecipe.model_validate(TINY.model_dump() | change)
    with pytest.raises(InputError, match="recipe"):
        TdTraining(changed, uninterrupted[0].checkpoint())


def test_checkpoints_may_come_more_often_after_resuming(uninterrupted: tuple[TdTraining, list[Round]]) -> None:
    changed = TINY.model_copy(update={"checkpoint_every": 1})
    assert TdTraining(changed, uninterrupted[0].checkpoint()).done == 4


def test_damaged_checkpoints_are_refused(tmp_path: Path, uninterrupted: tuple[TdTraining, list[Round]]) -> None:
    path = tmp_path / "checkpoint"
    save_checkpoint(uninterrupted[0].checkpoint(), path)
    content = path.read_bytes()
    load_checkpoint(path)
    for damaged in (b"", content[:100], content[:-1], b"\xff" * 64, b"x" + content):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="checkpoint"):
            load_checkpoint(path)
    path.write_bytes(content.replace(b"gammonfarm-checkpoint-1", b"gammonfarm-checkpoint-0"))
    with pytest.raises(InputError, match="of this version"):
        load_checkpoint(path)
    with pytest.raises(InputError, match="checkpoint"):
        load_checkpoint(tmp_path / "absent")


def test_flipped_bytes_in_a_checkpoints_weights_are_noticed(
    tmp_path: Path, uninterrupted: tuple[TdTraining, list[Round]]
) -> None:
    path = tmp_path / "checkpoint"
    save_checkpoint(uninterrupted[0].checkpoint(), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(InputError, match="checkpoint"):
        load_checkpoint(path)


def test_empty_rows_stay_zero_through_training(uninterrupted: tuple[TdTraining, list[Round]]) -> None:
    table = uninterrupted[0].net().arrays["table"].reshape(2, ROWS, 32)
    assert not table[:, 0].any()
    assert table[:, 1:].any(axis=(1, 2)).all()


def test_learning_rate_rises_and_falls_to_its_ends() -> None:
    recipe = TdRecipe(
        name="x", games=1000, games_per_round=10, width=32, learning_rate=1e-2, final_learning_rate=1e-4, warm_rounds=5
    )
    training = TdTraining(recipe)
    rates = [training.learning_rate(number) for number in range(recipe.rounds)]
    assert rates[0] == pytest.approx(1e-2 / 5)
    assert rates[99] == pytest.approx(1e-4)
    assert rates[:5] == sorted(rates[:5])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert max(rates) == pytest.approx(1e-2, rel=0.01)
    cold = TdTraining(recipe.model_copy(update={"warm_rounds": 0}))
    assert cold.learning_rate(0) == pytest.approx(1e-2)
    assert (cold.learning_rate(49) + cold.learning_rate(50)) / 2 == pytest.approx((1e-2 + 1e-4) / 2)


def test_lambda_goes_straight_to_its_end_and_stays_there() -> None:
    recipe = TdRecipe(
        name="x", games=1000, games_per_round=10, width=32, td_lambda=0.8, final_td_lambda=0.2, td_lambda_until=0.5
    )
    lambdas = [TdTraining(recipe).td_lambda(number) for number in (0, 25, 50, 75, 99)]
    assert lambdas == pytest.approx([0.8, 0.5, 0.2, 0.2, 0.2])
    at_once = TdTraining(recipe.model_copy(update={"td_lambda_until": 0.0}))
    assert at_once.td_lambda(0) == pytest.approx(0.2)


def test_rounds_report_the_schedule(uninterrupted: tuple[TdTraining, list[Round]]) -> None:
    whole, rounds = uninterrupted
    for number, one in enumerate(rounds):
        assert one.learning_rate == whole.learning_rate(number)
        assert one.td_lambda == whole.td_lambda(number)
        assert one.samples > 20 * 20


def test_the_network_learns_64_positions_by_heart() -> None:
    samples = play_round(Nets(NET), INTERNATIONAL, 2, 0, 4, 0.5)
    rows, races = (torch.from_numpy(part[:64]) for part in samples.inputs())
    targets = torch.rand((64, 5), generator=torch.Generator().manual_seed(1))
    model = Network(32, SparseFirstLayer(ROWS))
    model.initialise(torch.Generator().manual_seed(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    errors = []
    for _ in range(300):
        logits = model(rows.long(), races)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        errors.append(float((torch.sigmoid(logits.detach()) - targets).abs().mean()))
    assert errors[0] > 0.2
    assert errors[-1] < 0.02


def test_loss_falls_in_a_short_run() -> None:
    # Final results as targets, so that the loss of one round means the same as that of another.
    recipe = TdRecipe(
        name="short",
        width=32,
        games=1000,
        games_per_round=50,
        batch=128,
        warm_rounds=0,
        learning_rate=5e-3,
        td_lambda=1.0,
        final_td_lambda=1.0,
    )
    losses = [one.loss for one in TdTraining(recipe).rounds()]
    assert sum(losses[-5:]) / 5 < 0.85 * losses[0]
