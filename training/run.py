"""A training run on disk: recipe in; shards, checkpoints, a net and a history out; recorded in MLflow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.weights import Net, load_net, make_net, save_net
from training.arrange import with_paired_units
from training.benchmark import CheckerDecision, CheckerScore, read_decisions, score_checker
from training.checkpoint import load_checkpoint, save_checkpoint
from training.code import code_digest, code_version
from training.devices import Device
from training.gate import GateResult, MatchGate, benchmark_gate
from training.generations import Generation, Training
from training.history import Entry, History, Judgement, Score
from training.limits import on_grid
from training.positions import Shard
from training.production import Making, Produced, Producer
from training.progress import Progress, Status
from training.recipe import SelfPlayRecipe
from training.records import Records
from training.shards import ShardStore
from training.tracking import start_run

EXPERIMENT = "gammonfarm training"
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a recipe is run; nothing here changes the net."""

    resume: bool = False
    tracking_uri: str | None = None
    benchmark: Path | None = None
    """Decisions to score the net on at every checkpoint, and at the end against the champion."""
    champion: Net | None = None
    """Whom the gate compares with; without one there is no gate."""
    match: MatchGate | None = None
    """Plays the gate's match; without it, the gate goes by the benchmark alone."""
    device: Device = Device.AUTO
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run or a stage left."""

    net: Net
    path: Path
    generations: int
    games: int
    produced: Produced
    loss: float | None
    benchmark: CheckerScore | None = None
    gate: GateResult | None = None
    seconds: float = 0.0


class TrainingRun:
    """Runs a self-play recipe in a folder; use it as a context manager.

    The folder holds `NAME.checkpoint` and `NAME.safetensors`, replaced at every checkpoint, `NAME.history.jsonl`, and
    `shards/`.
    """

    def __init__(
        self,
        recipe: SelfPlayRecipe,
        folder: Path,
        start_producer: Callable[[], Producer],
        options: RunOptions,
        show: Callable[[Status], None] = lambda _: None,
    ) -> None:
        """
        Args:
            start_producer: called once positions are to be made: starting workers takes seconds.

        Raises:
            InputError: a checkpoint exists and `resume` is not asked for, or the reverse; an unreadable benchmark file.
        """
        self._recipe = recipe
        self._folder = folder
        self._start_producer = start_producer
        self._producer: Producer | None = None
        self._options = options
        self._show = show
        self._checkpoint = folder / f"{recipe.name}.checkpoint"
        self._path = folder / f"{recipe.name}.safetensors"
        if self._checkpoint.exists() and not options.resume:
            raise InputError("folder", folder, "a folder without a checkpoint of this recipe, or --resume")
        if options.resume and not self._checkpoint.exists():
            raise InputError("folder", folder, "a folder with a checkpoint to resume from")
        self._decisions: list[CheckerDecision] = list(read_decisions(options.benchmark)) if options.benchmark else []
        make_folder(folder)
        checkpoint = load_checkpoint(self._checkpoint) if options.resume else None
        self._training = Training(recipe, checkpoint, options.device, options.threads)
        self._store = ShardStore(folder / "shards")
        self._history = History(folder / f"{recipe.name}.history.jsonl", self._training.done)
        self._making: Making | None = None
        self._loaded: dict[int, list[Shard]] = {}
        self._progress = Progress(recipe.generations, self._history)

    def __enter__(self) -> TrainingRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._release_workers()
        self._training.close()

    def _release_workers(self) -> None:
        if self._making is not None:
            self._making.stop()
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    # The whole chain

    def run(self) -> Outcome:
        """Train to the end of the recipe."""
        return self._recorded(self._chain)

    def _chain(self, records: Records) -> Outcome:
        score = self._generations(records)
        net = self._net()
        self._tell("looking at games it was not trained on")
        described = records.finished(Nets(net), self._training.rules, self._recipe.seed, self._history.entries)
        net = make_net(net.arrays, {**net.description, **described})
        save_net(net, self._path)
        return self._outcome(net, score, self._gate(net, records))

    def _recorded(self, work: Callable[[Records], Outcome]) -> Outcome:
        """Do something and keep a record of it, also where it fails."""
        params = flat(self._recipe.model_dump(mode="json")) | {"resumed_from_generation": self._training.done}
        tracked = start_run(self._options.tracking_uri, EXPERIMENT, self._recipe.name, params)
        tracked.artifact("recipe.json", self._recipe.model_dump_json(indent=1).encode())
        tracked.tags({"version": code_version(), "code": code_digest()})
        records = Records(tracked)
        try:
            outcome = work(records)
        except BaseException:
            records.finish(ok=False)
            raise
        records.net(outcome.net.digest, str(self._path))
        records.finish()
        return outcome

    # Single stages

    def make_positions(self) -> Outcome:
        """Stage: make the shards of the next generation."""
        self._need_more()
        return self._recorded(self._positions_stage)

    def _positions_stage(self, records: Records) -> Outcome:
        making = self._make(self._training.done)
        while not making.done(_LOOK_SECONDS):
            self._tell("making positions")
        status = self._progress.status("")
        records.positions(status.produced, status.games_per_s, status.samples_per_s, self._training.done + 1)
        return self._outcome(self._training.net())

    def fit(self) -> Outcome:
        """Stage: fit the next generation from the shards on disk, and save the checkpoint.

        Raises:
            InputError: a shard of the window is missing or damaged.
        """
        self._need_more()
        for task in self._training.tasks(self._training.done):
            if not self._store.has(task, self._training.player(task.generation).digest):
                raise InputError("shards", f"{task}", "a shard made by this run; make positions first")
        return self._recorded(self._fit_stage)

    def _fit_stage(self, records: Records) -> Outcome:
        self._record(self._fit_next(), None, records)
        self._save()
        return self._outcome(self._training.net())

    def benchmark(self) -> Outcome:
        """Stage: score the net of the folder on the benchmark file."""
        net, decisions = self._saved_net(), self._needed_decisions()

        def work(records: Records) -> Outcome:
            score = score_checker(Evaluator(Nets(net)), iter(decisions))
            records.benchmark(score, self._training.done)
            return self._outcome(net, score)

        return self._recorded(work)

    def gate(self) -> Outcome:
        """Stage: compare the net of the folder with the champion."""
        net = self._saved_net()
        if self._options.match is None:
            self._needed_decisions()
        if self._options.champion is None:
            raise InputError("champion", "none", "a net to compare with")
        return self._recorded(lambda records: self._outcome(net, gate=self._gate(net, records)))

    def _need_more(self) -> None:
        if self._training.done >= self._recipe.generations:
            raise InputError("recipe", self._recipe.name, f"more generations than the {self._training.done} done")

    def _saved_net(self) -> Net:
        if not self._path.exists():
            raise InputError("folder", self._folder, f"a folder with {self._path.name}")
        return load_net(self._path)

    def _needed_decisions(self) -> list[CheckerDecision]:
        if not self._decisions:
            raise InputError("benchmark", "none", "a file of decisions (--benchmark FILE)")
        return self._decisions

    # Parts of the chain

    def _generations(self, records: Records) -> CheckerScore | None:
        """Make and fit all generations that are left; returns the last score."""
        training, recipe = self._training, self._recipe
        last: CheckerScore | None = None
        making = self._make(training.done) if training.done < recipe.generations else None
        while making is not None:
            while not making.done(_LOOK_SECONDS):
                self._tell("waiting for positions")
            following = training.done + 1
            making = self._make(following) if following < recipe.generations else None
            done = self._fit_next()
            score: CheckerScore | None = None
            if done.number % recipe.checkpoint_every == 0 or done.number == recipe.generations:
                score = self._benchmark()
                last = score or last
            self._record(done, score, records)
            if done.number % recipe.checkpoint_every == 0 or done.number == recipe.generations:
                self._save()
        return last

    def _make(self, generation: int) -> Making:
        training = self._training
        nets, tasks = training.player(generation), training.tasks(generation)
        if self._producer is None:
            self._tell("starting workers")
            self._producer = self._start_producer()
        self._making = Making(self._producer, self._store, nets, tasks, self._progress.counter)
        return self._making

    def _fit_next(self) -> Generation:
        shards = self._window()
        new = self._recipe.shards_per_generation
        last = time.perf_counter()
        fitted = 0

        def show(now_fitted: int, of: int, loss: float) -> None:
            nonlocal last, fitted
            now = time.perf_counter()
            if now - last > _LOOK_SECONDS or now_fitted == of:
                self._progress.fitted(now_fitted - fitted, now - last)
                last, fitted = now, now_fitted
                self._tell(f"fitting {100 * now_fitted / of:.0f} %", loss)

        return self._training.fit(shards, new, show)

    def _window(self) -> list[Shard]:
        window = self._training.window()
        self._loaded = {g: shards for g, shards in self._loaded.items() if g in window}
        for g in window:
            if g not in self._loaded:
                self._loaded[g] = [self._store.load(g, i) for i in range(self._recipe.shards_per_generation)]
        return [shard for g in window for shard in self._loaded[g]]

    def _net(self) -> Net:
        """The net as it stands; a finished one in the order and on the grid in which it is used."""
        net = self._training.net()
        if self._training.done < self._recipe.generations:
            return net
        return on_grid(with_paired_units(net, self._training.rules))

    def _save(self) -> None:
        save_checkpoint(self._training.checkpoint(), self._checkpoint)
        save_net(self._net(), self._path)
        if not self._recipe.keep_shards:
            # Only now: an interrupted run goes on from the checkpoint before, with the shards of that time.
            self._store.drop_before(self._training.done + 1 - self._recipe.window)

    def _benchmark(self) -> CheckerScore | None:
        if not self._decisions:
            return None
        self._tell("benchmark")
        return score_checker(Evaluator(Nets(self._training.net())), iter(self._decisions))

    def _gate(self, net: Net, records: Records) -> GateResult | None:
        champion, play = self._options.champion, self._options.match
        if champion is None or not (self._decisions or play):
            return None
        score = played = None
        if self._decisions:
            self._tell("gate: benchmark")
            score = benchmark_gate(net, champion, self._decisions)
        if play is not None:
            self._tell("gate: match")
            self._release_workers()  # the match wants their cores
            played = play(net, champion, self._training.rules, self._tell)
        result = GateResult(net.digest, champion.digest, score, played)
        self._history.judge(Judgement.of(result))
        records.gate(result)
        return result

    def _record(self, done: Generation, score: CheckerScore | None, records: Records) -> None:
        entry = Entry(
            generation=done.number,
            games=done.games,
            samples=done.samples,
            fitted=done.fitted,
            refused=done.refused,
            loss=done.loss,
            learning_rate=done.learning_rate,
            td_lambda=done.td_lambda,
            score=Score.of(score) if score is not None else None,
        )
        self._history.add(entry)
        status = self._progress.status("")
        records.positions(status.produced, status.games_per_s, status.samples_per_s, done.number)
        records.fit(entry, status.fitted_per_s)
        if score is not None:
            records.benchmark(score, done.number)
        self._show(status)

    def _tell(self, doing: str, loss: float | None = None) -> None:
        self._show(self._progress.status(doing, loss))

    def _outcome(self, net: Net, score: CheckerScore | None = None, gate: GateResult | None = None) -> Outcome:
        return Outcome(
            net=net,
            path=self._path,
            generations=self._training.done,
            games=self._training.games,
            produced=self._progress.counter.read(),
            loss=self._progress.loss,
            benchmark=score,
            gate=gate,
            seconds=self._progress.seconds,
        )


def make_folder(folder: Path) -> None:
    """
    Raises:
        InputError: it can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("folder", folder, f"a folder that can be made ({error.strerror})") from error


def flat(fields: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested fields under dotted names."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
