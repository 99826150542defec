"""Jobs, events and the state of a farm as people see them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from cluster.book.schemas import BookResult
from cluster.cli.render import plain_table, show_rollout, stdout_console
from cluster.cli.render_book import show_result
from cluster.farm.status import FarmStatus
from cluster.schemas import RolloutReport
from cluster.service_models import EventView, JobAnswer, JobView
from cluster.store import JobKind


def show_jobs(jobs: Sequence[JobView]) -> None:
    """A table of jobs."""
    table = plain_table("job", "kind", "state", "client", "priority", "done", "total", "created", "message")
    for column in (1, 2, 3, 4, 7, 8):
        table.columns[column].justify = "left"
    table.columns[8].no_wrap = False
    for job in jobs:
        table.add_row(
            job.id,
            job.kind.value,
            job.state.value,
            job.client,
            job.priority.value,
            f"{job.done:,}",
            f"{job.total:,}" if job.total else "",
            _clock(job.created),
            job.message,
        )
    stdout_console(160).print(table)


def show_job(job: JobView, answer: JobAnswer | None) -> None:
    """One job and, where it is done, its answer."""
    show_jobs((job,))
    out = stdout_console()
    out.print("\n" + json.dumps(job.request), markup=False)
    if answer is None:
        return
    out.print()
    if answer.kind is JobKind.ROLLOUT and answer.provenance and answer.timing:
        show_rollout(rollout_report(answer))
    elif answer.kind is JobKind.BOOK:
        show_result(BookResult.model_validate_json(json.dumps(answer.result)))
    else:
        out.print(json.dumps(answer.result, indent=2), markup=False)


def rollout_report(answer: JobAnswer) -> RolloutReport:
    """The document that `gammonfarm rollout` prints."""
    fields = {"result": answer.result, "provenance": answer.provenance, "timing": answer.timing}
    return RolloutReport.model_validate_json(json.dumps(fields))


def event_line(event: EventView) -> str:
    """An event in a line."""
    data = dict(event.data)
    parts = [f"{_clock(event.time)} {event.kind.value}"]
    if "total" in data and "done" in data:
        done, total = data.pop("done"), data.pop("total")
        parts.append(f"{done:,} of {total:,} ({100 * done / max(total, 1):.0f} %)")
    if data.get("eta") is not None:
        parts.append(f"{data.pop('eta'):.0f} s left")
    message, code = data.pop("message", ""), data.pop("code", "")
    parts += [f"{name} {value}" for name, value in data.items() if value not in (None, "")]
    return ", ".join(parts) + (f": {message}" if message else f": {code}" if code else "")


def show_status(status: FarmStatus) -> None:
    """The state of the farm, and its workers."""
    out = stdout_console()
    idle = f"; idle: {status.idle}" if status.idle else ""
    lines = [
        f"coordinator {status.coordinator}, {max(time.time() - status.time, 0):.0f} s ago",
        f"workers {status.workers}, {status.workers_busy} busy, {status.workers_proving} prove themselves,"
        f" {status.workers_retired} retired, {status.workers_lost} lost{idle}",
        f"jobs {status.jobs_running} running, {status.jobs_queued} queued, of {status.clients} clients;"
        f" {status.jobs_done} done, {status.jobs_failed} failed, {status.jobs_cancelled} cancelled",
        f"{status.blocks_per_s:.1f} blocks/s, workers busy {100 * status.utilisation:.0f} % of the time,"
        f" {status.tasks} tasks under way, {status.outputs_in_hand} outputs in hand",
    ]
    if status.ledger_problem:
        lines.insert(0, f"redis is away, so all this is what was known before: {status.ledger_problem}")
    if status.ledger_failures:
        lines.append(f"redis was away for {status.ledger_away_seconds:.0f} s in all")
    if status.quarantined:
        lines.append(f"{status.quarantined} tasks given up because they killed their workers")
    lines += [f"node {node} is left alone for a while: {why}" for node, why in status.pool.get("out", {}).items()]
    for line in lines:
        out.print(line, markup=False)
    if status.rows:
        table = plain_table("worker", "standing", "holds", "done", "cpu s")
        table.columns[1].justify = "left"
        for row in status.rows:
            table.add_row(row.name, row.standing.value, str(row.holds), f"{row.done:,}", f"{row.seconds:,.0f}")
        out.print()
        out.print(table)


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
