from pathlib import Path

import platformdirs
import pytest
from pydantic import ValidationError

from cluster import keys
from cluster.settings import Settings, load_settings, without_password
from engine.errors import InputError
from engine.home import data_home


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "home"))


def test_with_nothing_configured_everything_is_embedded(tmp_path: Path) -> None:
    settings = load_settings()
    assert settings.redis_url is None
    assert settings.ray_address is None
    assert settings.home == tmp_path / "home"
    assert settings.tracking_uri == f"sqlite:///{tmp_path}/home/mlflow.db"


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_REDIS_URL", "")
    assert load_settings().redis_url is None


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        load_settings().redis_url = "redis://elsewhere:1/0"


@pytest.mark.parametrize("url", ["redis://farm:6379/0", "rediss://user:secret@farm:6380", "unix:///run/redis.sock"])
def test_a_redis_url_is_taken_as_it_is(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_REDIS_URL", url)
    assert load_settings().redis_url == url


@pytest.mark.parametrize(
    "url", ["farm:6379", "http://farm:6379", "redis://", "redis://farm:port", "unix://", "redis://[x"]
)
def test_a_bad_redis_url_is_refused_by_the_name_of_its_variable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_REDIS_URL", url)
    with pytest.raises(InputError, match="redis://host") as caught:
        load_settings()
    assert caught.value.field == "GAMMONFARM_REDIS_URL"
    assert caught.value.value == url


def test_a_refused_url_does_not_show_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_REDIS_URL", "http://user:secret@farm")
    with pytest.raises(InputError) as caught:
        load_settings()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "head.farm:6379"])
def test_a_ray_address_is_taken_as_it_is(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_RAY_ADDRESS", address)
    assert load_settings().ray_address == address


@pytest.mark.parametrize("address", ["head", "ray://head:10001", "head:port", "a b:1"])
def test_a_bad_ray_address_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_RAY_ADDRESS", address)
    with pytest.raises(InputError, match="GAMMONFARM_RAY_ADDRESS"):
        load_settings()


@pytest.mark.parametrize("word", ["off", "none", "OFF"])
def test_tracking_can_be_switched_off(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", word)
    settings = load_settings()
    assert not settings.tracking_enabled
    assert settings.tracking_uri is None


def test_a_bare_path_is_no_tracking_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "./mlruns")
    with pytest.raises(InputError, match="GAMMONFARM_MLFLOW_URI"):
        load_settings()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://farm:6379/0", "redis://farm:6379/0"),
        ("redis://user:secret@farm:6379/0", "redis://user:***@farm:6379/0"),
        ("redis://:secret@farm", "redis://:***@farm"),
        ("unix:///run/redis.sock?password=secret&db=1", "unix:///run/redis.sock?password=***&db=1"),
        ("redis://:secret@[x", "redis://***@[x"),
    ],
)
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_the_data_folder_is_made_for_its_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "a" / "b"))
    assert data_home() == tmp_path / "a" / "b"
    assert data_home().stat().st_mode & 0o777 == 0o700


def test_without_the_variable_the_data_folder_is_that_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GAMMONFARM_HOME")
    monkeypatch.setattr(platformdirs, "user_data_dir", lambda name, appauthor: str(tmp_path / name))
    assert data_home() == tmp_path / "gammonfarm"


def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match="GAMMONFARM_HOME"):
        load_settings()


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        Settings(home=tmp_path, redis="redis://farm")  # type: ignore[call-arg]


def test_every_key_is_versioned_and_named_once() -> None:
    patterns = [family.pattern for family in keys.TABLE]
    assert all(pattern.startswith("gammonfarm:1:") for pattern in patterns)
    assert len(set(patterns)) == len(patterns)
    assert keys.SERIES.key("ab12") == "gammonfarm:1:series:ab12"
