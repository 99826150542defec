"""`gammonfarm`: the commands, and what happens to errors.

Exit codes: 0 done, 2 the user's mistake, 3 a failure of ours, 4 infrastructure away, 130 interrupted. An error is one
line on stderr; with GAMMONFARM_DEBUG set the traceback follows.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer

from cluster.cli import (
    analyse,
    bench,
    benchmark,
    book,
    daily,
    data,
    deep,
    jobs,
    match,
    met,
    nets,
    records,
    rollout,
    serve,
    train,
)
from engine.errors import GammonfarmError

app = typer.Typer(
    name="gammonfarm",
    help="Exact backgammon rollouts and training, on one machine or many.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("rollout")(rollout.rollout)
app.command("deep")(deep.deep)
app.command("evaluate")(data.evaluate)
app.command("perft")(data.perft)
app.command("convert")(records.convert)
app.command("import")(records.import_records)
app.command("export")(records.export_records)
app.command("analyse")(analyse.analyse)
app.command("similar")(analyse.similar)
app.add_typer(benchmark.app, name="benchmark")
app.command("match")(match.match)
app.add_typer(met.app, name="met")
app.add_typer(book.app, name="book")
app.command("daily")(daily.daily)
app.command("bench")(bench.bench)
app.command("train")(train.train)
app.add_typer(nets.nets)
app.command("serve")(serve.serve)
app.command("worker")(serve.worker)
app.add_typer(jobs.jobs)
app.command("status")(jobs.status)
app.add_typer(serve.tokens)
app.command("doctor")(data.doctor)


# Newer Typers bring a click of their own: take the class from where Typer takes it.
_UsageProblem: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    logging.basicConfig(level=logging.WARNING, format="gammonfarm: %(message)s", stream=sys.stderr)
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        result = app(args=words or ["--help"], standalone_mode=False)
        if result == _INTERRUPTED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
        return (result if isinstance(result, int) else 0) if words else 2
    except GammonfarmError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail(
            "interrupted; finished work is kept: the same command (train: with --resume) goes on from it", _INTERRUPTED
        )
    except BrokenPipeError:
        # The reader of our output has gone (a pager, head): nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if isinstance(error, _UsageProblem):
            text = _usage(error, words)
            return _fail(text, 2) if text else 2  # no text: the help was shown instead
        first = (str(error).splitlines() or [""])[0]
        return _fail(f"internal error: {type(error).__name__}: {first} (GAMMONFARM_DEBUG=1 shows where)", 3)


def _usage(error: Any, words: Sequence[str]) -> str:
    """One line for a usage error, with the value that was given, which Typer leaves out."""
    text = " ".join(error.format_message().split()).replace("Value error, ", "")
    for option in getattr(getattr(error, "param", None), "opts", ()):
        for word, following in zip(words, [*words[1:], ""], strict=True):
            value = following if word == option else word.removeprefix(f"{option}=")
            if value and word.startswith(option) and value != word and repr(value) not in text:
                return f"{text} (given: {value!r})"
    return text


def _fail(message: str, code: int) -> int:
    if os.environ.get("GAMMONFARM_DEBUG") and sys.exc_info()[0] is not None:
        traceback.print_exc()
    print(f"gammonfarm: {message}", file=sys.stderr)
    return code


def entry_point() -> None:
    """The console script."""
    sys.exit(main())


if __name__ == "__main__":
    entry_point()
