"""GNU Backgammon's own rollout of a cube decision, where it is installed.

Its Python module can't roll out, and its command `rollout` keeps no answer of a cube decision. `analyse rollout cube`
does: the position's text export then has both branches with their standard errors.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine.errors import InfrastructureError
from engine.tally import Estimate
from workers.gnubg_program import FULL_ROLLOUTS, QUIET, variables_at

_DEADLINE = 1200.0
_SETTINGS = (
    *QUIET,
    "set beavers 0",
    "set output digits 6",
    "new session",
    *FULL_ROLLOUTS,
    "set rollout cubeful on",
    "set rollout cubedecision plies 0",
)
_BRANCH = re.compile(
    r"(?:Centered|\S+ owns) \d+-cube:\s*\n[^\n]*CF\s+(?P<mean>[-+][\d.]+)\s*\n"  # who owns it; the chances and the mean
    r"\s*\[[^\n]*CF\s+(?P<se>[\d.]+)\]"  # their standard errors
)


@dataclass(frozen=True, slots=True)
class GnubgCubeRollout:
    """Equities in units of the cube before the double, in the view of the player on roll; plays and cubes by its
    0-ply, which is our 1-ply.
    """

    no_double: Estimate
    double_take: Estimate


def gnubg_cube_rollout(program: str, xgid: str, trials: int) -> GnubgCubeRollout:
    """Let GNU Backgammon roll out a cube decision for money; X is on roll in `xgid`.

    Raises:
        InfrastructureError: it can't be started, doesn't finish, or doesn't answer as expected.
    """
    with tempfile.TemporaryDirectory(prefix="gammonfarm-gnubg-") as folder:
        answer = Path(folder) / "answer.txt"
        commands = [
            *_SETTINGS,
            f"set rollout trials {trials}",
            f"set xgid {xgid}",
            "analyse rollout cube",
            f"export position text {answer}",
        ]
        try:
            subprocess.run(
                [program, "-t", "-q"],
                input="\n".join(commands) + "\n",
                capture_output=True,
                text=True,
                env=variables_at(folder),
                cwd=folder,
                timeout=_DEADLINE,
                check=False,
            )
            text = answer.read_text(encoding="utf-8", errors="replace")
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InfrastructureError(f"gnubg did not roll the cube decision out ({error})") from error
    return parse_export(text)


def parse_export(text: str) -> GnubgCubeRollout:
    """Both branches from the text of an exported position.

    Raises:
        InfrastructureError: they aren't there.
    """
    found = [Estimate(float(one["mean"]), float(one["se"])) for one in _BRANCH.finditer(text)]
    if len(found) != 2:
        raise InfrastructureError(f"gnubg exported {len(found)} branches of a cube decision, not 2")
    return GnubgCubeRollout(*found)
