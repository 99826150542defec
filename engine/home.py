"""Where gammonfarm keeps its data on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from engine.errors import InputError

HOME_VARIABLE = "GAMMONFARM_HOME"


def data_home() -> Path:
    """The absolute data folder: `GAMMONFARM_HOME`, else the platform's user data folder; made on demand, mode 0700.

    Raises `InputError` when it can't be created, is no folder, or can't be written.
    """
    given = os.environ.get(HOME_VARIABLE)
    home = Path(given).expanduser() if given else Path(platformdirs.user_data_dir("gammonfarm", appauthor=False))
    home = home.absolute()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(HOME_VARIABLE, home, f"a folder that can be created ({reason})") from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise InputError(HOME_VARIABLE, home, "a folder that can be read and written")
    return home
