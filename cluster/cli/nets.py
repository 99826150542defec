"""`gammonfarm nets`: the registry of nets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.match import LooksOption, NetArgument, SeedOption, named, play
from cluster.cli.options import (
    ExecutorName,
    ExecutorOption,
    FilterOption,
    JsonOption,
    LevelOption,
    WorkersOption,
    check_workers,
    tell,
)

if TYPE_CHECKING:
    from cluster.match import MatchQuestion, NamedNets
    from engine.weights import Net
    from training.benchmark import CheckerDecision
    from training.registry import NetRegistry, RegisteredNet

nets = typer.Typer(
    name="nets", help="The registry of nets: what there is, which one is champion, and why.", no_args_is_help=True
)

REFUSED = 1
"""Exit code: the test did not allow the promotion."""

OneNet = Annotated[
    str, typer.Argument(metavar="NET", help="A file, shipped, champion, NAME@ALIAS, NAME@VERSION or a digest.")
]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="Line of nets; each has its own champion.")]
BenchmarkOption = Annotated[
    Path | None, typer.Option("--benchmark", metavar="FILE", help="Decisions with known answers, put to both nets.")
]


@nets.command("list")
def list_nets(
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Only this line of nets.")] = None,
    json: JsonOption = False,
) -> None:
    """List registered nets with aliases, training and scores."""
    from cluster.cli.render_match import show_nets
    from cluster.match_schemas import NetsReport
    from cluster.nets import net_row, open_registry

    report = NetsReport(nets=tuple(net_row(net) for net in open_registry().nets(name)))
    tell(report, json, show_nets)


@nets.command("show")
def show(net: OneNet, json: JsonOption = False) -> None:
    """Show a net: header, shapes, what rounding costs, scores and promotions."""
    from cluster.cli.render_match import show_net
    from cluster.match_schemas import NetDetails
    from cluster.nets import net_row, open_registry, resolve_net
    from cluster.settings import load_settings
    from engine.rules import rule_set
    from training.quantisation import quantisation_loss

    found = resolve_net(net)
    loss = quantisation_loss(found, rule_set(found.description.get("rules", "international")))
    settings = load_settings()
    entries = open_registry(settings).nets() if settings.tracking_uri else []
    report = NetDetails(
        digest=found.digest,
        kind=found.kind.value,
        width=found.width,
        header=dict(found.description),
        shapes={name: tuple(array.shape) for name, array in found.arrays.items()},
        quantisation_mean=loss.mean,
        quantisation_largest=loss.largest,
        registered=tuple(net_row(entry) for entry in entries if entry.digest == found.digest),
    )
    tell(report, json, show_net)


@nets.command("split")
def split(
    net: OneNet,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of contact.safetensors and race.safetensors.")
    ],
    json: JsonOption = False,
) -> None:
    """Write the two parts of a main net, for contact and for races, as files of their own."""
    from cluster.nets import resolve_net
    from engine.weights import NetKind, part_of

    found = resolve_net(net)
    _write({out / f"{kind.value}.safetensors": part_of(found, kind) for kind in (NetKind.CONTACT, NetKind.RACE)}, json)


@nets.command("join")
def join(
    contact: Annotated[str, typer.Argument(metavar="CONTACT", help="A main net, or its contact part, as a file.")],
    race: Annotated[str, typer.Argument(metavar="RACE", help="Another main net, or a race part, as a file.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The main net to write.")],
    json: JsonOption = False,
) -> None:
    """Put a main net together: the contact part of one net and the race part of another."""
    from cluster.nets import resolve_part
    from engine.weights import NetKind, join_parts

    _write({out: join_parts(resolve_part(contact, NetKind.CONTACT), resolve_part(race, NetKind.RACE))}, json)


def _write(files: dict[Path, Net], json: bool) -> None:
    from cluster.cli.render_match import show_files
    from cluster.match_schemas import NetFile, NetFiles
    from engine.errors import InputError
    from engine.weights import save_net

    for path, net in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_net(net, path)
        except OSError as error:
            raise InputError("out", path, f"a file that can be written ({error.strerror or error})") from error
    report = NetFiles(
        nets=tuple(
            NetFile(
                file=str(path), kind=net.kind.value, digest=net.digest, width=net.width, header=dict(net.description)
            )
            for path, net in files.items()
        )
    )
    tell(report, json, show_files)


@nets.command("register")
def register(
    file: OneNet,
    name: NameOption = "main",
    benchmark: Annotated[
        Path | None, typer.Option("--benchmark", metavar="FILE", help="Score it on this file, and keep the score.")
    ] = None,
    level: LevelOption = 1,
    filter: FilterOption = "normal",
    json: JsonOption = False,
) -> None:
    """Add a net to the registry; one that is there already keeps its version."""
    from cluster.cli.render_match import show_nets
    from cluster.match_schemas import NetsReport
    from cluster.nets import net_row, open_registry, registered_net
    from training.benchmark import read_decisions

    decisions = list(read_decisions(benchmark)) if benchmark else []
    registry = open_registry()
    entry = registered_net(registry, file, name)
    if benchmark:
        _score(registry, entry, benchmark, decisions, level, filter)
    entry = registry.find(f"{entry.name}@{entry.version}")
    report = NetsReport(nets=(net_row(entry),))
    tell(report, json, show_nets)


@nets.command("compare")
def compare(
    net_a: NetArgument,
    net_b: Annotated[str, typer.Argument(metavar="NET_B", help="The other net, named likewise.")],
    games: Annotated[int, typer.Option("--games", metavar="N", help="Games of the match; 0: no match.")] = 2000,
    benchmark: BenchmarkOption = None,
    level: LevelOption = 1,
    filter: FilterOption = "normal",
    looks: LooksOption = 1,
    seed: SeedOption = 1,
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.RAY,
    json: JsonOption = False,
) -> None:
    """Compare two nets: on the same recorded decisions and in a match, each with an interval."""
    from cluster.cli.render_match import show_comparison
    from cluster.match_schemas import ComparisonReport
    from cluster.nets import compare_on
    from cluster.settings import load_settings
    from engine.errors import InputError
    from training.benchmark import read_decisions

    check_workers(workers)
    if not games and benchmark is None:
        raise InputError("games", games, "games to play, or --benchmark FILE")
    a, b = named(net_a), named(net_b)
    question = _question(a, b, games, level, looks, seed) if games else None
    decisions = list(read_decisions(benchmark)) if benchmark else []
    report = ComparisonReport(
        benchmark=compare_on(benchmark, decisions, a.nets, b.nets, level, filter) if benchmark else None,
        match=play(question, load_settings(), executor, workers) if question else None,
    )
    tell(report, json, show_comparison)


@nets.command("promote")
def promote(
    net: OneNet,
    name: NameOption = "main",
    games: Annotated[int, typer.Option("--games", metavar="N", help="At most, against the champion.")] = 20_000,
    looks: LooksOption = 10,
    benchmark: BenchmarkOption = None,
    level: LevelOption = 1,
    filter: FilterOption = "normal",
    seed: SeedOption = 1,
    force: Annotated[
        str | None, typer.Option("--force", metavar="REASON", help="Promote without a test; the reason is recorded.")
    ] = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.RAY,
    json: JsonOption = False,
) -> None:
    """Make a net champion if it proves to play better than the present one (exit code 1 if it does not).

    It must win a match that ends as soon as it is decided; with --benchmark it must also not be proven worse there.
    """
    from cluster.cli.render_match import show_promotion
    from cluster.match import NamedNets
    from cluster.match_schemas import PromotionReport
    from cluster.nets import compare_on, net_row, open_registry, registered_net, with_filter
    from cluster.promotion import Decision, decide, evidence
    from cluster.settings import load_settings
    from engine.errors import InputError
    from training.benchmark import read_decisions

    check_workers(workers)
    if force is not None and not force.strip():
        raise InputError("force", force, "a reason in words")
    decisions = list(read_decisions(benchmark)) if benchmark else []
    settings = load_settings()
    registry = open_registry(settings)
    entry = registered_net(registry, net, name)
    champion = registry.champion(entry.name)
    if champion is not None and champion.digest == entry.digest:
        raise InputError("net", net, f"another net than the champion {champion}")
    a = NamedNets(str(entry), with_filter(registry.load(entry)))
    played = paired = None
    if force is not None:
        decision = Decision(True, f"forced: {force}")
    else:
        if champion is not None:
            b = NamedNets(str(champion), with_filter(registry.load(champion)))
            played = play(_question(a, b, games, level, looks, seed), settings, executor, workers)
            paired = compare_on(benchmark, decisions, a.nets, b.nets, level, filter) if benchmark else None
        decision = decide(played, paired)
    if decision.promoted:
        entry = registry.set_champion(entry, evidence(champion, played, paired, force))
    report = PromotionReport(
        promoted=decision.promoted,
        reason=decision.reason,
        net=net_row(entry),
        champion=net_row(champion) if champion else None,
        match=played,
        benchmark=paired,
    )
    tell(report, json, show_promotion)
    if not decision.promoted:
        raise typer.Exit(REFUSED)


def _question(a: NamedNets, b: NamedNets, games: int, level: int, looks: int, seed: int) -> MatchQuestion:
    """A match at one level, under the rules that A was trained for."""
    from cluster.match import plan_match
    from cluster.match_schemas import MatchRequest
    from cluster.schemas import parse_request

    rules = a.nets.main.description.get("rules", "international")
    fields = {"games": games, "level_a": level, "level_b": level, "seed": seed, "looks": looks, "rules": rules}
    return plan_match(parse_request(MatchRequest, fields), a, b)


def _score(
    registry: NetRegistry,
    entry: RegisteredNet,
    file: Path,
    decisions: list[CheckerDecision],
    level: int,
    filter: str,
) -> None:
    from cluster.cli.render import open_databases_live
    from cluster.filters import load_filter
    from cluster.nets import with_filter
    from engine.evaluator import Evaluator
    from training.benchmark import score_checker
    from training.registry import NetScore

    evaluator = Evaluator(with_filter(registry.load(entry)), open_databases_live().arrays)
    score = score_checker(evaluator, iter(decisions), level, load_filter(filter))
    low, high = score.interval95
    registry.add_score(entry, NetScore(file.name, level, score.meq_per_decision, low, high, score.decisions))
