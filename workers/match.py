"""The worker that plays pairs of games between two nets, or a net and GNU Backgammon."""

from __future__ import annotations

from engine.bearoff import open_databases
from engine.errors import InternalError
from engine.evaluator import Evaluator, Nets
from engine.versus import GamePlayer, NetPlayer, PairRows, VersusSettings, play_pairs
from workers.gnubg import GnubgPlayer
from workers.gnubg_program import find_gnubg
from workers.nets import nets_of, weights_of
from workers.spec import Weights, WorkerSpec
from workers.tasks import MatchTask


class MatchWorker:
    """Loads its nets once and answers `MatchTask`s; the processes of GNU Backgammon live as long as the worker."""

    def __init__(self, a: Nets, b: Nets | None) -> None:
        self._nets = (a, b)
        self._evaluators: dict[tuple[int, bool], Evaluator] = {}
        self._gnubg: dict[int, GnubgPlayer] = {}

    def run(self, task: MatchTask) -> PairRows:
        """The rows of one task. Luck is judged by A's nets."""
        judge = self._evaluator(0, task.settings)
        a = NetPlayer(judge, task.settings.rules, task.level_a)
        return play_pairs(a, self._opponent(task), judge, task.settings, task.first, task.count)

    def _opponent(self, task: MatchTask) -> GamePlayer:
        if task.opponent is None:
            return NetPlayer(self._evaluator(1, task.settings), task.settings.rules, task.level_b)
        if task.level_b not in self._gnubg:
            self._gnubg[task.level_b] = GnubgPlayer(find_gnubg(), task.level_b, task.opponent.version)
        return self._gnubg[task.level_b]

    def _evaluator(self, side: int, settings: VersusSettings) -> Evaluator:
        key = (side, settings.uses_bearoff)
        if key not in self._evaluators:
            nets = self._nets[side]
            if nets is None:
                raise InternalError("a task against nets came to a worker without them")
            # Opened here, not sent: all workers of a machine share the pages of one file.
            self._evaluators[key] = Evaluator(nets, open_databases().arrays) if key[1] else Evaluator(nets)
        return self._evaluators[key]


def build_match_worker(weights: Weights) -> MatchWorker:
    """A worker from the arrays of its nets, named `a.main.*`, `a.filter.*`, `b.main.*`, `b.filter.*`."""
    sides = {side: _side(weights, side) for side in "ab"}
    return MatchWorker(nets_of(sides["a"]), nets_of(sides["b"]) if sides["b"] else None)


def match_workers(a: Nets, b: Nets | None) -> WorkerSpec[MatchTask, PairRows]:
    """How an executor makes workers for a match; `b` is None against GNU Backgammon."""
    sides = {"a": a} if b is None else {"a": a, "b": b}
    weights = {f"{side}.{name}": array for side, nets in sides.items() for name, array in weights_of(nets).items()}
    return WorkerSpec(build_match_worker, weights, " ".join(nets.digest for nets in sides.values()))


def _side(weights: Weights, side: str) -> Weights:
    prefix = f"{side}."
    return {name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)}
