"""Whether the memory of an analysis grows with its archive: thousands of short matches, each another, with all reports.

    nice python -m scripts.archive_memory --matches 10000

One player is in all matches, his opponents are all different, so both ways of growing are there. The matches are made
first, then analysed with the policy `quick` in this process alone; resident memory is read as matches are finished.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from cluster.archive.books import BookLookup, Books
from cluster.archive.files import find_files
from cluster.archive.matches import Conditions
from cluster.archive.policy import load_policy
from cluster.archive.session import AnalysisRequest, Progress, analyse
from cluster.bench.archive import made_match
from cluster.bench.scaling import resident_mb
from cluster.executor import InlineExecutor
from cluster.nets import resolve_net, with_filter
from cluster.store import MemoryStore
from engine.analysis.language import Language
from engine.bearoff import open_databases
from engine.evaluator import Evaluator, Nets
from engine.records.mat_writer import write_mat

SAMPLES = 20


def write_archive(folder: Path, nets: Nets, matches: int, turns: int) -> None:
    """Match texts, a thousand a folder."""
    evaluator = Evaluator(nets, open_databases().arrays)
    for number in range(matches):
        path = folder / f"{number // 1000:03}" / f"{number:06}.mat"
        path.parent.mkdir(exist_ok=True)
        made = made_match(evaluator, number, turns)
        named = replace(made, players=("Hero", f"Rival {number}"))
        path.write_text(write_mat(named), encoding="utf-8")


def measured(folder: Path, out: Path | None, nets: Nets, books: Books) -> list[tuple[int, float]]:
    """(matches done, resident MB) while an archive is analysed, and at its end."""
    every: list[tuple[int, float]] = []

    def done(number: int, of: int) -> None:
        if number % max(of // SAMPLES, 1) == 0:
            every.append((number, resident_mb(os.getpid())))
            sys.stderr.write(f"{number:,} matches: {every[-1][1]:.1f} MB\n")

    files, policy = tuple(find_files([folder])), load_policy("quick")
    request = AnalysisRequest(files, out, Conditions(nets), policy, Language.ENGLISH, BookLookup(books))
    executor = InlineExecutor()
    told = Progress(lambda *_: None, done, lambda skipped: sys.stderr.write(f"{skipped}\n"))
    report = analyse(request, MemoryStore(), lambda: executor, told)
    return [*every, (report.matches, resident_mb(os.getpid()))]


def growth(samples: list[tuple[int, float]]) -> float:
    """MB for a thousand matches, by least squares over the second half: the first fills windows and caches."""
    later = samples[len(samples) // 2 :]
    return 1000 * float(np.polyfit([n for n, _ in later], [mb for _, mb in later], 1)[0])


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--matches", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=12, help="half-moves of a game")
    parser.add_argument("--no-reports", action="store_true", help="judge only, write nothing")
    o = parser.parse_args()
    nets = with_filter(resolve_net(None))
    with tempfile.TemporaryDirectory(prefix="gammonfarm-memory-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        started = time.perf_counter()
        write_archive(folder / "in", nets, o.matches, o.turns)
        made = time.perf_counter()
        with Books() as books:
            samples = measured(folder / "in", None if o.no_reports else folder / "out", nets, books)
        ended = time.perf_counter()
        written = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
    document = {
        "matches": o.matches,
        "mb_per_1000_matches": round(growth(samples[:-1]), 3),
        "mb": [[number, round(mb, 1)] for number, mb in samples],
        "reports_mb": round(written / 1e6),
        "seconds_making": round(made - started),
        "seconds": round(ended - made),
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
