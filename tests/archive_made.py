"""Small archives for tests: random matches as files, and analyses of them with small random nets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from nets import random_filter, random_net
from records_made import played_match

from cluster.archive.analysis import AnalysedMatch, ArchiveAnalysis
from cluster.archive.books import NO_BOOKS, BookLookup
from cluster.archive.files import Skipped, find_files
from cluster.archive.matches import Conditions
from cluster.archive.policy import Policy, load_policy
from cluster.executor import Executor, InlineExecutor
from cluster.filters import load_filter
from cluster.store import MemoryStore, Store
from engine.analysis.language import Language
from engine.evaluator import Nets
from engine.records.mat_writer import write_mat


@cache
def small_nets() -> Nets:
    """A random pair."""
    return Nets(random_net(3), random_filter(4))


def small_policy(level: int = 2) -> Policy:
    """Few plays looked at deeper, but everywhere, so that every path is taken."""
    normal = load_policy("normal")
    return replace(normal, name="small", level=level, move_filter=load_filter("tiny"), play_margin=1.0, cube_margin=1.0)


def write_matches(folder: Path, seeds: Sequence[int]) -> None:
    """Random matches as match texts, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (folder / f"m{seed}.mat").write_text(write_mat(played_match(seed)), encoding="utf-8")


def analysis_with(
    policy: Policy,
    store: Store | None = None,
    executor: Executor | None = None,
    nets: Nets | None = None,
    lookup: BookLookup = NO_BOOKS,
) -> ArchiveAnalysis:
    """An analysis that is ready to run."""
    chosen = executor or InlineExecutor()
    return ArchiveAnalysis(
        Conditions(nets or small_nets()),
        policy,
        Language.ENGLISH,
        store or MemoryStore(),
        lambda: chosen,
        lambda *_: None,
        lookup,
    )


def analysed(folder: Path, policy: Policy | None = None, store: Store | None = None) -> list[AnalysedMatch | Skipped]:
    """All files of a folder."""
    return list(analysis_with(policy or small_policy(), store).run(find_files([folder])))


def matches_of(found: Sequence[AnalysedMatch | Skipped]) -> list[AnalysedMatch]:
    """Those that were analysed."""
    return [one for one in found if isinstance(one, AnalysedMatch)]
