"""A training run on disk: recipe in, checkpoints and net out, recorded in MLflow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.rules import rule_set
from engine.weights import Net, make_net, save_net
from training.benchmark import CheckerDecision, read_decisions, score_checker
from training.checkpoint import load_checkpoint, save_checkpoint
from training.distill import Distillation
from training.quantisation import quantisation_loss
from training.recipe import DistillRecipe, TdRecipe
from training.td import Round, TdTraining
from training.tracking import TrackedRun, start_run

EXPERIMENT = "gammonfarm training"


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run stands, for display."""

    rounds: int
    games: int
    loss: float
    games_per_s: float
    samples_per_s: float
    score: str
    """The last benchmark in words; empty without one."""


def run_recipe(
    recipe: TdRecipe | DistillRecipe,
    folder: Path,
    show: Callable[[Status], None],
    *,
    teacher: Net | None = None,
    resume: bool = False,
    tracking_uri: str | None = None,
    benchmark: Path | None = None,
) -> Path:
    """Train by any recipe; returns the net's file.

    Args:
        teacher: the main net that a distillation learns from.

    Raises:
        InputError: options that don't fit the recipe; see also `TrainingRun`.
    """
    if isinstance(recipe, TdRecipe):
        if teacher is not None:
            raise InputError("teacher", teacher.digest, "a distill recipe (a td recipe learns from itself)")
        run = TrainingRun(recipe, folder, resume=resume, tracking_uri=tracking_uri, benchmark=benchmark)
        return run.run(show)
    if teacher is None:
        raise InputError("teacher", "none", "a main net to learn from")
    if resume or benchmark:
        raise InputError("resume" if resume else "benchmark", recipe.name, "a td recipe (a distillation has neither)")
    return _distil(recipe, folder, show, teacher, tracking_uri)


def _distil(
    recipe: DistillRecipe, folder: Path, show: Callable[[Status], None], teacher: Net, tracking_uri: str | None
) -> Path:
    _make_folder(folder)
    torch.set_num_threads(1)
    distillation = Distillation(recipe, teacher)
    tracked = start_run(tracking_uri, EXPERIMENT, recipe.name, recipe.model_dump() | {"teacher": teacher.digest})
    started = last = time.perf_counter()
    try:
        for done in distillation.rounds():
            now = time.perf_counter()
            games = done.number * recipe.games_per_round
            samples_per_s, last = done.samples / (now - last), now
            tracked.metrics({"loss": done.loss, "samples": done.samples}, step=done.number)
            show(Status(done.number, games, done.loss, games / (now - started), samples_per_s, ""))
    except BaseException:
        tracked.finish(ok=False)
        raise
    path = folder / f"{recipe.name}.safetensors"
    net = distillation.net()
    save_net(net, path)
    tracked.tags({"net": net.digest, "file": str(path)})
    tracked.finish()
    return path


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("out", folder, f"a folder that can be made ({error.strerror})") from error


class TrainingRun:
    """Runs a TD recipe in a folder: `NAME.checkpoint` and `NAME.safetensors` are replaced at every checkpoint."""

    def __init__(
        self,
        recipe: TdRecipe,
        folder: Path,
        *,
        resume: bool = False,
        tracking_uri: str | None = None,
        benchmark: Path | None = None,
    ) -> None:
        """
        Raises:
            InputError: a checkpoint exists and `resume` is not asked for, or the reverse; an unreadable benchmark file.
        """
        self._recipe = recipe
        self._checkpoint = folder / f"{recipe.name}.checkpoint"
        self._net = folder / f"{recipe.name}.safetensors"
        if self._checkpoint.exists() and not resume:
            raise InputError("out", folder, "a folder without a checkpoint of this recipe, or --resume")
        if resume and not self._checkpoint.exists():
            raise InputError("out", folder, "a folder with a checkpoint to resume from")
        self._decisions: list[CheckerDecision] = list(read_decisions(benchmark)) if benchmark else []
        _make_folder(folder)
        self._tracking_uri = tracking_uri
        # One thread each for playing and fitting; more would change the order of floating-point sums.
        torch.set_num_threads(1)
        self._training = TdTraining(recipe, load_checkpoint(self._checkpoint) if resume else None)

    def run(self, show: Callable[[Status], None]) -> Path:
        """Train to the end of the recipe; returns the net's file."""
        params = self._recipe.model_dump() | {"resumed_from_round": self._training.done}
        tracked = start_run(self._tracking_uri, EXPERIMENT, self._recipe.name, params)
        try:
            self._rounds(show, tracked)
        except BaseException:
            tracked.finish(ok=False)
            raise
        net = self._training.net()
        loss = quantisation_loss(net, rule_set(self._recipe.rules))
        tracked.metrics({"quantisation_mean": loss.mean, "quantisation_largest": loss.largest}, self._recipe.rounds)
        described = {
            "quantisation": f"mean {loss.mean:.5f}, largest {loss.largest:.5f} over {loss.positions} positions"
        }
        save_net(make_net(net.arrays, {**net.description, **described}), self._net)
        tracked.tags({"net": net.digest, "file": str(self._net), **described})
        tracked.finish()
        return self._net

    def _rounds(self, show: Callable[[Status], None], tracked: TrackedRun) -> None:
        score = ""
        started = last = time.perf_counter()
        first = self._training.done
        for done in self._training.rounds():
            now = time.perf_counter()
            games = done.number * self._recipe.games_per_round
            games_per_s = (done.number - first) * self._recipe.games_per_round / (now - started)
            samples_per_s = done.samples / (now - last)
            last = now
            self._record(tracked, done, games_per_s, samples_per_s)
            if done.number % self._recipe.checkpoint_every == 0 or done.number == self._recipe.rounds:
                self._save()
                score = self._score(tracked, done.number) or score
            show(Status(done.number, games, done.loss, games_per_s, samples_per_s, score))
        self._save()

    def _record(self, tracked: TrackedRun, done: Round, games_per_s: float, samples_per_s: float) -> None:
        values = {
            "loss": done.loss,
            "learning_rate": done.learning_rate,
            "td_lambda": done.td_lambda,
            "samples": done.samples,
            "games_per_s": games_per_s,
            "samples_per_s": samples_per_s,
        }
        tracked.metrics(values, step=done.number)

    def _save(self) -> None:
        save_checkpoint(self._training.checkpoint(), self._checkpoint)
        save_net(self._training.net(), self._net)

    def _score(self, tracked: TrackedRun, step: int) -> str:
        if not self._decisions:
            return ""
        found = score_checker(Evaluator(Nets(self._training.net())), iter(self._decisions))
        low, high = found.interval95
        tracked.metrics({"checker_meq": found.meq_per_decision, "checker_meq_low": low, "checker_meq_high": high}, step)
        return f"{found.meq_per_decision:.2f} mEq ({low:.1f} to {high:.1f})"
