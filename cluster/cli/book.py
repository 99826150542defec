"""`gammonfarm book`: opening libraries."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.means import executor_starter, open_the_store
from cluster.cli.options import (
    DATA_VARIABLE,
    ExecutorName,
    ExecutorOption,
    JsonOption,
    NetOption,
    RulesOption,
    WorkersOption,
    check_workers,
    chosen_nets,
    data_folder,
    print_json,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from cluster.book.artifact import Book
    from cluster.book.simulation import Simulator
    from cluster.executor import Executor
    from cluster.store import Store
    from engine.evaluator import Nets

app = typer.Typer(help="Opening libraries: build, browse, extend, check, merge and publish them.", no_args_is_help=True)

BookOption = Annotated[
    str | None,
    typer.Option(
        "--book", metavar="NAME|FILE", help="Which book; default: the largest money book of the rule set (--rules)."
    ),
]
FileArgument = Annotated[str, typer.Argument(metavar="BOOK", help="A book's name or file.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Which ones are drawn.")]


@app.command("build")
def build(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A shipped recipe's name, or a TOML file.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The book's file; default: below the data folder.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", metavar="N", help="Budget of the whole book, instead of the recipe's.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", metavar="M", help="Budget of this run, instead of the recipe's.")
    ] = None,
    net: NetOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.RAY,
    json: JsonOption = False,
) -> None:
    """Build a book, or go on building it: what is there is kept, a larger budget or recipe extends it."""
    from cluster.book.artifact import open_or_create
    from cluster.book.book_steps import Budget
    from cluster.book.build import Builder, identity_of
    from cluster.book.library import built_path
    from cluster.book.recipe import load_recipe
    from cluster.cli import remote, render_book
    from engine.errors import InputError

    check_workers(workers)
    if trials is not None and trials < 1:
        raise InputError("trials", trials, "a whole number of at least 1")
    if minutes is not None and minutes <= 0:
        raise InputError("minutes", minutes, "a number above 0")
    loaded = load_recipe(recipe).with_budget(trials, minutes)
    path = out or built_path(loaded.name)
    if remote.farm_is_named() and executor is not ExecutorName.INLINE:
        report = remote.build_book(loaded, net, path)
        tell(report, json, render_book.show_build)
        return
    nets = chosen_nets(net, loaded.rules)
    identity = identity_of(loaded, nets)
    budget = Budget(loaded.budget.trials, loaded.budget.entries, loaded.budget.minutes)
    with ExitStack() as stack:
        store = open_the_store(stack)
        book = stack.enter_context(open_or_create(path, identity, loaded.name))
        simulator = _simulator(book, nets, store, executor_starter(stack, executor, workers))
        with render_book.BuildLine(budget.trials) as live:
            report = Builder(loaded, book, simulator, budget).run(live.update)
    tell(report, json, render_book.show_build)


@app.command("list")
def list_books(json: JsonOption = False) -> None:
    """List the books that were built here or came with gammonfarm."""
    from cluster.book.artifact import open_book
    from cluster.book.library import book_files
    from cluster.book.schemas import BookListReport
    from cluster.cli import render_book

    infos = []
    for path in book_files().values():
        with open_book(path) as book:
            infos.append(book.info())
    report = BookListReport(books=tuple(infos))
    tell(report, json, render_book.show_list)


@app.command("show")
def show(
    roll: Annotated[
        str | None, typer.Argument(metavar="[ROLL]", help="The roll to be played, such as 31; default: all rolls.")
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--after",
            metavar="PLAYS",
            help="What was played before: '8/5 6/5', or with rolls '31 8/5 6/5 64 24/14'; may be repeated.",
        ),
    ] = None,
    book: BookOption = None,
    rules: RulesOption = "international",
    json: JsonOption = False,
) -> None:
    """Show what a book says about a roll, or about all rolls, at the start of the game or after some plays."""
    from cluster.book.library import find_book
    from cluster.book.show import show as look_up
    from cluster.cli import render, render_book

    with find_book(book, rules) as opened:
        position, report = look_up(opened, roll, after or ())
    if json:
        print_json(report)
    else:
        render.show_board(position)
        render_book.show_entries(report)


@app.command("verify")
def verify(
    book: FileArgument,
    entry: Annotated[
        list[str] | None,
        typer.Option(
            "--entry", metavar="ENTRY", help="Make this one again: '31 8/5 6/5 64' or an id; may be repeated."
        ),
    ] = None,
    sample: Annotated[int, typer.Option("--sample", metavar="N", help="Make so many again that are drawn.")] = 0,
    seed: SeedOption = 1,
    net: NetOption = None,
    filter_net: Annotated[
        Path | None,
        typer.Option(
            "--filter-net", metavar="FILE", help="The filter net that made the book; default: the shipped one."
        ),
    ] = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.RAY,
    json: JsonOption = False,
) -> None:
    """Check the numbers of all entries against their exact sums; make some again from nothing, to the last bit.

    Exit code 1: something differs.
    """
    from cluster.book.library import find_book
    from cluster.book.verify import check_nets, chosen_entries, find_entry
    from cluster.book.verify import verify as check
    from cluster.cli import render_book
    from cluster.store import MemoryStore
    from engine.errors import InputError
    from engine.weights import NetKind, load_net

    check_workers(workers)
    if sample < 0:
        raise InputError("sample", sample, "0 or a number of entries")
    with ExitStack() as stack:
        opened = stack.enter_context(find_book(book))
        entries = [find_entry(opened, text) for text in entry or ()]
        entries += chosen_entries(opened, sample, seed) if sample else []

        def simulator() -> Simulator:
            nets = chosen_nets(net)
            if filter_net is not None:
                nets = replace(nets, filter=load_net(filter_net, NetKind.FILTER))
            check_nets(opened.identity, nets)
            # A store that knows nothing, so that every trial is played again.
            return _simulator(opened, nets, MemoryStore(), executor_starter(stack, executor, workers))

        with render_book.verifying(len(entries)) as progress:
            report = check(opened, entries, simulator, progress)
    tell(report, json, render_book.show_verification)
    if not report.ok:
        raise typer.Exit(1)


@app.command("merge")
def merge(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The book that gets the entries of the others.")],
    sources: Annotated[list[str], typer.Argument(metavar="BOOK...", help="Names or files of other books.")],
    json: JsonOption = False,
) -> None:
    """Take over what other books of the same identity have more of; of the same entry, more trials win."""
    from cluster.book.artifact import open_or_create
    from cluster.book.library import find_book
    from cluster.book.verify import merge as take_over
    from cluster.cli import render_book

    with ExitStack() as stack:
        others = [stack.enter_context(find_book(source)) for source in sources]
        book = stack.enter_context(open_or_create(target, others[0].identity, target.stem))
        report = take_over(book, others)
    tell(report, json, render_book.show_merge)


@app.command("diff")
def diff(
    a: FileArgument,
    b: Annotated[
        str,
        typer.Argument(metavar="OTHER", help="Another book, or a published one: a .tsv, .json or .jsonl file."),
    ],
    everything: Annotated[bool, typer.Option("--all", help="List also where both agree.")] = False,
    json: JsonOption = False,
) -> None:
    """Compare two books: where their best plays differ, and what A's error bars say about B's play."""
    from cluster.book.diff import compare
    from cluster.book.library import find_book
    from cluster.cli import render_book

    with find_book(a) as book:
        report = compare(book, b, everything)
    tell(report, json, render_book.show_diff)


@app.command("compare")
def compare_openings(
    books: Annotated[list[str], typer.Argument(metavar="BOOK...", help="Names or files of books.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help=f"Folder of public reference data; default: {DATA_VARIABLE}."),
    ] = None,
    page: Annotated[bool, typer.Option("--page", help="As the Markdown page docs/opening-book.md.")] = False,
    json: JsonOption = False,
) -> None:
    """Put the openings of books beside published tables and say on which side their error bars are."""
    from cluster.book.compare import compare_openings as put_beside
    from cluster.book.library import find_book
    from cluster.book.opening_page import opening_page
    from cluster.book.published import named_in_the_manual, read_published_tables
    from cluster.book.schemas import BookCompareReport
    from cluster.cli import render_book

    tables = read_published_tables(data_folder(data))
    found = []
    for name in books:
        with find_book(name) as book:
            found.append(put_beside(book, tables, named_in_the_manual()))
    report = BookCompareReport(books=tuple(found))
    if json:
        print_json(report)
    elif page:
        typer.echo(opening_page(report), nl=False)
    else:
        render_book.show_comparison(report)


@app.command("quiz")
def quiz(
    book: BookOption = None,
    rules: RulesOption = "international",
    count: Annotated[int, typer.Option("--count", metavar="N", min=1, help="Questions.")] = 10,
    depth: Annotated[
        int | None, typer.Option("--depth", metavar="N", help="1: openings only, 2: replies only, and so on.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Which questions; default: others every day.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Answer questions from a book: one play a line; an empty line passes, q ends."""
    import datetime

    from cluster.book.library import find_book
    from cluster.book.quiz import pick
    from cluster.book.quiz import quiz as put
    from cluster.cli import render_book

    chosen = seed if seed is not None else datetime.date.today().toordinal()
    with find_book(book, rules) as opened:
        questions = pick(opened, count, chosen, depth)
        report = put(opened, questions, render_book.Asker(opened, len(questions)), render_book.tell_answer)
    tell(report, json, render_book.show_quiz)


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File, or folder of the site.")],
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="json, csv, text, site, table (to print) or pdf.")
    ] = "site",
    book: BookOption = None,
    rules: RulesOption = "international",
) -> None:
    """Write a book as JSON, CSV, text, a web site, or its openings as a table to print or a PDF."""
    from cluster.book.export import ExportFormat
    from cluster.book.export import export as write
    from cluster.book.library import find_book
    from cluster.cli import render_book
    from engine.errors import InputError

    names = [one.value for one in ExportFormat]
    if form not in names:
        raise InputError("format", form, f"one of {', '.join(names)}")
    with find_book(book, rules) as opened:
        render_book.show_export(write(opened, ExportFormat(form), out))


def _simulator(book: Book, nets: Nets, store: Store, executor_for: Callable[[], Executor]) -> Simulator:
    from cluster.book.simulation import Farm, Simulator
    from cluster.cli.render import open_databases_live
    from engine.evaluator import Evaluator

    evaluator = Evaluator(nets, open_databases_live().arrays)
    return Simulator(book.identity, book.stakes, nets, evaluator, Farm(store, executor_for))
