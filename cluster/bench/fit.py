"""How fast a net is fitted on one core: inputs, forward, backward and Adam, as training does it."""

from __future__ import annotations

from cluster.bench.engine import RULES, SEED
from cluster.bench.measure import Effort, Figure, cpu_seconds, passes_for, repeat
from engine.evaluator import Nets
from engine.weights import NetKind
from training.devices import Device, make_fitter
from training.inputs import inputs_of, new_module
from training.selfplay import play_round

BATCH = 1024
_GAMES = 400
_RUN_SECONDS = 2.0


def measure_fit(nets: Nets, effort: Effort) -> Figure:
    """Samples a second that go through a net as wide as the main net: self-play positions in batches of 1,024."""
    samples = play_round(nets, RULES, SEED, 0, _GAMES, td_lambda=0.7)
    batches = len(samples.boards) // BATCH
    fitter = make_fitter(new_module(NetKind.MAIN, nets.main.width, SEED), NetKind.MAIN, Device.CPU, threads=1)

    def one_pass() -> int:
        for k in range(batches):
            part = slice(k * BATCH, (k + 1) * BATCH)
            fitter.step(inputs_of(samples.boards[part]), samples.targets[part], 1e-3)
        return batches * BATCH

    one_pass()  # compiles where that is needed
    passes = passes_for(cpu_seconds(one_pass), _RUN_SECONDS)

    def run() -> float:
        return passes * batches * BATCH / cpu_seconds(lambda: [one_pass() for _ in range(passes)])

    return repeat(run, effort)
