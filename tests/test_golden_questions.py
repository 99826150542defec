"""Questions with known answers."""

from __future__ import annotations

from workers.golden import GOLDEN, GoldenTask, golden_answers, golden_nets, golden_workers, is_right


def test_this_machine_gives_the_answers_that_are_written_down() -> None:
    # If it fails and RESULT_VERSION was not raised, a kernel answers differently: find out why, don't run make golden.
    assert golden_answers() == GOLDEN
    assert len(set(GOLDEN)) == len(GOLDEN)


def test_any_other_answer_is_wrong() -> None:
    spec = golden_workers()
    answer = spec.build(spec.weights).run(GoldenTask(0))
    assert is_right(GoldenTask(0), answer)
    assert not is_right(GoldenTask(1), answer)
    assert not is_right(GoldenTask(0), None)


def test_the_nets_behind_them_are_the_same_everywhere() -> None:
    assert golden_nets().digest == golden_nets().digest
    assert golden_nets().main.arrays["bias"].std() > 0
