"""Learning in generations: schedules, windows, and the same bits from interrupted runs, whoever made the samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nets import random_net

from engine.errors import InputError, InternalError
from engine.evaluator import Evaluator, Nets
from engine.kernels.facts import TABLES
from engine.rules import INTERNATIONAL
from engine.weights import Net, make_net, save_net
from training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from training.generations import Generation, Training
from training.inputs import inputs_of
from training.positions import Shard, ShardMaker
from training.recipe import ExplorePart, FitPart, LabelKind, LabelPart, SelfPlayRecipe, StartPart
from training.selfplay import play_round

TINY = SelfPlayRecipe(
    name="tiny",
    width=32,
    generations=4,
    shards_per_generation=2,
    games_per_shard=8,
    window=2,
    seed=7,
    labels=LabelPart(kind=LabelKind.TWO_PLY),
    starts=StartPart(opening=0.5, primes=0.5, half_moves=10),
    explore=ExplorePart(random_play=0.2, sibling=0.5),
    fit=FitPart(batch=64, passes=1.5, warm_generations=1, average_batches=40, quantised_generations=2),
)


class Runner:
    """Makes the samples that a training wants, and remembers them as the disk would."""

    def __init__(self, training: Training, made: dict[tuple[int, int], Shard] | None = None) -> None:
        self.training = training
        self.made = made if made is not None else {}

    def step(self) -> Generation:
        """One generation."""
        training = self.training
        maker = ShardMaker(training.player(training.done))
        for task in training.tasks(training.done):
            self.made.setdefault((task.generation, task.index), maker.make(task))
        shards = [self.made[g, i] for g in training.window() for i in range(training.recipe.shards_per_generation)]
        return training.fit(shards, training.recipe.shards_per_generation)


def bits(checkpoint: Checkpoint) -> dict[str, bytes]:
    """Every tensor of a state."""
    return {name: t.numpy().tobytes() for name, t in checkpoint.tensors.items()}


@pytest.fixture(scope="module")
def whole() -> tuple[Training, list[Generation]]:
    """The tiny recipe from beginning to end."""
    runner = Runner(Training(TINY))
    return runner.training, [runner.step() for _ in range(TINY.generations)]


@pytest.mark.parametrize("stop", [1, 3])  # before the rounded generations, and among them
def test_an_interrupted_and_resumed_run_ends_with_the_same_bits(
    tmp_path: Path, whole: tuple[Training, list[Generation]], stop: int
) -> None:
    first = Runner(Training(TINY))
    early = [first.step() for _ in range(stop)]
    save_checkpoint(first.training.checkpoint(), tmp_path / "checkpoint")
    resumed = Training(TINY, load_checkpoint(tmp_path / "checkpoint"), threads=2)
    assert bits(resumed.checkpoint()) == bits(first.training.checkpoint()) != bits(whole[0].checkpoint())
    second = Runner(resumed, {key: shard for key, shard in first.made.items() if key[0] >= resumed.window()[0]})
    late = [second.step() for _ in range(TINY.generations - stop)]
    resumed.close()
    assert early + late == whole[1]
    assert bits(resumed.checkpoint()) == bits(whole[0].checkpoint())
    assert resumed.net().digest == whole[0].net().digest
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_run_is_a_function_of_its_recipe(whole: tuple[Training, list[Generation]]) -> None:
    training, done = whole
    assert [one.number for one in done] == [1, 2, 3, 4]
    assert all(one.games == 16 and one.refused == 0 for one in done)
    assert [one.fitted for one in done] == [round(1.5 * one.samples) for one in done]
    assert training.net().description["games"] == "64"
    other = Runner(Training(TINY.model_copy(update={"seed": 8})))
    first = Runner(Training(TINY))
    assert other.step() != first.step() == done[0]


def test_a_generation_is_played_by_the_net_of_two_generations_before() -> None:
    runner = Runner(Training(TINY))
    training = runner.training
    players = [training.player(0).digest, training.player(1).digest]
    assert players[0] == players[1] == Nets(training.net()).digest
    for _ in range(3):
        runner.step()
        assert training.player(training.done).digest == players[-1]
        players.append(training.player(training.done + 1).digest)
        assert players[-1] == Nets(training.net()).digest != players[-2]
    with pytest.raises(InternalError):
        training.player(training.done + 2)
    with pytest.raises(InternalError):
        training.player(training.done - 1)


def test_the_window_grows_to_its_size_and_moves_on() -> None:
    training = Training(TINY.model_copy(update={"window": 3}))
    windows = []
    for done in range(5):
        training.done = done
        windows.append(list(training.window()))
    assert windows == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_every_game_of_a_run_has_its_own_number() -> None:
    training = Training(TINY)
    games = [
        game
        for generation in range(4)
        for task in training.tasks(generation)
        for game in range(task.first_game, task.first_game + task.games)
    ]
    assert games == list(range(64))


def test_samples_of_all_classes_are_mixed_in_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(TINY.model_copy(update={"fit": FitPart(batch=256)}))
    seen: list[np.ndarray] = []
    monkeypatch.setattr(training._fitter, "step", lambda inputs, *_: seen.append(inputs.classes) or 0.0)
    Runner(training).step()
    assert len(seen) > 1
    shares = [float(np.mean(classes == classes.max())) for classes in seen if len(classes) == 256]
    assert max(shares) - min(shares) < 0.2
    assert 0.0 < min(shares) < max(shares) < 1.0


def test_all_samples_are_used_before_any_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(TINY.model_copy(update={"fit": FitPart(batch=64, passes=2.25)}))
    seen: list[bytes] = []

    def note(inputs: object, targets: np.ndarray, rate: float) -> float:
        seen.extend(target.tobytes() for target in targets)
        return 0.0

    monkeypatch.setattr(training._fitter, "step", note)
    runner = Runner(training)
    done = runner.step()
    every = sorted(label.tobytes() for shard in runner.made.values() for label in shard.labels)
    assert len(seen) == done.fitted == round(2.25 * len(every))
    n = len(every)
    assert sorted(seen[:n]) == sorted(seen[n : 2 * n]) == every
    assert seen[:n] != seen[n : 2 * n]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"generations": 5},
        {"width": 64},
        {"rules": "tavla"},
        {"window": 3},
        {"fit": TINY.fit.model_copy(update={"learning_rate": 2e-3})},
        {"labels": LabelPart(kind=LabelKind.TWO_PLY, bearoff=True)},
    ],
)
def test_resuming_with_another_recipe_is_refused(
    change: dict[str, object], whole: tuple[Training, list[Generation]]
) -> None:
    with pytest.raises(InputError, match="recipe"):
        Training(TINY.model_copy(update=change), whole[0].checkpoint())


def test_how_often_to_save_may_change_when_resuming(whole: tuple[Training, list[Generation]]) -> None:
    changed = TINY.model_copy(update={"checkpoint_every": 1, "keep_shards": True})
    assert Training(changed, whole[0].checkpoint()).done == 4


def test_damaged_checkpoints_are_refused(tmp_path: Path, whole: tuple[Training, list[Generation]]) -> None:
    path = tmp_path / "checkpoint"
    save_checkpoint(whole[0].checkpoint(), path)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 0x40
    for damaged in (b"", content[:100], content[:-1], b"\xff" * 64, b"x" + content, bytes(flipped)):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="checkpoint"):
            load_checkpoint(path)
    path.write_bytes(content.replace(b"gammonfarm-checkpoint-2", b"gammonfarm-checkpoint-1"))
    with pytest.raises(InputError, match="of this version"):
        load_checkpoint(path)
    with pytest.raises(InputError, match="checkpoint"):
        load_checkpoint(tmp_path / "absent")


def test_empty_rows_stay_zero_through_training(whole: tuple[Training, list[Generation]]) -> None:
    table = whole[0].net().arrays["table"].reshape(TABLES, -1, 32)
    assert not table[:, 0].any()
    assert table[:, 1:].any(axis=(1, 2)).all()


# Schedules


def schedule(generations: int = 100, **fields: object) -> Training:
    """A training with other numbers in its `fit` or `labels`."""
    fit = {k: v for k, v in fields.items() if k in FitPart.model_fields}
    labels = {k: v for k, v in fields.items() if k in LabelPart.model_fields}
    changes = {"fit": FitPart.model_validate(fit), "labels": LabelPart.model_validate(labels)}
    return Training(SelfPlayRecipe(name="x", width=32, generations=generations, **changes))  # type: ignore[arg-type]


def test_the_learning_rate_rises_and_falls_to_its_ends() -> None:
    training = schedule(learning_rate=1e-2, final_learning_rate=1e-4, warm_generations=5)
    rates = [training.learning_rate(at / 4) for at in range(401)]
    assert 0 < rates[0] < 1e-3
    assert rates[-1] == pytest.approx(1e-4)
    assert rates[:20] == sorted(rates[:20])
    assert rates[20:] == sorted(rates[20:], reverse=True)
    assert max(rates) == pytest.approx(1e-2, rel=0.01)
    cold = schedule(learning_rate=1e-2, final_learning_rate=1e-4, warm_generations=0)
    assert cold.learning_rate(0) == pytest.approx(1e-2)
    assert cold.learning_rate(50) == pytest.approx((1e-2 + 1e-4) / 2)


def test_lambda_goes_straight_to_its_end_and_stays_there() -> None:
    training = schedule(td_lambda=0.8, final_td_lambda=0.2, td_lambda_until=0.5)
    assert [training.td_lambda(g) for g in (0, 25, 50, 75, 99)] == pytest.approx([0.8, 0.5, 0.2, 0.2, 0.2])
    assert [task.labels.td_lambda for task in training.tasks(25)] == pytest.approx([0.5, 0.5])
    assert schedule(td_lambda=0.8, final_td_lambda=0.2, td_lambda_until=0.0).td_lambda(0) == pytest.approx(0.2)


def test_the_exported_net_is_the_average_of_the_weights(whole: tuple[Training, list[Generation]]) -> None:
    checkpoint = whole[0].checkpoint()
    model, average = checkpoint.part("model"), checkpoint.part("average")
    exported = whole[0].net().arrays
    assert exported["second"].tobytes() == average["second"].numpy().tobytes()
    distance = float((model["second"] - average["second"]).abs().mean())
    start = Training(TINY).checkpoint().part("model")
    assert 0 < distance < float((model["second"] - start["second"]).abs().mean())


# Starting from a net


@pytest.fixture
def narrow(tmp_path: Path) -> tuple[Net, Path]:
    """A net of width 32 and its file."""
    net = random_net(3)
    save_net(net, tmp_path / "narrow.safetensors")
    return net, tmp_path / "narrow.safetensors"


@pytest.mark.parametrize("width", [32, 96])
def test_a_run_starts_from_a_net_as_wide_or_narrower_with_the_same_values(narrow: tuple[Net, Path], width: int) -> None:
    net, path = narrow
    training = Training(TINY.model_copy(update={"width": width, "start_from": path}))
    boards = play_round(Nets(net), INTERNATIONAL, 2, 0, 5, 0.5).boards
    wide = training.net()
    assert (wide.width, wide.description["start"]) == (width, net.digest)
    values = Evaluator(Nets(wide)).after_positions(boards)
    assert values.tobytes() == Evaluator(Nets(net)).after_positions(boards).tobytes()


def test_the_new_units_of_a_widened_net_learn(narrow: tuple[Net, Path]) -> None:
    changes = {"width": 64, "start_from": narrow[1], "generations": 2, "fit": FitPart(batch=64, learning_rate=1e-2)}
    runner = Runner(Training(TINY.model_copy(update=changes)))
    before = runner.training.net().arrays
    for _ in range(2):
        runner.step()
    after = runner.training.net().arrays
    classes = np.concatenate([inputs_of(shard.boards).classes for shard in runner.made.values()])
    found, samples = np.unique(classes, return_counts=True)
    played = found[samples >= 20]
    assert len(played) > 2
    assert not before["second"][:, 32:].any()
    assert after["second"][played, 32:].any(axis=2).all()
    assert (after["table"][:, 32:] != before["table"][:, 32:]).any(axis=0).all()


def test_a_wider_net_is_refused(narrow: tuple[Net, Path], tmp_path: Path) -> None:
    net, _ = narrow
    wide = dict(net.arrays)
    for name in ("table", "bias", "second"):
        wide[name] = np.concatenate([wide[name], wide[name]], axis=1)
    save_net(make_net(wide), tmp_path / "wide.safetensors")
    with pytest.raises(InputError, match="width"):
        Training(TINY.model_copy(update={"start_from": tmp_path / "wide.safetensors"}))


def test_loss_falls_in_a_short_run() -> None:
    # Final results as targets, so that the loss of one generation means the same as that of another.
    recipe = SelfPlayRecipe(
        name="short",
        width=32,
        generations=20,
        games_per_shard=25,
        labels=LabelPart(td_lambda=1.0, final_td_lambda=1.0),
        fit=FitPart(batch=128, learning_rate=5e-3, warm_generations=0),
    )
    runner = Runner(Training(recipe))
    losses = [runner.step().loss for _ in range(20)]
    assert sum(losses[-5:]) / 5 < 0.85 * losses[0]
