"""The same commands on a farm: with GAMMONFARM_URL set, questions go there and answers are shown as if made here."""

from __future__ import annotations

import json
import os
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import GammonfarmError, InputError

URL_VARIABLE = "GAMMONFARM_URL"
_NOT_THERE = f"a command that works for itself (unset {URL_VARIABLE})"

if TYPE_CHECKING:
    from cluster.archive.schemas import AnalyseReport
    from cluster.archive.session import AnalysisRequest
    from cluster.archive.session import Progress as ArchiveProgress
    from cluster.book.recipe import BookRecipe
    from cluster.book.schemas import BookBuildReport
    from cluster.client import Client
    from cluster.deep.schemas import DeepReport, DeepRequest
    from cluster.evaluation_schemas import EvaluationReport
    from cluster.farm.train_job import TrainResult
    from cluster.schemas import Model, RolloutReport, RolloutRequest
    from cluster.service_models import EventView, JobAnswer, JobView


class StillRunningError(GammonfarmError):
    """Ctrl-C ended the command and not the job."""

    exit_code = 130

    def __init__(self, job: str) -> None:
        super().__init__(
            f"interrupted; the job goes on: the same command or `gammonfarm jobs watch {job}` waits for it,"
            f" `gammonfarm jobs cancel {job}` ends it"
        )


def farm_is_named() -> bool:
    """Whether commands run on a farm."""
    return bool(os.environ.get(URL_VARIABLE))


def refuse(odd: dict[str, object]) -> None:
    """
    Args:
        odd: options by name that a farm has no use for.

    Raises:
        InputError: one of them is given.
    """
    given = next((name for name, value in odd.items() if value), None)
    if given is not None:
        raise InputError(given, odd[given], _NOT_THERE)


def roll_out(request: RolloutRequest, net: str | None) -> RolloutReport:
    """A rollout on the farm.

    Raises:
        FarmError: the job fails or is cancelled. InputError, InfrastructureError.
    """
    from cluster.cli.render_farm import rollout_report

    return rollout_report(_answer("rollout", request, net))


def analyse_deeply(request: DeepRequest, net: str | None) -> DeepReport:
    """A deep analysis on the farm."""
    from cluster.deep.schemas import DeepReport

    answer = _answer("deep", request, net)
    fields = {"result": answer.result, "provenance": answer.provenance, "timing": answer.timing}
    return DeepReport.model_validate_json(json.dumps(fields))


def analyse(request: AnalysisRequest, net: str | None, progress: ArchiveProgress) -> AnalyseReport:
    """An archive analysed on the farm; reports are written here.

    Raises:
        InputError: no file that can be analysed, or something that a farm doesn't do. InfrastructureError.
    """
    from cluster.archive.on_farm import FarmAnalysis
    from cluster.archive.session import carry_out
    from cluster.store import MemoryStore

    with _client() as client:
        return carry_out(request, MemoryStore(), FarmAnalysis(client, request, net or "shipped"), progress)


def evaluate(fields: dict[str, Any], net: str | None) -> EvaluationReport:
    """An evaluation on the farm."""
    from cluster.evaluation_schemas import EvaluationReport
    from cluster.farm.evaluate_job import EvaluateRequest
    from cluster.schemas import parse_request

    answer = _answer("evaluate", parse_request(EvaluateRequest, fields), net)
    return EvaluationReport.model_validate_json(json.dumps(answer.result))


def train(recipe: Path, odd: dict[str, object]) -> TrainResult:
    """A training on the farm.

    Args:
        odd: options by name that have no meaning there; none may be given.

    Raises:
        InputError: one of them is, or the recipe is none that comes with gammonfarm: a farm reads no files of clients.
    """
    from cluster.farm.train_job import TrainRequest, TrainResult
    from cluster.schemas import parse_request

    refuse(odd)
    shipped = resources.files("configs") / "train" / f"{recipe.stem}.toml"
    if not shipped.is_file() or not recipe.is_file() or shipped.read_bytes() != recipe.read_bytes():
        raise InputError("recipe", recipe, "a recipe that comes with gammonfarm, unchanged")
    answer = _answer("train", parse_request(TrainRequest, {"recipe": recipe.stem}), None)
    folder = f"runs/farm-{(answer.provenance or {}).get('key', answer.job)}"
    print(f"gammonfarm: the net's file is in {folder} of the data folder of the farm's head", file=sys.stderr)
    return TrainResult.model_validate_json(json.dumps(answer.result))


def build_book(recipe: BookRecipe, net: str | None, path: Path) -> BookBuildReport:
    """A book built on the farm; what it has is put into the file at `path`, beside what is there.

    Raises:
        FarmError: the job fails for another reason than its deadline, or is cancelled; the file stays as it is.
    """
    import tempfile

    from cluster.book.artifact import open_book, open_or_create
    from cluster.book.schemas import BookBuildReport
    from cluster.book.verify import merge
    from cluster.client import FarmError

    with _client() as client, tempfile.TemporaryDirectory() as folder:
        job = client.submit("book", recipe, net=net or "shipped").job
        _watch(client, job)
        answer: JobAnswer | None = None
        try:
            answer = client.result(job.id)
        except FarmError as error:
            if error.problem.code != "deadline":
                raise
        fetched = Path(folder) / "fetched.book"
        fetched.write_bytes(client.book(job.id))
        with open_book(fetched) as new, open_or_create(path, new.identity, recipe.name) as book:
            merge(book, [new])
            book.remember(recipe)
            return BookBuildReport(
                book=book.info(),
                computed=(answer.provenance or {}).get("entries_computed", 0) if answer else 0,
                finished=bool(answer and answer.result["finished"]),
                seconds=(answer.timing or {}).get("seconds", 0.0) if answer else 60.0 * (recipe.budget.minutes or 0.0),
            )


def _answer(kind: str, request: Model, net: str | None) -> JobAnswer:
    """Submit, show how far it is on stderr, and fetch the answer. Ctrl-C leaves the job running."""
    with _client() as client:
        job = client.submit(kind, request, net=net or "shipped").job
        _watch(client, job)
        return client.result(job.id)


def _client() -> Client:
    from cluster.client import Client
    from engine.errors import InternalError

    client = Client.from_environment()
    if client is None:
        raise InternalError("no farm is named")
    return client


def _watch(client: Client, job: JobView) -> None:
    """Show on stderr how far a job is, until it ends.

    Raises:
        StillRunningError: on Ctrl-C.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from cluster.client_calls import place_of

    print(f"gammonfarm: job {job.id} on {place_of(os.environ.get(URL_VARIABLE, ''))}", file=sys.stderr)
    with Progress(
        BarColumn(bar_width=16),
        TextColumn("{task.completed:,}/{task.total:,}"),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True, emoji=False),
    ) as display:
        task = display.add_task(job.kind.value, total=max(job.total, 1), completed=job.done, said="queued")
        try:
            for event in client.events(job.id):
                done, total = event.data.get("done"), event.data.get("total")
                display.update(task, total=total, completed=done, said=_said(event), refresh=True)
        except KeyboardInterrupt:
            raise StillRunningError(job.id) from None


def _said(event: EventView) -> str:
    """What an event says beside how far the job is; short, so that a line has room for it."""
    data = event.data
    parts = [event.kind.value] if event.kind.value != "progress" else []
    parts += [f"SE {data['se']:.4f}"] if "se" in data else []
    parts += [f"{data['entries']:,}/{data['of']:,} entries of depth {data['depth']}"] if "of" in data else []
    parts += [f"{data['eta']:.0f} s left"] if "eta" in data and not event.kind.is_final else []
    return ", ".join(parts)
