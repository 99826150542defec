"""`gammonfarm jobs` and `gammonfarm status`: what the farm that GAMMONFARM_URL names does."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.options import JsonOption, print_json, tell
from cluster.scheduling import Priority
from cluster.store import JobKind, JobState

if TYPE_CHECKING:
    from cluster.client import Client
    from cluster.service_models import JobView

log = logging.getLogger(__name__)

jobs = typer.Typer(name="jobs", help="Look at the jobs of a farm, and change them.", no_args_is_help=True)

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Id of a job.")]


def farm() -> Client:
    """The farm that the environment names.

    Raises:
        InputError: none is named.
    """
    from cluster.client import Client
    from engine.errors import InputError

    client = Client.from_environment()
    if client is None:
        raise InputError("GAMMONFARM_URL", "", "the URL of a farm, such as http://127.0.0.1:8765 (gammonfarm serve)")
    return client


@jobs.command("list")
def list_jobs(
    state: Annotated[JobState | None, typer.Option("--state", help="Only jobs in this state.")] = None,
    kind: Annotated[JobKind | None, typer.Option("--kind", help="Only jobs of this kind.")] = None,
    client: Annotated[str | None, typer.Option("--client", metavar="NAME", help="Only jobs of this client.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=500, help="At most so many.")] = 20,
    json: JsonOption = False,
) -> None:
    """List jobs, those created last first."""
    from cluster.cli.render_farm import show_jobs
    from cluster.service_models import JobPage

    with farm() as connection:
        page = connection.jobs(state, kind, client=client, limit=limit)
        while page.before is not None and len(page.jobs) < limit:
            more = connection.jobs(state, kind, client=client, before=page.before, limit=limit - len(page.jobs))
            page = JobPage(jobs=page.jobs + more.jobs, before=more.before)
    if json:
        print_json(page)
    else:
        show_jobs(page.jobs)


@jobs.command("show")
def show(job: JobArgument, json: JsonOption = False) -> None:
    """Say how a job is, and its answer once it is there."""
    from cluster.cli.render_farm import show_job
    from cluster.client import FarmError

    with farm() as connection:
        view = connection.job(job)
        answer = None
        if view.state is JobState.DONE:
            try:
                answer = connection.result(job)
            except FarmError as error:
                if json:
                    raise
                log.warning("%s", error)
    if json:
        print_json(answer or view)
    else:
        show_job(view, answer)


@jobs.command("watch")
def watch(
    job: JobArgument,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Only events after this number.")] = 0,
    json: JsonOption = False,
) -> None:
    """Follow a job to its end; with --json one event a line."""
    from cluster.cli.remote import StillRunningError
    from cluster.cli.render_farm import event_line

    with farm() as connection:
        try:
            for event in connection.events(job, after):
                line = event.model_dump_json() if json else event_line(event)
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
        except KeyboardInterrupt:
            raise StillRunningError(job) from None


@jobs.command("cancel")
def cancel(job: JobArgument, json: JsonOption = False) -> None:
    """End a job; what is computed stays in the cache."""
    with farm() as connection:
        _shown(connection.cancel(job), json)


@jobs.command("extend")
def extend(
    job: JobArgument,
    trials: Annotated[
        int | None, typer.Option("--trials", metavar="N", help="Trials of each candidate; of a book its budget.")
    ] = None,
    entries: Annotated[int | None, typer.Option("--entries", metavar="N", help="Budget of a book.")] = None,
    level: Annotated[int | None, typer.Option("--level", metavar="N", help="Plies of an evaluation.")] = None,
    json: JsonOption = False,
) -> None:
    """Ask the same question with more work: a new job that takes over all that is computed."""
    asked = {"trials": trials, "entries": entries, "level": level}
    changes = {name: value for name, value in asked.items() if value is not None}
    with farm() as connection:
        _shown(connection.extend(job, **changes).job, json)


@jobs.command("priority")
def change_priority(
    job: JobArgument,
    priority: Annotated[Priority, typer.Argument(metavar="CLASS", help="interactive, normal or bulk.")],
    json: JsonOption = False,
) -> None:
    """Move a job to another class: they share the workers 100 : 10 : 1."""
    with farm() as connection:
        _shown(connection.prioritise(job, priority), json)


def status(json: JsonOption = False) -> None:
    """Say what the farm does: workers, queue, rates, why it is idle."""
    from cluster.cli.render_farm import show_status

    with farm() as connection:
        found = connection.status()
    tell(found, json, show_status)


def _shown(view: JobView, json: bool) -> None:
    from cluster.cli.render_farm import show_jobs

    if json:
        print_json(view)
    else:
        show_jobs((view,))
