"""Training a net as a job of the farm: the learner fits beside the coordinator, workers make the positions.

The run lives in `runs/farm-KEY` of the coordinator's data folder: a coordinator that comes back there goes on from the
last checkpoint and the shards on disk, to the same bits.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from cluster.farm.desk import Desk, shipped_name
from cluster.farm.kinds import Cost, Piece, Size
from cluster.farm.one_task import where_from
from cluster.ledger import Block
from cluster.planner import content_key
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.store import JobKind, Store, TrialRange
from engine.errors import GammonfarmError, InputError
from engine.evaluator import Nets
from engine.home import data_home
from engine.weights import inputs_digest
from training.devices import Device
from training.positions import Shard, ShardTask
from training.production import Made
from training.progress import Status
from training.recipe import SelfPlayRecipe, load_recipe
from training.run import RunOptions, TrainingRun
from workers.shards import shard_workers

_LOOK_SECONDS = 0.2


class TrainRequest(Model):
    """A net to be trained."""

    recipe: Annotated[str, Field(min_length=1, max_length=40)]
    """Name of a self-play recipe that comes with gammonfarm and starts from nothing."""
    seed: int = Field(default=1, ge=0, lt=2**62)
    generations: int | None = Field(default=None, ge=1, le=100_000)
    """Instead of the recipe's own."""
    games_per_shard: int | None = Field(default=None, ge=1, le=20_000)
    width: int | None = Field(default=None, ge=32, le=1024, multiple_of=32)


class TrainResult(Model):
    """A trained net; its file is in the folder `runs/farm-KEY` of the coordinator."""

    recipe: str
    net: str
    """Digest."""
    generations: int
    games: int
    loss: float | None
    """Of the last generation."""


class TrainKind:
    """See `Kind`."""

    name = JobKind.TRAIN
    request = TrainRequest
    result = TrainResult
    priority = Priority.BULK
    summary = "Train a net by self-play."
    example: ClassVar[Mapping[str, Any]] = {"recipe": "quick", "generations": 50}

    def key(self, request: TrainRequest, net: str, desk: Desk) -> str:
        """See `Kind`: a training from nothing depends on its recipe alone."""
        return content_key(
            {"kind": "train", "inputs": inputs_digest(), "recipe": _recipe(request).model_dump(mode="json")}
        )

    def begin(self, request: TrainRequest, net: str, desk: Desk, store: Store) -> TrainJob:
        """See `Kind`."""
        key = self.key(request, net, desk)
        return TrainJob(_recipe(request), data_home() / "runs" / f"farm-{key}", key)

    def extended(self, request: TrainRequest, changes: Mapping[str, Any]) -> TrainRequest:
        """See `Kind`: its learning rates follow from the number of generations, so a longer run is another one."""
        raise InputError("kind", "train", "a kind of job that can be extended (a longer training is another one)")

    def size(self, request: TrainRequest) -> Size:
        """See `Kind`: a game of self-play and its fitting take about half as long as a trial."""
        recipe = _recipe(request)
        return Size(recipe.generations * recipe.shards_per_generation * recipe.games_per_shard // 2)

    def old_report(self, key: str, net: str, result: bytes, job: str) -> dict[str, Any]:
        """See `Kind`."""
        return where_from(key, TrainResult.model_validate_json(result).net, job, 0.0)


class FarmProducer:
    """See `training.production.Producer`: puts tasks where the coordinator finds them."""

    def __init__(self) -> None:
        self._ready: queue.SimpleQueue[Piece] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Made | None] = queue.SimpleQueue()
        self._closed = threading.Event()

    @property
    def workers(self) -> int:
        """See `Producer`."""
        return 1

    def make(self, nets: Nets, tasks: Iterable[ShardTask]) -> Iterator[Made]:
        """See `Producer`."""
        spec = shard_workers(nets)
        open_shards: set[tuple[int, int]] = set()
        for task in tasks:
            open_shards.add((task.generation, task.index))
            self._ready.put(Piece(spec, task, 1))
        while open_shards and not self._closed.is_set():
            made = self._answers.get()
            if made is not None and (made.task.generation, made.task.index) in open_shards:
                open_shards.remove((made.task.generation, made.task.index))
                yield made

    def close(self) -> None:
        """See `Producer`."""
        self._closed.set()
        self._answers.put(None)

    def next_piece(self) -> Piece | None:
        """A task to hand out."""
        try:
            return self._ready.get_nowait()
        except queue.Empty:
            return None

    def waiting(self) -> int:
        """Tasks to hand out."""
        return self._ready.qsize()

    def answer(self, task: ShardTask, shard: Shard) -> None:
        """A finished shard."""
        self._answers.put(Made(task, shard))


class TrainJob:
    """See `JobRun`; its unit is a shard. The learner works in a thread of its own, its kernels beside Python."""

    minutes: float | None = None
    likeness = ""

    def __init__(self, recipe: SelfPlayRecipe, folder: Path, key: str) -> None:
        self.series: tuple[str, ...] = ()
        self.total = recipe.generations * recipe.shards_per_generation
        self._recipe, self._folder, self._key = recipe, folder, key
        self._producer = FarmProducer()
        self._status: Status | None = None
        self._generations = 0
        self._result: TrainResult | None = None
        self._problem: BaseException | None = None
        self._closed = False
        self._learner = threading.Thread(target=self._learn, name=f"training {key[:8]}", daemon=True)
        self._learner.start()

    def _learn(self) -> None:
        recipe = self._recipe
        options = RunOptions(
            resume=(self._folder / f"{recipe.name}.checkpoint").exists(), tracking_uri=None, device=Device.CPU
        )
        try:
            with TrainingRun(recipe, self._folder, lambda: self._producer, options, self._show) as run:
                outcome = run.run()
            self._result = TrainResult(
                recipe=recipe.name,
                net=outcome.net.digest,
                generations=outcome.generations,
                games=outcome.games,
                loss=outcome.loss,
            )
        except BaseException as problem:
            self._problem = problem

    def _show(self, status: Status) -> None:
        self._status = status
        if self._closed:
            raise InputError("job", self._key, "a job that goes on")  # ends the thread; nobody sees it

    @property
    def finished(self) -> bool:
        """See `JobRun`. Raises what ended the learner."""
        if self._problem is not None and not self._closed:
            raise self._problem
        return self._result is not None

    @property
    def done(self) -> int:
        """See `JobRun`."""
        if self._result is not None:
            return self.total
        return (self._status.generation if self._status else 0) * self._recipe.shards_per_generation

    @property
    def left(self) -> int:
        """See `JobRun`: while the learner fits it has nothing to hand out, but will have."""
        return max(self._producer.waiting(), int(self._result is None))

    def pieces(self, units: int, under_way: Mapping[str, Sequence[TrialRange]]) -> list[Piece]:
        """See `JobRun`."""
        pieces = (self._producer.next_piece() for _ in itertools.repeat(None, 1))
        return [piece for piece in pieces if piece is not None]

    def blocks(self, task: ShardTask, output: Shard) -> list[Block]:
        """See `JobRun`: shards are files of the run."""
        return []

    def take(self, task: ShardTask, output: Shard) -> None:
        """See `JobRun`."""
        self._producer.answer(task, output)

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """See `JobRun`."""

    def progress(self) -> dict[str, Any]:
        """See `JobRun`."""
        status = self._status
        return {} if status is None else {"generation": status.generation, "doing": status.doing}

    def result(self) -> bytes:
        """See `JobRun`."""
        if self._result is None:
            raise GammonfarmError("the training has not ended")
        return self._result.model_dump_json().encode()

    def report(self, cost: Cost) -> dict[str, Any]:
        """See `JobRun`."""
        return where_from(self._key, self._result.net if self._result else "", cost.job, cost.seconds)

    def close(self) -> None:
        """See `JobRun`."""
        self._closed = True
        self._producer.close()


def _recipe(request: TrainRequest) -> SelfPlayRecipe:
    name = shipped_name("recipe", request.recipe, "train")
    with resources.as_file(resources.files("configs") / "train" / f"{name}.toml") as path:
        recipe = load_recipe(path)
    if not isinstance(recipe, SelfPlayRecipe) or recipe.start_from is not None:
        raise InputError("recipe", name, "a self-play recipe that starts from nothing")
    if request.generations is not None:
        recipe = recipe.with_generations(request.generations)
    return recipe.model_copy(update=request.model_dump(exclude={"recipe", "generations"}, exclude_none=True))
