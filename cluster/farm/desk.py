"""What is needed to understand questions: nets, databases, and the rule that clients name things and never files."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from engine.bearoff import Bearoff, open_databases
from engine.config_files import config_names
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets

_NET = re.compile(r"shipped|champion|[A-Za-z0-9_.-]{1,60}@[A-Za-z0-9_.-]{1,60}|[0-9a-f]{6,16}")
_MOVES = re.compile(r"^champion$|@(?![0-9]+$)")
_MOVES_SECONDS = 10.0
"""A name that can come to mean another net (champion, an alias) is looked up again after so long."""
_KEPT = 4


class Desk:
    """Nets and databases by name, loaded when first asked for; safe to use from several threads.

    Args:
        nets: loads the net of a name; by default as the command line does.
        databases: opens the bear-off databases for so many checkers a side.
    """

    def __init__(
        self,
        nets: Callable[[str], Nets] | None = None,
        databases: Callable[[int], Bearoff] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = nets or _named_nets
        self._open = databases or (lambda checkers: open_databases(two_sided_checkers=checkers))
        self._clock = clock
        self._nets: OrderedDict[str, tuple[Nets, float]] = OrderedDict()
        self._evaluators: OrderedDict[tuple[str, int | None], Evaluator] = OrderedDict()
        # Taken in this order. Who only wants a net that is known waits neither for a search nor for the registry.
        self._quiet, self._loading, self._lock = threading.RLock(), threading.Lock(), threading.Lock()

    def digest(self, net: str) -> str:
        """The digest that a name means now: what is written down, so that an answer never changes with a name."""
        return self.nets(net).main.digest

    def nets(self, net: str) -> Nets:
        """A main net with its filter.

        Raises:
            InputError: no name of a net (a path, for one), or an unknown one.
        """
        if not _NET.fullmatch(net):
            raise InputError("net", net, "shipped, champion, NAME@ALIAS, NAME@VERSION or a digest")
        known = self._known(net)
        if known is not None:
            return known
        with self._loading:
            known = self._known(net)  # by now, perhaps
            if known is not None:
                return known
            found = self._load(net)
            with self._lock:
                self._nets[net] = found, self._clock() + _MOVES_SECONDS if _MOVES.search(net) else math.inf
                self._nets[found.main.digest] = found, math.inf
                while len(self._nets) > 2 * _KEPT:
                    self._nets.popitem(last=False)
        return found

    def _known(self, net: str) -> Nets | None:
        with self._lock:
            found, until = self._nets.get(net, (None, 0.0))
            if found is None or self._clock() >= until:
                return None
            self._nets.move_to_end(net)
            return found

    def databases(self, checkers: int) -> Bearoff:
        """The bear-off databases; built where they are missing."""
        return self._open(checkers)

    def evaluator(self, net: str, checkers: int | None) -> Evaluator:
        """A net with the databases (None: without). Only for use by one thread at a time: hold `quiet`."""
        nets = self.nets(net)  # once: a name can come to mean another net
        key = (nets.digest, checkers)
        with self._quiet:
            if key not in self._evaluators:
                found = Evaluator(nets) if checkers is None else Evaluator(nets, self.databases(checkers).arrays)
                self._evaluators[key] = found
            self._evaluators.move_to_end(key)
            while len(self._evaluators) > _KEPT:
                self._evaluators.popitem(last=False)
            return self._evaluators[key]

    @property
    def quiet(self) -> threading.RLock:
        """Held while an evaluator works."""
        return self._quiet


def shipped_name(field: str, value: str, folder: str) -> str:
    """A name of something that comes with gammonfarm.

    Raises:
        InputError: anything else; a client must not make the farm read files.
    """
    names = config_names(folder)
    if value not in names:
        raise InputError(field, value, f"one of {', '.join(names)}")
    return value


def check_cube_names(met: str | None, efficiency: str) -> str | None:
    """Check the names of a match equity table and of an efficiency of the cube; the table's name as it is shipped.

    Raises:
        InputError: as `shipped_name`.
    """
    table = None if met is None else shipped_name("met", met.lower(), "met")
    shipped_name("efficiency", efficiency, "cube")
    return table


def _named_nets(name: str) -> Nets:
    from cluster.nets import resolve_net, with_filter

    return with_filter(resolve_net(name))
