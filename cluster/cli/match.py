"""`gammonfarm match`."""

from __future__ import annotations

import enum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.means import make_executor
from cluster.cli.options import (
    ExecutorName,
    ExecutorOption,
    JsonOption,
    RulesOption,
    WorkersOption,
    check_workers,
    tell,
    warn_about_rules,
)

if TYPE_CHECKING:
    from cluster.match import MatchQuestion, NamedNets
    from cluster.match_schemas import MatchReport
    from cluster.settings import Settings
    from workers.tasks import GnubgOpponent


class Rival(enum.Enum):
    """Another program that can play."""

    GNUBG = "gnubg"


NetArgument = Annotated[
    str, typer.Argument(metavar="NET_A", help="A file, shipped, champion, NAME@ALIAS, NAME@VERSION or a digest.")
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Which dice.")]
LooksOption = Annotated[
    int, typer.Option("--looks", metavar="N", help="Look so often; end as soon as the match is decided.")
]


def match(
    net_a: NetArgument,
    net_b: Annotated[str | None, typer.Argument(metavar="[NET_B]", help="The other net, named likewise.")] = None,
    games: Annotated[
        int, typer.Option("--games", metavar="N", help="At most; pairs of games have the same dice, sides exchanged.")
    ] = 2000,
    level_a: Annotated[int, typer.Option("--level-a", metavar="N", help="Plies of NET_A, 1 or 2.")] = 1,
    level_b: Annotated[int, typer.Option("--level-b", metavar="N", help="Plies of NET_B, 1 or 2.")] = 1,
    against: Annotated[
        Rival | None, typer.Option("--against", metavar="NAME", help="gnubg: GNU Backgammon plays instead of NET_B.")
    ] = None,
    gnubg_level: Annotated[
        int, typer.Option("--gnubg-level", metavar="N", help="Its plies, counted from 1 (1 is what it calls 0-ply).")
    ] = 1,
    looks: LooksOption = 1,
    margin: Annotated[
        float | None,
        typer.Option("--margin", metavar="X", help="Points per game: call players equal that differ by less."),
    ] = None,
    seed: SeedOption = 1,
    variance_reduction: Annotated[
        bool, typer.Option("--variance-reduction/--no-variance-reduction", help="Subtract the luck of the dice.")
    ] = True,
    bearoff: Annotated[
        bool, typer.Option("--bearoff/--no-bearoff", help="Let nets look endings up in the bear-off databases.")
    ] = True,
    rules: RulesOption = "international",
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.RAY,
    json: JsonOption = False,
) -> None:
    """Play two nets against each other, cubeless, and say who is better by how much.

    Games are played in pairs on the same dice with sides exchanged. Finished blocks are kept: the same command again
    answers from the cache, more --games only adds what is missing.
    """
    from cluster.cli.render_match import show_match
    from cluster.match import plan_match
    from cluster.match_schemas import MatchRequest
    from cluster.schemas import parse_request
    from cluster.settings import load_settings
    from engine.errors import InputError
    from workers.gnubg import check_gnubg_level

    check_workers(workers)
    check_gnubg_level(gnubg_level)
    if (net_b is None) is (against is None):
        raise InputError("net", net_b or "no NET_B", "either a second net or --against gnubg")
    request = parse_request(
        MatchRequest,
        {
            "games": games,
            "level_a": level_a,
            "level_b": gnubg_level if against else level_b,
            "seed": seed,
            "rules": rules,
            "looks": looks,
            "margin": margin,
            "variance_reduction": variance_reduction,
            "bearoff": bearoff,
        },
    )
    a = named(net_a, rules)
    question = plan_match(request, a, named(net_b, rules) if net_b is not None else _rival())
    report = play(question, load_settings(), executor, workers)
    tell(report, json, show_match)


def named(text: str, rules: str | None = None) -> NamedNets:
    """Nets with the name they were asked for by; warns where they were trained for other rules."""
    from cluster.match import NamedNets
    from cluster.nets import resolve_net, with_filter

    net = resolve_net(text)
    if rules is not None:
        warn_about_rules(net, rules)
    return NamedNets(text, with_filter(net))


def play(question: MatchQuestion, settings: Settings, executor: ExecutorName, workers: int | None) -> MatchReport:
    """Play a match with live progress on stderr, keep its blocks, record it in MLflow."""
    from cluster.cli.render import open_databases_live
    from cluster.cli.render_match import MatchProgressLine
    from cluster.match_session import play_recorded
    from cluster.redis_store import open_store

    with open_store(settings) as store:
        if question.settings.uses_bearoff:
            open_databases_live()  # the first time they must be built: here, not by every worker
        start = partial(make_executor, executor, workers)
        return play_recorded(question, settings, store, start, MatchProgressLine(question))


def _rival() -> GnubgOpponent:
    from workers.gnubg_program import find_gnubg, gnubg_version
    from workers.tasks import GnubgOpponent

    return GnubgOpponent(gnubg_version(find_gnubg()))
