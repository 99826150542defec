"""What operators configure: profiles, passwords in files, logs, and the files for clusters."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.farm.crew import names_of
from cluster.logs import start_logging
from cluster.profiles import Profile, ProfilePart, known_profiles, load_profile
from cluster.roster import Assignment
from cluster.settings import load_settings, without_password
from engine.errors import InputError

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", known_profiles())
def test_the_profiles_that_come_along_are_read_and_ask_for_ray_tokens(name: str) -> None:
    profile = load_profile(name)
    assert profile.environment["RAY_AUTH_MODE"] == "token"
    host = profile.options[ProfilePart.SERVE]["host"]
    assert host == "127.0.0.1" or "GAMMONFARM_TOKENS_FILE" in profile.environment


def test_names_in_profiles_are_below_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path))
    assert load_profile("lan").environment["GAMMONFARM_TOKENS_FILE"] == f"{tmp_path}/tokens"


def test_what_the_environment_says_wins_over_a_profile() -> None:
    environment = {"GAMMONFARM_MLFLOW_URI": "off"}
    Profile({"GAMMONFARM_MLFLOW_URI": "sqlite:///x", "RAY_AUTH_MODE": "token"}).apply(environment)
    assert environment == {"GAMMONFARM_MLFLOW_URI": "off", "RAY_AUTH_MODE": "token"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[environment]\nPATH = '/tmp'", "not PATH"),
        ("[environment]\nGAMMONFARM_HOME = 3", "not GAMMONFARM_HOME"),
        ("[environment]\nGAMMONFARM_TOKEN = 'gf_secret'", "no secret"),
        ("[environment]\nGAMMONFARM_REDIS_URL = 'redis://:hunter2@farm:6379'", "no secret"),
        ("[serve]\nport = '80'", "port"),
        ("[serve]\nworkers = true", "workers"),
        ("[worker]\nhost = '0.0.0.0'", "node_address"),
        ("[farm]\nx = 1", "not farm"),
        ("serve = 1", r"\[serve\] as a table"),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_profile(str(file))
    assert "hunter2" not in str(caught.value)
    assert "gf_secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("rediss://farm@host:6390/0", "rediss://farm:p%40ss%2F%20word@host:6390/0"),
        ("redis://host:6390/0", "redis://:p%40ss%2F%20word@host:6390/0"),
    ],
)
def test_the_password_of_redis_comes_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, expected: str
) -> None:
    file = tmp_path / "password"
    file.write_text("p@ss/ word\n")
    monkeypatch.setenv("GAMMONFARM_REDIS_URL", url)
    monkeypatch.setenv("GAMMONFARM_REDIS_PASSWORD_FILE", str(file))
    found = load_settings().redis_url
    assert found == expected
    assert "ss%2F" not in without_password(found)


def test_a_password_must_stand_in_one_place_that_can_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "password"
    monkeypatch.setenv("GAMMONFARM_REDIS_URL", "redis://:hunter2@host:6390/0")
    monkeypatch.setenv("GAMMONFARM_REDIS_PASSWORD_FILE", str(file))
    with pytest.raises(InputError, match="readable file"):
        load_settings()
    file.write_text("other")
    with pytest.raises(InputError, match="this file alone") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


def test_a_line_of_the_log_names_job_block_and_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:]
    monkeypatch.setenv("GAMMONFARM_LOG_LEVEL", "debug")
    file = tmp_path / "logs" / "farm.log"
    try:
        start_logging(file)
        log = logging.getLogger("cluster.test")
        log.debug("block done", extra=names_of(Assignment("j1", ("trials", 7), 1.0), "w1"))
        logging.getLogger("other").info("not ours")
    finally:
        logging.getLogger().handlers[:] = before
        logging.getLogger("cluster").setLevel(logging.NOTSET)
    (line,) = (json.loads(line) for line in file.read_text().splitlines())
    assert (line["level"], line["message"]) == ("debug", "block done")
    assert (line["job"], line["block"], line["worker"]) == ("j1", "('trials', 7)", "w1")
    monkeypatch.setenv("GAMMONFARM_LOG_LEVEL", "loud")
    with pytest.raises(InputError, match="GAMMONFARM_LOG_LEVEL"):
        start_logging()


def test_the_manifest_for_kubernetes_mounts_what_its_profile_names() -> None:
    documents: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "docs" / "kuberay.yaml").read_text()))
    services = {d["metadata"]["name"] for d in documents if d["kind"] == "Service"}
    (farm,) = (d for d in documents if d["kind"] == "Deployment" and d["metadata"]["name"] == "gammonfarm")
    container = farm["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["gammonfarm", "serve", "--profile", "kuberay"]
    environment = load_profile("kuberay").environment
    mount = container["volumeMounts"][0]["mountPath"]
    files = [v for k, v in environment.items() if k.endswith(("_FILE", "_PATH"))]
    assert files
    assert all(file.startswith(f"{mount}/") for file in files)
    assert environment["GAMMONFARM_REDIS_URL"] == "redis://gammonfarm-redis:6379/0"
    assert "gammonfarm-redis" in services
    (cluster,) = (d for d in documents if d["kind"] == "RayCluster")
    assert environment["GAMMONFARM_RAY_ADDRESS"] == f"{cluster['metadata']['name']}-head-svc:6379"
