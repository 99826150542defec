"""The kinds of jobs that a farm knows. A new kind is a module beside `rollout_job` and one entry here.

See docs/farm.md, "A kind of job", for the steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from cluster.farm.analyse_job import AnalyseKind
from cluster.farm.book_job import BookKind
from cluster.farm.deep_job import DeepKind
from cluster.farm.evaluate_job import EvaluateKind
from cluster.farm.kinds import Kind
from cluster.farm.rollout_job import RolloutKind
from cluster.farm.train_job import TrainKind
from cluster.schemas import Model
from cluster.store import JobKind
from engine.errors import InputError


class Kinds:
    """Kinds of jobs by name."""

    def __init__(self, kinds: Iterable[Kind] | None = None) -> None:
        found: Iterable[Kind] = (
            (RolloutKind(), DeepKind(), EvaluateKind(), AnalyseKind(), BookKind(), TrainKind())
            if kinds is None
            else kinds
        )
        self._kinds = {kind.name: kind for kind in found}

    def __iter__(self) -> Any:
        return iter(self._kinds.values())

    def of(self, name: JobKind | str) -> Kind:
        """The kind with this name.

        Raises:
            InputError: there is none.
        """
        try:
            return self._kinds[JobKind(name)]
        except (KeyError, ValueError):
            raise InputError("kind", name, f"one of {', '.join(self._kinds)}") from None


def written(net: str, request: Model) -> str:
    """A question as it stands in a job's record."""
    return json.dumps({"net": net, "request": request.model_dump(mode="json")}, separators=(",", ":"))


def read(kind: Kind, text: str) -> tuple[str, Any]:
    """Net and request of a record. Raises `InputError` when it was written by a version with other fields."""
    try:
        fields = json.loads(text)
        return str(fields["net"]), kind.request.model_validate(fields["request"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("request", text, "a request of this version") from error
