"""The registry of nets on MLflow: versions, aliases, files, scores and the evidence of promotions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from nets import random_net

from engine.errors import InfrastructureError, InputError
from engine.weights import Net, make_net, save_net, shipped_net
from training.registry import NetRegistry, NetScore, Promotion, promotion_now
from training.tracking import check_tracking


@pytest.fixture
def uri(tracking_uri: str, tmp_path: Path) -> str:
    """An MLflow database of its own: a copy, because making one takes seconds."""
    check_tracking(tracking_uri)
    copy = tmp_path / "mlflow.db"
    shutil.copy(tracking_uri.removeprefix("sqlite:///"), copy)
    return f"sqlite:///{copy}"


@pytest.fixture
def registry(uri: str, tmp_path: Path) -> NetRegistry:
    return NetRegistry(uri, tmp_path / "home")


def trained(seed: int, **header: str) -> Net:
    return make_net(random_net(seed).arrays, {"recipe": "toy", "games": "30", "rules": "international"} | header)


def test_an_empty_registry_begins_with_the_shipped_net_as_champion(registry: NetRegistry, uri: str) -> None:
    (first,) = registry.nets()
    assert (first.name, first.version, first.aliases) == ("main", 1, ("champion",))
    assert first.digest == shipped_net().digest
    assert first.description["recipe"] == shipped_net().description["recipe"]
    assert registry.champion() == first
    assert NetRegistry(uri, Path("nowhere")).nets() == [first], "opened again, nothing is added"


def test_nets_get_rising_versions_and_come_back_bit_by_bit(registry: NetRegistry, uri: str, tmp_path: Path) -> None:
    one, two = trained(1), trained(2, recipe="other")
    assert [registry.register(net).version for net in (one, two)] == [2, 3]
    elsewhere = NetRegistry(uri, tmp_path / "another machine")
    for net in (one, two):
        loaded = elsewhere.load(elsewhere.find(net.digest))
        assert loaded.digest == net.digest
        assert dict(loaded.description) == dict(net.description)
    assert [entry.description["recipe"] for entry in registry.nets()][1:] == ["toy", "other"]


def test_a_net_that_is_there_already_keeps_its_version(registry: NetRegistry) -> None:
    first = registry.register(trained(1))
    assert registry.register(trained(1)) == first
    assert len(registry.nets()) == 2
    assert registry.register(trained(1), "sideline").version == 1, "another line counts for itself"


def test_nets_are_found_by_version_alias_and_digest(registry: NetRegistry) -> None:
    net = registry.register(trained(1))
    for text in ("main@2", net.digest, net.digest[:6], net.digest[:8].upper()):
        assert registry.find(text) == net
    assert registry.find("main@champion").version == 1


@pytest.mark.parametrize("text", ["main@7", "main@nobody", "other@1", "000000", "@", "x'y@1"])
def test_names_of_nothing_are_refused(registry: NetRegistry, text: str) -> None:
    with pytest.raises(InputError):
        registry.find(text)


def test_a_new_champion_takes_over_with_its_evidence(registry: NetRegistry) -> None:
    old = registry.champion()
    assert old is not None
    net = registry.register(trained(1))
    evidence = Promotion(12.5, old.digest, 0.02, 0.01, 0.03, 5000, -0.4, None)
    promoted = registry.set_champion(net, evidence)
    assert promoted.aliases == ("champion",)
    assert promoted.promotions == (evidence,)
    assert registry.champion() == promoted
    assert registry.find("main@1").aliases == ()
    # Back and forth again: the history grows.
    registry.set_champion(old)
    forced = promotion_now(
        replaced=old.digest, points=None, low=None, high=None, games=0, benchmark_difference=None, forced="a test"
    )
    assert registry.set_champion(promoted, forced).promotions == (evidence, forced)


def test_lines_of_nets_have_champions_of_their_own(registry: NetRegistry) -> None:
    net = registry.register(trained(1), "sideline")
    assert registry.champion("sideline") is None
    registry.set_champion(net)
    assert [n.digest for n in (registry.champion(), registry.champion("sideline")) if n] == [
        shipped_net().digest,
        net.digest,
    ]


def test_a_score_replaces_the_older_one_on_the_same_file_and_level(registry: NetRegistry) -> None:
    net = registry.register(trained(1))
    scores = [
        NetScore("some file.jsonl", 1, 9.0, 8.0, 10.0, 100),
        NetScore("some file.jsonl", 2, 7.0, 6.0, 8.0, 100),
        NetScore("some file.jsonl", 1, 8.5, 8.0, 9.0, 200),
    ]
    for score in scores:
        registry.add_score(net, score)
    assert registry.find("main@2").scores == (scores[2], scores[1])


def test_a_damaged_file_is_fetched_anew(registry: NetRegistry, tmp_path: Path) -> None:
    net = registry.register(trained(1))
    path = tmp_path / "home" / "nets" / f"{net.digest}.safetensors"
    path.write_bytes(b"damaged")
    assert registry.load(net).digest == net.digest
    save_net(trained(2), path)  # a good file under the name of another
    assert registry.load(net).digest == net.digest


def test_a_database_that_cannot_be_opened_is_infrastructure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(InfrastructureError, match="registry"):
        NetRegistry(f"sqlite:///{tmp_path}/file/mlflow.db", tmp_path)
