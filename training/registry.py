"""The registry of nets: MLflow's model registry, with every registered net kept as an artifact.

A model of the registry is a line of nets for one purpose (`main`), its versions are nets, its alias `champion` names
the one in use. Beside `training.tracking` the only module that imports MLflow. Files that have been fetched once are
kept in a folder, under their digests.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.errors import GammonfarmError, InfrastructureError, InputError
from engine.weights import Net, load_net, save_net, shipped_net
from training.tracking import artifact_location, connect

MAIN = "main"
CHAMPION = "champion"
EXPERIMENT = "gammonfarm nets"

_SCORE = "score."
_PROMOTION = "promotion."


@dataclass(frozen=True, slots=True)
class NetScore:
    """Checker play of a net on a file of decisions, in mEq per decision."""

    file: str
    level: int
    meq: float
    low: float
    """Of the 95 % interval."""
    high: float
    decisions: int


@dataclass(frozen=True, slots=True)
class Promotion:
    """The evidence on which a net became champion."""

    time: float
    """Unix seconds."""
    replaced: str | None
    """Digest of the champion before."""
    points: float | None
    """Against it, per game; None if no match was played."""
    low: float | None
    high: float | None
    games: int
    benchmark_difference: float | None
    """mEq per decision, negative = better."""
    forced: str | None
    """The reason given where no test allowed it."""


@dataclass(frozen=True, slots=True)
class RegisteredNet:
    """A version of a net."""

    name: str
    version: int
    aliases: tuple[str, ...]
    digest: str
    registered: float
    """Unix seconds."""
    description: Mapping[str, str]
    """The header of its file."""
    scores: tuple[NetScore, ...]
    promotions: tuple[Promotion, ...]
    """Oldest first."""
    run_id: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version} ({self.digest})"


class NetRegistry:
    """The registry at a tracking URI. An empty one gets the shipped net as `main@1`, the first champion.

    Args:
        home: the data folder; files that have been fetched are kept in `nets/` below it.

    All methods raise `InfrastructureError` when MLflow is away.
    """

    def __init__(self, uri: str, home: Path) -> None:
        self._uri = uri
        self._files = home / "nets"
        with self._asking():
            self._client = connect(uri)
            empty = not self._client.search_registered_models(max_results=1)
        if empty:
            self.set_champion(self.register(shipped_net(), MAIN))

    def nets(self, name: str | None = None) -> list[RegisteredNet]:
        """All nets, or those of one name, in order of name and version."""
        found: list[Any] = []
        with self._asking():
            query = f"name = '{_checked_name(name)}'" if name is not None else None
            token = None
            while True:
                page = self._client.search_model_versions(query, page_token=token)
                found.extend(page)
                token = page.token
                if not token:
                    break
        # A search leaves out the aliases.
        aliases = {model: self._aliases(model) for model in {version.name for version in found}}
        nets = [_net(version, aliases[version.name]) for version in found if "digest" in version.tags]
        return sorted(nets, key=lambda net: (net.name, net.version))

    def champion(self, name: str = MAIN) -> RegisteredNet | None:
        """The champion of a name, if it has one."""
        return next((net for net in self.nets(name) if CHAMPION in net.aliases), None)

    def find(self, text: str) -> RegisteredNet:
        """By `name@alias`, `name@version` or the beginning of a digest (six characters or more).

        Raises:
            InputError: nothing fits, or several nets do.
        """
        name, at, wanted = text.partition("@")
        if at:
            found = [net for net in self.nets(name) if wanted in (str(net.version), *net.aliases)]
            if found:
                return found[0]
            raise InputError("net", text, "a net of the registry (gammonfarm nets list shows them)")
        fitting = [net for net in self.nets() if len(text) >= 6 and net.digest.startswith(text.lower())]
        if len({net.digest for net in fitting}) != 1:
            expected = "more of the digest: several nets begin so" if fitting else "a net of the registry"
            raise InputError("net", text, f"{expected} (gammonfarm nets list shows them)")
        return fitting[0]

    def register(self, net: Net, name: str = MAIN) -> RegisteredNet:
        """Add a net as the next version of a name; one that is there already is returned as it is."""
        known = next((one for one in self.nets(name) if one.digest == net.digest), None)
        if known is not None:
            return known
        path = self._keep(net)
        tags = {"digest": net.digest, "header": json.dumps(dict(net.description), sort_keys=True)}
        with self._asking():
            run = self._client.create_run(self._experiment(), run_name=f"{name} {net.digest}", tags=tags)
            run_id = run.info.run_id
            self._client.log_artifact(run_id, str(path))
            self._client.set_terminated(run_id)
            if not self._client.search_registered_models(f"name = '{name}'", max_results=1):
                self._client.create_registered_model(name)
            version = self._client.create_model_version(name, f"runs:/{run_id}/{path.name}", run_id, tags=tags)
        return _net(version, {})

    def load(self, registered: RegisteredNet) -> Net:
        """The net itself, from the folder of fetched files or from MLflow.

        Raises:
            InputError: what MLflow holds is damaged, or for other inputs than this version's.
        """
        path = self._path(registered.digest)
        with suppress(InputError):
            kept = load_net(path)
            if kept.digest == registered.digest:
                return kept
        with self._asking():
            self._files.mkdir(parents=True, exist_ok=True)
            self._client.download_artifacts(registered.run_id, path.name, str(self._files))
        fetched = load_net(path)
        if fetched.digest != registered.digest:
            raise InputError("net", registered, f"its own weights in MLflow, not those of {fetched.digest}")
        return fetched

    def set_champion(self, net: RegisteredNet, evidence: Promotion | None = None) -> RegisteredNet:
        """Make a net the champion of its name; the evidence is kept with it."""
        with self._asking():
            if evidence is not None:
                tag = f"{_PROMOTION}{len(net.promotions)}"
                self._client.set_model_version_tag(net.name, str(net.version), tag, json.dumps(asdict(evidence)))
            self._client.set_registered_model_alias(net.name, CHAMPION, str(net.version))
        return self.find(f"{net.name}@{net.version}")

    def add_score(self, net: RegisteredNet, score: NetScore) -> None:
        """Keep a score with a net, in place of an older one on the same file at the same level."""
        with self._asking():
            tag = f"{_SCORE}{score.level}.{''.join(c if c.isalnum() else '_' for c in score.file)[:200]}"
            self._client.set_model_version_tag(net.name, str(net.version), tag, json.dumps(asdict(score)))
            self._client.log_metric(net.run_id, f"checker_meq_{score.level}ply", score.meq)

    def _aliases(self, name: str) -> Mapping[str, str]:
        with self._asking():
            return dict(self._client.get_registered_model(name).aliases)

    def _experiment(self) -> str:
        found = self._client.get_experiment_by_name(EXPERIMENT)
        if found is not None:
            return str(found.experiment_id)
        return str(self._client.create_experiment(EXPERIMENT, artifact_location(self._uri)))

    def _path(self, digest: str) -> Path:
        return self._files / f"{digest}.safetensors"

    def _keep(self, net: Net) -> Path:
        path = self._path(net.digest)
        try:
            self._files.mkdir(parents=True, exist_ok=True)
            save_net(net, path)
        except OSError as error:
            raise InfrastructureError(f"{path} can't be written ({error.strerror})") from error
        return path

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except GammonfarmError:
            raise
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InfrastructureError(f"the registry of nets in MLflow: {first}") from error


def promotion_now(**facts: Any) -> Promotion:
    """A promotion with the time of now."""
    return Promotion(time=time.time(), **facts)


def _checked_name(name: str) -> str:
    if not name or not all(c.isalnum() or c in "-_." for c in name):
        raise InputError("name", name, "letters, digits, '-', '_' and '.'")
    return name


def _net(version: Any, aliases: Mapping[str, str]) -> RegisteredNet:
    tags: Mapping[str, str] = version.tags
    number = int(version.version)
    promotions = sorted((key for key in tags if key.startswith(_PROMOTION)), key=lambda key: int(key.split(".")[1]))
    return RegisteredNet(
        name=version.name,
        version=number,
        aliases=tuple(sorted(alias for alias, of in aliases.items() if int(of) == number)),
        digest=tags["digest"],
        registered=version.creation_timestamp / 1000,
        description=json.loads(tags["header"]),
        scores=tuple(NetScore(**json.loads(tags[key])) for key in sorted(tags) if key.startswith(_SCORE)),
        promotions=tuple(Promotion(**json.loads(tags[key])) for key in promotions),
        run_id=version.run_id,
    )
