"""Which net is meant: one place that turns what a user writes into a net; and the registry as commands show it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.match_schemas import NetRow, NetScoreRow, PairedBenchmark, PromotionRow
from cluster.settings import Settings, load_settings
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.weights import Net, NetKind, file_kind, load_net, shipped_net
from training.benchmark import CheckerDecision
from training.compare import paired_benchmark

if TYPE_CHECKING:
    from training.registry import NetRegistry, RegisteredNet

SHIPPED = "shipped"
CHAMPION = "champion"

_EXPECTED = "a net file, shipped, champion, NAME@ALIAS, NAME@VERSION, or how a registered net's digest begins"
_DIGEST = re.compile(r"[0-9a-fA-F]{6,16}")


def open_registry(settings: Settings | None = None) -> NetRegistry:
    """The registry of nets.

    Raises:
        InputError: MLflow is switched off. InfrastructureError: it is away.
    """
    chosen = settings or load_settings()
    if chosen.tracking_uri is None:
        raise InputError("GAMMONFARM_MLFLOW_URI", "off", "an MLflow tracking URI: the registry of nets is kept there")
    from training.registry import NetRegistry

    return NetRegistry(chosen.tracking_uri, chosen.home)


def resolve_net(text: str | None) -> Net:
    """The main net that a user names: a file, `shipped` (also None), `champion`, `name@alias`, `name@version`, or the
    beginning of a digest. MLflow is asked only where the name needs it.

    Raises:
        InputError: nothing of these, an unknown name, an unreadable file. InfrastructureError: MLflow is away.
    """
    if text is None or text == SHIPPED:
        return shipped_net()
    if not is_registry_name(text):
        return load_net(Path(text))
    if "@" not in text and text != CHAMPION:
        shipped = shipped_net()
        if shipped.digest.startswith(text.lower()):
            return shipped
    registry = open_registry()
    return registry.load(find_registered(registry, text))


def resolve_part(text: str, kind: NetKind) -> Net:
    """A net that has a part (contact, race): a file that is this part alone, or any main net as `resolve_net` names it.

    Raises:
        InputError: as `resolve_net`.
    """
    if text != SHIPPED and not is_registry_name(text) and file_kind(Path(text)) is kind:
        return load_net(Path(text), kind)
    return resolve_net(text)


def is_registry_name(text: str) -> bool:
    """Whether a net is named by the registry rather than by its file (which comes first where there is one).

    Raises:
        InputError: it is neither.
    """
    if "/" in text or text.endswith(".safetensors") or Path(text).is_file():
        return False
    if text == CHAMPION or "@" in text or _DIGEST.fullmatch(text):
        return True
    raise InputError("net", text, _EXPECTED)


def find_registered(registry: NetRegistry, text: str) -> RegisteredNet:
    """The entry of a net named by the registry; `champion` is that of the main nets.

    Raises:
        InputError: there is none.
    """
    return registry.find(f"main@{CHAMPION}" if text == CHAMPION else text)


def registered_net(registry: NetRegistry, text: str, name: str) -> RegisteredNet:
    """The entry of any net that a user names; a file, or the shipped net, is registered under `name` first.

    Raises:
        InputError: as `resolve_net`.
    """
    if text != SHIPPED and is_registry_name(text):
        return find_registered(registry, text)
    return registry.register(resolve_net(text), name)


def with_filter(net: Net) -> Nets:
    """A main net with the filter net that goes with it."""
    return Nets(net, shipped_net(NetKind.FILTER))


def compare_on(
    file: Path, decisions: list[CheckerDecision], a: Nets, b: Nets, level: int, move_filter_name: str
) -> PairedBenchmark:
    """Both nets on the same decisions, with the bear-off databases.

    Raises:
        InputError: no decisions, an unknown level or filter.
    """
    from cluster.filters import load_filter
    from engine.bearoff import open_databases

    bearoff = open_databases().arrays
    move_filter = load_filter(move_filter_name)
    score = paired_benchmark(Evaluator(a, bearoff), Evaluator(b, bearoff), decisions, level, move_filter)
    return PairedBenchmark(
        file=file.name,
        level=level,
        decisions=score.decisions,
        a_meq=score.a_meq,
        b_meq=score.b_meq,
        difference=score.difference,
        se=score.se,
        interval95=score.interval95,
        differing=score.differing,
    )


def net_row(net: RegisteredNet) -> NetRow:
    """An entry of the registry as commands show it."""
    return NetRow(
        name=net.name,
        version=net.version,
        aliases=net.aliases,
        digest=net.digest,
        recipe=net.description.get("recipe", ""),
        games=net.description.get("games", ""),
        rules=net.description.get("rules", ""),
        registered=net.registered,
        scores=tuple(
            NetScoreRow(
                file=score.file,
                level=score.level,
                meq_per_decision=score.meq,
                interval95=(score.low, score.high),
                decisions=score.decisions,
            )
            for score in net.scores
        ),
        promotions=tuple(
            PromotionRow(
                time=p.time,
                replaced=p.replaced,
                points=p.points,
                interval95=None if p.low is None or p.high is None else (p.low, p.high),
                games=p.games,
                benchmark_difference=p.benchmark_difference,
                forced=p.forced,
            )
            for p in net.promotions
        ),
    )
