"""An archive analysed by Ray workers has the bits of one that was analysed in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from archive_made import analysis_with, matches_of, small_policy, write_matches

from cluster.archive import evaluation
from cluster.archive.files import find_files
from cluster.archive.results import to_json
from cluster.ray_executor import RayExecutor
from engine.bearoff import Bearoff


def test_workers_change_no_bit(
    tmp_path: Path, ray_executor: RayExecutor, databases: Bearoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_matches(tmp_path, (3,))
    monkeypatch.setattr(evaluation, "ROLLS_A_TASK", 20)
    monkeypatch.setattr(evaluation, "NODES_A_TASK", {1: 20, 2: 20})
    here, there = (
        [
            to_json(match.analysis)
            for match in matches_of(list(analysis_with(small_policy(), executor=executor).run(find_files([tmp_path]))))
        ]
        for executor in (None, ray_executor)
    )
    assert here == there
    assert here
