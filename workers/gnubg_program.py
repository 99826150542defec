"""GNU Backgammon as a program: where it is, which version, and how it is started so that a run depends on nobody's
settings.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from engine.errors import InfrastructureError, InputError

_USUAL_PLACES = ("/usr/games", "/usr/local/bin", "/opt/homebrew/bin")
"""Looked at after PATH, which leaves out the games of some systems in services and containers."""

QUIET = (
    "set threads 1",
    "set automatic game off",
    "set automatic roll off",
    "set automatic move off",
    "set automatic bearoff off",
    "set display off",
    "set player 0 human",
    "set player 1 human",
    "set jacoby off",
)
"""Commands after which it does only what it is told, on one core; `new session` follows."""

FULL_ROLLOUTS = (
    "set rollout seed 1",
    "set rollout quasirandom on",
    "set rollout varredn on",
    "set rollout truncation enable off",
    "set rollout limit enable off",
    "set rollout jsd stop off",
    "set rollout chequerplay plies 0",
    "set rollout late enable off",
)
"""Commands for rollouts to the end of the game as ours at 1-ply, with all trials that are asked for."""


def find_gnubg() -> str:
    """The program.

    Raises:
        InputError: it isn't installed.
    """
    found = shutil.which("gnubg") or shutil.which("gnubg", path=os.pathsep.join(_USUAL_PLACES))
    if found is None:
        raise InputError("against", "gnubg", "GNU Backgammon to be installed (the program gnubg is not found)")
    return found


def gnubg_version(program: str) -> str:
    """Its version, such as `1.07.001`.

    Raises:
        InfrastructureError: it can't be asked.
    """
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"gnubg can't be started ({error})") from error
    words = (done.stdout.splitlines() or [""])[0].split()
    if words[:2] != ["GNU", "Backgammon"] or len(words) < 3:
        raise InfrastructureError(f"gnubg does not say its version: {' '.join(words)[:80]!r}")
    return words[2]


def variables_at(home: str) -> dict[str, str]:
    """The environment of a run with a home of its own: the user's settings must not change it, nor be changed."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": home, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
