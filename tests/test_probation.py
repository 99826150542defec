"""Machines whose workers fail, and the gammonfarm that is installed on them."""

from __future__ import annotations

from pathlib import Path

from cluster.probation import FIRST_PAUSE, LONGEST_PAUSE, Probation
from workers.sources import sources_digest


def test_a_machine_is_left_alone_for_twice_as_long_each_time() -> None:
    probation, now = Probation(), 100.0
    assert not probation.is_out("m", now)
    for pause in (FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE):
        probation.failed("m", "wrong answer", now)
        assert probation.is_out("m", now + pause - 1)
        assert probation.out(now + pause - 1) == {"m": "wrong answer"}
        now += pause
        assert not probation.is_out("m", now)
        assert probation.out(now) == {}
    assert not probation.is_out("another", now)


def test_all_workers_of_a_machine_that_fail_together_are_one_failure() -> None:
    probation = Probation()
    for number in range(64):
        probation.failed("m", "another gammonfarm", 100.0 + 0.01 * number)
    assert not probation.is_out("m", 100.0 + FIRST_PAUSE)
    probation.failed("m", "another gammonfarm", 200.0)
    assert probation.is_out("m", 200.0 + 2 * FIRST_PAUSE - 1)


def test_a_machine_that_fails_for_years_is_still_only_left_alone() -> None:
    probation, now = Probation(), 0.0
    for _ in range(2000):
        probation.failed("m", "", now)
        now += LONGEST_PAUSE
    assert not probation.is_out("m", now)


def test_the_pause_has_a_limit_and_good_behaviour_is_rewarded() -> None:
    probation, now = Probation(), 0.0
    for _ in range(50):
        probation.failed("m", "", now)
        now += LONGEST_PAUSE
        assert not probation.is_out("m", now)
    now += LONGEST_PAUSE + 1
    probation.failed("m", "", now)
    assert not probation.is_out("m", now + FIRST_PAUSE)


def test_a_machine_that_left_comes_back_without_a_past() -> None:
    probation = Probation()
    probation.failed("m", "", 0.0)
    probation.forget("m")
    assert not probation.is_out("m", 1.0)


def test_the_digest_of_the_sources_changes_with_any_of_them(tmp_path: Path) -> None:
    for part in ("engine", "workers", "configs"):
        (tmp_path / part).mkdir()
    source, setting = tmp_path / "engine" / "a.py", tmp_path / "configs" / "b.toml"
    source.write_text("one = 1\n")
    setting.write_text("two = 2\n")

    def digest() -> str:
        sources_digest.cache_clear()
        return sources_digest(tmp_path)

    first = digest()
    (tmp_path / "engine" / "a.pyc").write_bytes(b"compiled")
    assert digest() == first
    setting.write_text("two = 3\n")
    second = digest()
    source.rename(tmp_path / "workers" / "a.py")
    assert len({first, second, digest()}) == 3
    sources_digest.cache_clear()
