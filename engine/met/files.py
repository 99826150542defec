"""Finding and reading match equity tables: our own TOML, GNU Backgammon's XML, eXtreme Gammon's .met.

Files are data: nothing in them is executed or fetched.
"""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

from engine.config_files import config_names
from engine.errors import InputError
from engine.match import MatchState
from engine.met.cubeless import GameChances, cubeless_table
from engine.met.table import MatchEquityTable, make_table
from engine.rules import TAVLA, rule_set

DEFAULT_MET = "kazaross-xg2"
_MAX_BYTES = 1_000_000
_FIELD = "match equity table"


def known_mets() -> list[str]:
    """Names of the tables that come with gammonfarm."""
    return config_names("met")


def load_met(name_or_path: str = DEFAULT_MET) -> MatchEquityTable:
    """A shipped table by name (`known_mets`), or one from a file, whose suffix says what it is.

    Args:
        name_or_path: a name, or a path that ends in `.toml` (ours), `.xml` (GNU Backgammon) or `.met` (eXtreme Gammon).

    Raises:
        InputError: unknown name, unreadable file, or a table that cannot be (see `make_table`).
    """
    reader = _READERS.get(Path(name_or_path).suffix.lower())
    if reader is None:
        return _shipped(name_or_path.lower())
    path = Path(name_or_path)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(_FIELD, name_or_path, f"a file of at most {_MAX_BYTES} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(_FIELD, name_or_path, f"a readable file ({error.strerror})") from error
    return reader(name_or_path, content)


def usual_met(match: MatchState) -> str:
    """The name of the shipped table that a match is played with when nothing is said: `tavla` under those rules,
    `cubeless` where the cube is left out (cap 1), else `DEFAULT_MET`.
    """
    if match.rules.name.split("+")[0] == TAVLA.name:
        return "tavla"
    return "cubeless" if match.cube_cap == 1 or not match.rules.cube else DEFAULT_MET


def met_for(match: MatchState, name_or_path: str | None) -> MatchEquityTable | None:
    """The table that a match is played with: this one, or the usual one; None in money play.

    Raises:
        InputError: as `load_met`.
    """
    return None if match.is_money else load_met(name_or_path or usual_met(match))


@cache
def _shipped(name: str) -> MatchEquityTable:
    if name not in known_mets():
        known = ", ".join(known_mets())
        raise InputError(_FIELD, name, f"one of {known}, or a file .toml, .xml (GNU Backgammon) or .met (XG)")
    return _read_toml(name, (resources.files("configs") / "met" / f"{name}.toml").read_bytes())


def _read_toml(path: str, content: bytes) -> MatchEquityTable:
    """Our own format, see docs/match.md: with a cube `pre_crawford` and `post_crawford`, without one `game`."""
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(_FIELD, path, f"a TOML file ({error})") from error
    known = _ALWAYS | (_CUBELESS if "game" in data else _CUBEFUL)
    unknown = sorted(set(data) - known)
    if unknown:
        raise InputError(_FIELD, path, f"no field {unknown[0]!r}")
    try:
        name, source, rules = str(data["name"]), str(data["source"]), rule_set(data.get("rules", "international"))
        if "game" in data:
            win, lose = (tuple(float(chance) for chance in data["game"][side]) for side in ("win", "lose"))
            chances = GameChances((win[0], win[1], win[2]), (lose[0], lose[1], lose[2]))
            return cubeless_table(name, source, chances, rules, int(data["length"]))
        triangle = [[float(chance) for chance in row] for row in data["pre_crawford"]]
        post = [float(chance) for chance in data["post_crawford"]]
    except KeyError as error:
        raise InputError(_FIELD, path, f"the field {error.args[0]}") from error
    except InputError:
        raise
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(_FIELD, path, f"fields of the right kind ({error})") from error
    return make_table(name, source, _square(path, triangle), post, rules.name)


_ALWAYS = {"name", "source", "rules"}
_CUBEFUL = {"pre_crawford", "post_crawford"}
_CUBELESS = {"game", "length", "made_with"}


def _square(path: str, triangle: list[list[float]]) -> list[list[float]]:
    """The whole table from the chances of the side that leads."""
    n = len(triangle) + 1
    square = [[0.5] * n for _ in range(n)]
    for a, row in enumerate(triangle):
        if len(row) != n - 1 - a:
            raise InputError(_FIELD, path, f"{n - 1 - a} chances in row {a + 1}, not {len(row)}")
        for b, chance in enumerate(row, a + 1):
            square[a][b], square[b][a] = chance, 1.0 - chance
    return square


def _read_gnu_xml(path: str, content: bytes) -> MatchEquityTable:
    """`<met>` with explicit tables. Tables that GNU Backgammon computes from parameters, and those for two unequal
    players, are refused.
    """
    if b"<!ENTITY" in content:
        raise InputError(_FIELD, path, "XML without entities of its own")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise InputError(_FIELD, path, f"an XML file ({error})") from error
    pre, posts = root.find("pre-crawford-table"), root.findall("post-crawford-table")
    if root.tag != "met" or pre is None or not posts:
        raise InputError(_FIELD, path, "a <met> with a pre- and a post-Crawford table")
    if any(table.get("type") != "explicit" for table in (pre, *posts)):
        raise InputError(_FIELD, path, "explicit tables, not parameters of a formula")
    if len(posts) != 1:
        raise InputError(_FIELD, path, "one post-Crawford table for both players")
    rows = [[_number(path, cell.text) for cell in row.findall("me")] for row in pre.findall("row")]
    post = [_number(path, cell.text) for cell in posts[0].findall("row/me")]
    name = (root.findtext("info/name") or path).strip()
    return make_table(name, (root.findtext("info/description") or path).strip(), rows, post)


def _read_xg(path: str, content: bytes) -> MatchEquityTable:
    """eXtreme Gammon's `.met`: an INI file in CP1252 with rows `1=` to `N=` in `[PreCrawford]`."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        # Indented lines would be taken as more of the line before.
        lines = (line.strip() for line in content.decode("cp1252", errors="replace").splitlines())
        parser.read_string("\n".join(lines), source=path)
        current, pre = parser["Current"], parser["PreCrawford"]
        rows = [_numbers(path, pre[str(number)]) for number in range(1, int(pre["Size"]) + 1)]
        post = _numbers(path, parser["PostCrawford"]["Data"])
    except (configparser.Error, KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())
        raise InputError(_FIELD, path, f"sections Current, PreCrawford and PostCrawford ({reason})") from error
    name = current.get("Name", path).strip()
    return make_table(name, current.get("Description", path).strip(), rows, post)


def _numbers(path: str, text: str) -> list[float]:
    return [_number(path, word) for word in text.split()]


def _number(path: str, text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError as error:
        raise InputError(_FIELD, path, f"a number, not {text!r}") from error


_READERS: Mapping[str, Callable[[str, bytes], MatchEquityTable]] = {
    ".toml": _read_toml,
    ".xml": _read_gnu_xml,
    ".met": _read_xg,
}
