"""Fitting: the compiled loops find Torch's gradients, threads and devices don't matter, and the networks learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from nets import random_net

from engine.errors import InputError
from engine.evaluator import Nets
from engine.kernels.facts import CLASSES, TABLES
from engine.kernels.filter import FILTER_TABLES
from engine.network import TABLE_OF
from engine.rules import INTERNATIONAL
from engine.weights import NetKind, make_net, quantise, quantise_filter, sum_bounds
from training.devices import Device, make_fitter
from training.fitter import CpuFitter, Fitter
from training.inputs import Inputs, Module, forward_inputs, inputs_of, new_module
from training.limits import GRIDS, LARGEST_SUM, keep_in_range
from training.selfplay import play_round
from training.torch_fitter import TorchFitter

KINDS = [NetKind.MAIN, NetKind.FILTER]
CPU = torch.device("cpu")


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Sums in Torch in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


SAMPLES = play_round(Nets(random_net(3)), INTERNATIONAL, 2, 0, 30, 0.5)


def middle_game(rng: np.random.Generator) -> np.ndarray:
    """Both sides on their points 1 to 14: contact, but nobody in the other's home, which random play rarely leaves."""
    counts = np.zeros(26, dtype=np.int8)
    for side in (1, -1):
        placed = 0
        while placed < 15:
            point = int(rng.integers(1, 15))
            place = point if side > 0 else 25 - point
            if side * counts[place] >= 0:
                counts[place] += side
                placed += 1
    return counts


def some_positions() -> tuple[np.ndarray, np.ndarray]:
    """Boards int8[1500, 26] of every class with targets float32[1500, 5], in a random order."""
    rng = np.random.default_rng(7)
    boards = np.concatenate([SAMPLES.boards[:1300], [middle_game(rng) for _ in range(200)]])
    targets = np.concatenate([SAMPLES.targets[:1300], rng.random((200, 5), dtype=np.float32)])
    order = rng.permutation(1500)
    return boards[order], targets[order]


BOARDS, TARGETS = some_positions()
KINDS_OF_POSITIONS = {NetKind.MAIN: CLASSES, NetKind.FILTER: FILTER_TABLES}


def spread_module(kind: NetKind, seed: int = 1) -> Module:
    """A module whose weights are large enough that units of every layer are off, on and clipped."""
    module = new_module(kind, 64, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.15 * torch.randn(parameter.shape, generator=generator)
        module.keep_empty_rows_zero()
    return module


def loss_of(module: Module, inputs: Inputs, targets: np.ndarray) -> torch.Tensor:
    """Mean over samples of the five binary cross-entropies, summed, by Torch."""
    logits = module(*forward_inputs(inputs, CPU))
    losses = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(targets), reduction="none")
    return losses.sum(dim=1).mean()


def gradients_of(fitter: Fitter, inputs: Inputs, targets: np.ndarray) -> dict[str, torch.Tensor]:
    """Adam's first moment after its first step is a tenth of the gradient; with rate 0 no weight changes."""
    fitter.step(inputs, targets, 0.0)
    return {name.removesuffix(".mean"): 10 * t for name, t in fitter.state().items() if name.endswith(".mean")}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_the_compiled_gradient_of_every_parameter_equals_torch_s(kind: NetKind) -> None:
    module = spread_module(kind)
    inputs = inputs_of(BOARDS, kind)
    assert set(inputs.classes.tolist()) == set(range(KINDS_OF_POSITIONS[kind]))
    loss = loss_of(module, inputs, TARGETS)
    loss.backward()  # type: ignore[no-untyped-call]
    wanted = {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}
    wanted["table"].view(len(wanted["bias"]), -1, 64)[:, 0] = 0.0  # the empty rows stay zero
    found = gradients_of(CpuFitter(module, kind), inputs, TARGETS)
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        assert gradient.abs().max() > 1e-3
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6, msg=name)
    assert CpuFitter(module, kind).step(inputs, TARGETS, 0.0) == pytest.approx(float(loss.detach()), rel=1e-5)


def on_device(module: Module) -> Fitter:
    """Torch's fitter."""
    return TorchFitter(module, [CPU])


def compiled(module: Module) -> Fitter:
    """The compiled loops."""
    return CpuFitter(module, NetKind.MAIN)


MAKERS = pytest.mark.parametrize("maker", [compiled, on_device])


@MAKERS
def test_a_step_with_rounded_weights_has_the_gradient_of_the_rounded_net(maker: Callable[[Module], Fitter]) -> None:
    module, rounded = spread_module(NetKind.MAIN), spread_module(NetKind.MAIN)
    with torch.no_grad():
        for name, parameter in rounded.named_parameters():
            parameter.copy_((parameter * GRIDS[name]).round() / GRIDS[name])
    inputs = inputs_of(BOARDS)
    plain = gradients_of(maker(rounded), inputs, TARGETS)
    exact = gradients_of(maker(spread_module(NetKind.MAIN)), inputs, TARGETS)
    fitter = maker(module)
    fitter.round_to_grid(True)
    found = gradients_of(fitter, inputs, TARGETS)
    for name, gradient in plain.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6, msg=name)
    assert float((exact["bias"] - plain["bias"]).abs().max()) > 1e-5


def test_rounding_follows_the_weights_and_does_not_stop_small_steps() -> None:
    module = spread_module(NetKind.MAIN)
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    fitter = CpuFitter(module, NetKind.MAIN)
    fitter.round_to_grid(True)
    inputs = inputs_of(BOARDS)
    losses = [fitter.step(inputs, TARGETS, 1e-4) for _ in range(40)]
    moved = (fitter.weights()["second"] - before["second"]).abs()
    assert float(moved.max()) < 40 * 1.3e-4
    assert float(((fitter.weights()["second"] * GRIDS["second"]) % 1.0).std()) > 0.1  # not on the grid themselves
    assert losses[-1] < losses[0] - 0.01  # though each step is smaller than the grid


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_threads_do_not_change_the_bits(kind: NetKind) -> None:
    found = []
    for threads in (1, 2, 5):
        module = spread_module(kind)
        fitter = make_fitter(module, kind, Device.CPU, threads)
        inputs = inputs_of(BOARDS, kind)
        losses = [fitter.step(inputs.part(slice(k, k + 700)), TARGETS[k : k + 700], 1e-3) for k in (0, 400, 800)]
        few, many = (np.flatnonzero(inputs.classes == c) for c in np.argsort(np.bincount(inputs.classes))[-2:])
        for n in range(1, 16):  # matrices of few rows are multiplied in ways of their own
            chosen = np.concatenate([few[:n], many[: 40 - n]])
            losses.append(fitter.step(inputs.part(chosen), TARGETS[chosen], 1e-3))
        found.append((losses, {name: t.numpy().tobytes() for name, t in fitter.weights().items()}))
        fitter.close()
    assert found[0] == found[1] == found[2]


def test_torch_on_several_devices_takes_the_same_steps_as_on_one() -> None:
    one, two = (TorchFitter(spread_module(NetKind.MAIN), [CPU] * n) for n in (1, 2))
    inputs = inputs_of(BOARDS)
    for fitter in (one, two):
        for _ in range(3):
            fitter.step(inputs, TARGETS, 1e-3)
    for name, weight in one.weights().items():
        torch.testing.assert_close(two.weights()[name], weight, rtol=0, atol=2e-4, msg=name)


def test_torch_and_the_compiled_loops_take_the_same_first_step() -> None:
    fitters = CpuFitter(spread_module(NetKind.MAIN), NetKind.MAIN), TorchFitter(spread_module(NetKind.MAIN), [CPU])
    inputs = inputs_of(BOARDS)
    losses = [fitter.step(inputs, TARGETS, 1e-3) for fitter in fitters]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    fused, plain = (fitter.weights() for fitter in fitters)
    for name, weight in plain.items():
        # A gradient of nearly nothing has a sign that rounding decides: such weights differ by two steps at most.
        difference = (fused[name] - weight).abs()
        assert float(difference.max()) < 2.1e-3
        assert float((difference < 1e-5).float().mean()) > 0.99


@MAKERS
def test_a_fitter_goes_on_from_its_saved_state(maker: Callable[[Module], Fitter]) -> None:
    inputs = inputs_of(BOARDS[:300])
    whole = maker(spread_module(NetKind.MAIN))
    for _ in range(4):
        whole.step(inputs, TARGETS[:300], 1e-3)
    early = maker(spread_module(NetKind.MAIN))
    for _ in range(2):
        early.step(inputs, TARGETS[:300], 1e-3)
    late = maker(spread_module(NetKind.MAIN, seed=2))
    late.changed({name: t.clone() for name, t in early.weights().items()})
    late.restore(early.state())
    for _ in range(2):
        late.step(inputs, TARGETS[:300], 1e-3)
    for name, weight in whole.weights().items():
        assert late.weights()[name].numpy().tobytes() == weight.numpy().tobytes(), name


def test_rows_that_no_sample_uses_are_left_alone() -> None:
    module = spread_module(NetKind.MAIN)
    before = module.table.detach().clone()
    fitter = CpuFitter(module, NetKind.MAIN)
    inputs = inputs_of(BOARDS[:1])
    for _ in range(3):
        fitter.step(inputs, TARGETS[:1], 1e-2)
    changed = (fitter.weights()["table"] != before).any(dim=1)
    period = len(before) // TABLES
    used = {int(TABLE_OF[inputs.classes[0]]) * period + int(row) for row in inputs.rows[0] if row}
    assert set(torch.nonzero(changed).flatten().tolist()) <= used
    assert int(changed.sum()) > len(used) / 2


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_the_network_learns_64_positions_by_heart(kind: NetKind) -> None:
    module = new_module(kind, 32, 2)
    fitter = CpuFitter(module, kind)
    targets = np.random.default_rng(1).random((64, 5), dtype=np.float32)
    inputs = inputs_of(BOARDS[:64], kind)
    errors = []
    for _ in range(400):
        with torch.no_grad():
            said = torch.sigmoid(module(*forward_inputs(inputs, CPU)))
        errors.append(float((said - torch.from_numpy(targets)).abs().mean()))
        fitter.step(inputs, targets, 0.01)
    assert errors[0] > 0.2
    assert errors[-1] < 0.03


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_weights_are_kept_within_what_the_integer_twin_holds_and_mean_the_same(kind: NetKind) -> None:
    module = spread_module(kind)
    weights = {name: p.detach() for name, p in module.named_parameters()}
    weights["table"] *= 5.0
    weights["bias"] -= 20.0  # so that the sums of real positions stay below the clip, where scaling changes nothing
    average = {name: t.clone() for name, t in weights.items()}
    with torch.no_grad():
        keep_in_range(weights, average)
    net = make_net({name: t.numpy() for name, t in weights.items()}, kind=kind)
    (quantise if kind is NetKind.MAIN else quantise_filter)(net)  # refuses what doesn't fit
    tables = net.arrays["table"].reshape(len(net.arrays["bias"]), -1, 64)
    bounds = [sum_bounds(tables[t], net.arrays["bias"][t], LARGEST_SUM).max() for t in range(len(tables))]
    assert LARGEST_SUM * 0.9 < max(bounds) <= LARGEST_SUM * 1.0001
    assert not tables[:, 0].any()
    assert float(average["bias"].abs().max()) < 20.5  # the companions shrank by the same factors


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="device"):
        make_fitter(new_module(NetKind.MAIN, 32, 1), NetKind.MAIN, Device.CUDA, 1)
    assert isinstance(make_fitter(new_module(NetKind.MAIN, 32, 1), NetKind.MAIN, Device.AUTO, 1), CpuFitter)
