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

import click
import typer

from cluster.cli import data, rollout, train
from engine.errors import GammonfarmError

app = typer.Typer(
    name="gammonfarm",
    help="Exact backgammon rollouts and training, on one machine or many.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("rollout")(rollout.rollout)
app.command("evaluate")(data.evaluate)
app.command("perft")(data.perft)
app.command("convert")(data.convert)
app.command("benchmark")(train.benchmark)
app.command("train")(train.train)
app.command("doctor")(data.doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    logging.basicConfig(level=logging.WARNING, format="gammonfarm: %(message)s", stream=sys.stderr)
    try:
        result = app(args=arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except GammonfarmError as error:
        return _fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.ClickException as error:
        return _fail(" ".join(error.format_message().split()), 2)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted; finished blocks are kept, the same command goes on from them", 130)
    except BrokenPipeError:
        # The reader of our output has gone (a pager, head): nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        return _fail(f"internal error: {type(error).__name__}: {first} (GAMMONFARM_DEBUG=1 shows where)", 3)


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
