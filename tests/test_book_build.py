"""Building opening books: what is in them, that a kill costs nothing, and that they can be checked and merged."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from books import CrowdedExecutor, KilledError, Workshop, racing_recipe, tiny_recipe

from cluster.book.artifact import open_book
from cluster.book.book_steps import Budget, BuildProgress
from cluster.book.build import Builder, compute_entry
from cluster.book.entry import Spot, packed, unpacked
from cluster.book.recipe import Bounds, BudgetPart, bounds_of
from cluster.book.schemas import Standing, Terms, Verdict
from cluster.book.simulation import critical_value
from cluster.book.stakes import Seat, stakes_of
from cluster.book.tree import TEMPERATURE, openings, parse_line, parse_roll, played, replies
from cluster.book.verify import chosen_entries, find_entry, merge, recompute, verify
from cluster.cli.options import chosen_nets
from cluster.coordinator import RolloutRun
from cluster.executor import InlineExecutor
from cluster.planner import plan
from cluster.schemas import RolloutRequest
from cluster.store import MemoryStore
from engine.bearoff import Bearoff
from engine.board import START, flip
from engine.errors import InputError
from engine.gnuid import format_position_id
from engine.ids import parse_position
from engine.notation import parse_play
from engine.rules import INTERNATIONAL
from workers.tasks import RolloutTask

OPENINGS_AND_MORE = 1_300
"""Trials that are enough for all openings and some replies."""


@pytest.fixture(scope="module")
def workshop(databases: Bearoff) -> Workshop:
    return Workshop(chosen_nets(None), databases)


@pytest.fixture(scope="module")
def built(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("books") / "tiny.book"
    workshop.build(path, tiny_recipe(budget=OPENINGS_AND_MORE))
    return path


def test_a_book_has_all_openings_before_any_reply(built: Path) -> None:
    with open_book(built) as book:
        entries = list(book.entries())
    depths = [entry.spot.depth for entry in entries]
    assert depths[:15] == [1] * 15
    assert len(depths) > 15
    assert set(depths[15:]) == {2}
    assert {entry.spot.roll for entry in entries[:15]} == {f"{a}{b}" for a in range(2, 7) for b in range(1, a)}


def test_the_budget_ends_with_the_entry_that_reaches_it(built: Path) -> None:
    with open_book(built) as book:
        assert OPENINGS_AND_MORE <= book.trials < OPENINGS_AND_MORE + 72


def test_a_value_is_the_mean_of_search_and_simulation_and_plays_come_best_first(built: Path) -> None:
    with open_book(built) as book:
        for entry in book.entries():
            equities = [play.equity for play in entry.plays]
            assert equities == sorted(equities, reverse=True)
            assert entry.plays[0].standing is Standing.BEST
            for play in entry.plays:
                assert play.equity == pytest.approx((play.search_equity + play.simulation_equity) / 2)
                assert play.difference == pytest.approx(play.equity - equities[0])
                assert play.difference_se == pytest.approx(play.simulation_difference_se / 2)


def test_a_verdict_follows_from_the_differences_and_their_errors(built: Path) -> None:
    with open_book(built) as book:
        for entry in book.entries():
            z = critical_value(book.identity.confidence, len(entry.plays))
            rivals = entry.plays[1:]
            beaten = [-p.difference > z * p.simulation_difference_se for p in rivals]
            near = [-p.difference + z * p.simulation_difference_se <= book.identity.playable for p in rivals]
            if all(beaten):
                assert entry.verdict is Verdict.SETTLED
            elif all(b or n for b, n in zip(beaten, near, strict=True)):
                assert entry.verdict is Verdict.BOTH_PLAYABLE
            else:
                assert entry.verdict is Verdict.OPEN


def test_replies_follow_the_best_plays_with_the_chances_of_their_rolls(built: Path) -> None:
    with open_book(built) as book:
        first = list(book.entries(1))[:1]
        spots = replies(first, follow=0.0)
    assert len(spots) == 21
    assert math.fsum(spot.reach for spot in spots) == pytest.approx(first[0].spot.reach)
    assert {spot.position for spot in spots} == {first[0].plays[0].after}


def test_a_play_that_loses_counts_less_and_one_that_loses_too_much_gets_no_replies(built: Path) -> None:
    with open_book(built) as book:
        entry = next(entry for entry in book.entries(1) if len(entry.plays) > 1)
    second = entry.plays[1]
    spots = replies([entry], follow=-second.difference)
    reach = math.fsum(spot.reach for spot in spots if spot.position == second.after)
    assert reach == pytest.approx(entry.spot.reach * math.exp(second.difference / TEMPERATURE))
    assert {spot.position for spot in replies([entry], follow=-second.difference / 2 - 1e-9)} == {entry.plays[0].after}


def test_many_entries_at_once_make_the_same_book_as_one_after_the_other(
    workshop: Workshop, built: Path, tmp_path: Path
) -> None:
    path, crowd = tmp_path / "crowd.book", CrowdedExecutor(workers=9)
    workshop.build(path, tiny_recipe(budget=OPENINGS_AND_MORE), executor=crowd)
    with open_book(path) as many, open_book(built) as one:
        assert many.digest() == one.digest()
        assert [entry.spot for entry in many.entries()] == [entry.spot for entry in one.entries()]
    assert crowd.most_entries > 9
    played = Counter(
        (series, task.first) for task in crowd.ran if isinstance(task, RolloutTask) for series in task.series
    )
    assert max(played.values()) == 1, "no trial is played twice"


def test_a_race_is_judged_by_the_trials_of_its_own_entry(workshop: Workshop, tmp_path: Path) -> None:
    digests, trials = [], []
    for number, executor in enumerate((InlineExecutor(), CrowdedExecutor(9))):
        workshop.build(tmp_path / f"{number}.book", racing_recipe(), executor=executor)
        with open_book(tmp_path / f"{number}.book") as book:
            digests.append(book.digest())
            trials.append([[play.trials for play in entry.plays] for entry in book.entries()])
    assert digests[0] == digests[1]
    assert min(number for entry in trials[0] for number in entry) < 144, "some race ends at an early checkpoint"


def test_a_build_that_is_killed_anywhere_goes_on_to_the_same_book(
    workshop: Workshop, built: Path, tmp_path: Path
) -> None:
    path, recipe, store = tmp_path / "killed.book", tiny_recipe(budget=OPENINGS_AND_MORE), MemoryStore()
    ran = []
    for lives in (0, 9, 16, None):
        executor = CrowdedExecutor(3, seed=1, dies_after=lives)
        ran.append(executor.ran)
        if lives is None:
            workshop.build(path, recipe, store, executor=executor)
        else:
            with pytest.raises(KilledError):
                workshop.build(path, recipe, store, executor=executor)
    with open_book(path) as killed, open_book(built) as whole:
        assert killed.digest() == whole.digest()
        assert [entry.spot for entry in killed.entries()] == [entry.spot for entry in whole.entries()]
    trials = [(task.series, task.first) for part in ran for task in part if isinstance(task, RolloutTask)]
    assert len(trials) == len(set(trials)), "what came back before a kill is not played again"
    nothing = CrowdedExecutor(workers=0)
    report = workshop.build(tmp_path / "lost.book", recipe, store, executor=nothing)
    assert (report.computed, nothing.ran) == (0, []), "a lost file is made again from what the store kept"
    with open_book(tmp_path / "lost.book") as found, open_book(built) as whole:
        assert found.digest() == whole.digest()


def test_a_budget_of_entries_ends_with_the_last_one(workshop: Workshop, tmp_path: Path) -> None:
    recipe = tiny_recipe()
    recipe = recipe.model_copy(update={"budget": BudgetPart(entries=4)})
    report = workshop.build(tmp_path / "four.book", recipe, executor=CrowdedExecutor(5))
    assert (report.book.entries, report.finished) == ((4,), False)


def test_a_budget_of_minutes_lets_entries_under_way_end(workshop: Workshop, tmp_path: Path) -> None:
    times = iter(range(0, 10_000, 10))
    recipe = tiny_recipe()
    with workshop.open(tmp_path / "minute.book", recipe) as book:
        simulator = workshop.simulator(book, MemoryStore(), CrowdedExecutor(2))
        builder = Builder(recipe, book, simulator, Budget(minutes=1.0), clock=lambda: float(next(times)))
        shown: list[BuildProgress] = []
        report = builder.run(shown.append)
    assert not report.finished
    assert 4 <= sum(report.book.entries) < 15
    assert shown[-1].under_way == 0


def test_bounds_of_a_recipe_say_what_it_can_come_to() -> None:
    recipe = tiny_recipe(budget=1000)
    assert bounds_of(recipe) == Bounds(trials=1000 + 72, entries=28)
    alone = recipe.model_copy(update={"budget": BudgetPart()})
    assert bounds_of(alone) == Bounds(trials=15 * 2 * 36 + 15 * 2 * 21 * 36, entries=15 + 15 * 2 * 21)
    few = recipe.model_copy(update={"budget": BudgetPart(entries=2)})
    assert bounds_of(few) == Bounds(trials=2 * 72, entries=2)


def test_a_finished_build_computes_nothing_again_and_a_larger_budget_extends_it(
    workshop: Workshop, built: Path, tmp_path: Path
) -> None:
    path = tmp_path / "copy.book"
    path.write_bytes(built.read_bytes())
    assert workshop.build(path, tiny_recipe(budget=OPENINGS_AND_MORE)).computed == 0
    with open_book(path) as book:
        before = {entry.spot.id: entry.content() for entry in book.entries()}
    report = workshop.build(path, tiny_recipe(budget=OPENINGS_AND_MORE + 100))
    assert report.computed in (2, 3)
    assert not report.finished
    with open_book(path) as book:
        after = {entry.spot.id: entry.content() for entry in book.entries()}
    assert after.items() > before.items()


def test_open_entries_get_more_trials_when_the_recipe_allows_them(workshop: Workshop, tmp_path: Path) -> None:
    recipe = tiny_recipe(budget=1)
    more = recipe.model_copy(
        update={"depth": tuple(part.model_copy(update={"trials": 72}) for part in recipe.depth[:1])}
    )
    path, store = tmp_path / "more.book", MemoryStore()
    workshop.build(path, recipe, store)
    with workshop.open(path, recipe) as book:
        (first,) = book.entries()
    workshop.build(path, more.model_copy(update={"budget": recipe.budget.model_copy(update={"trials": 150})}), store)
    with open_book(path) as book:
        (again,) = [entry for entry in book.entries() if entry.spot == first.spot]
    assert again.question.trials == (72 if first.verdict is Verdict.OPEN else 36)
    open_ = [entry for entry in [again] if first.verdict is Verdict.OPEN]
    assert all(entry.trials >= first.trials for entry in open_)


def test_exact_sums_survive_the_file(built: Path) -> None:
    with open_book(built) as book:
        for entry in book.entries(1):
            for facts in entry.facts:
                tally, pair = unpacked(packed(facts))
                assert tally.equity(0) == facts.tally.equity(0)
                assert tally.outcome(0) == facts.tally.outcome(0)
                assert (pair is None) == (facts.pair is None)


def test_an_entry_is_made_again_bit_for_bit_from_its_question(workshop: Workshop, built: Path) -> None:
    with open_book(built) as book:
        report = verify(book, chosen_entries(book, 2, seed=1), lambda: workshop.simulator(book, MemoryStore()), _quiet)
        assert report.ok
        assert report.digest == book.digest()
        assert len(report.recomputed) == 2
        assert report.arithmetic == sum(report.book.entries)


def test_changed_numbers_and_changed_sums_are_found(workshop: Workshop, built: Path, tmp_path: Path) -> None:
    path = tmp_path / "forged.book"
    path.write_bytes(built.read_bytes())
    with open_book(path) as book:
        victim, other = list(book.entries(1))[:2]
    with sqlite3.connect(path) as forger:
        at = "position = ? AND roll = ? AND rank = 0"
        forger.execute(f"UPDATE play SET equity = equity + 0.001 WHERE {at}", (victim.spot.position, victim.spot.roll))
        forger.execute(f"UPDATE play SET rows_digest = 'x' WHERE {at}", (other.spot.position, other.spot.roll))
    forger.close()
    with open_book(path) as book:
        report = verify(book, [], None, _quiet)
        assert not report.ok
        assert [check.path for check in report.wrong] == [victim.spot.path]
        assert f"{victim.plays[0].play}: equity" in report.wrong[0].differs
        found = find_entry(book, other.spot.path)
        again = recompute(found, workshop.simulator(book, MemoryStore()))
        assert again.differs == (f"{other.plays[0].play}: trials",)


def test_books_of_several_farms_merge_to_the_same_whatever_the_order(
    workshop: Workshop, built: Path, tmp_path: Path
) -> None:
    recipe = tiny_recipe(budget=OPENINGS_AND_MORE)
    with open_book(built) as whole:
        digest = whole.digest()
        entries = list(whole.entries())
    digests = []
    for order in (1, -1):
        parts = []
        for number in (0, 1):
            parts.append(workshop.open(tmp_path / f"part{number}{order}.book", recipe))
            for entry in entries[number::2]:
                parts[-1].put(entry)
        merged, source = parts[::order]
        report = merge(merged, [source])
        assert report.added == len(list(source.entries()))
        digests.append(merged.digest())
        for part in parts:
            part.close()
    assert digests == [digest, digest]


def test_a_book_of_another_seed_or_score_is_not_merged(workshop: Workshop, built: Path, tmp_path: Path) -> None:
    other = tiny_recipe(score="dmp")
    with (
        workshop.open(tmp_path / "dmp.book", other) as dmp,
        open_book(built) as money,
        pytest.raises(InputError, match="score"),
    ):
        merge(dmp, [money])


def test_the_same_question_with_other_bits_is_refused(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.book"
    path.write_bytes(built.read_bytes())
    with sqlite3.connect(path) as forger:
        forger.execute("UPDATE play SET rows_digest = 'x' WHERE rank = 0")
    forger.close()
    with (
        open_book(path, writable=True) as damaged,
        open_book(built) as good,
        pytest.raises(InputError, match="damaged"),
    ):
        merge(damaged, [good])


def test_tavla_begins_with_21_rolls_and_international_with_15() -> None:
    for rules, rolls in (("tavla", 21), ("international", 15)):
        spots = openings(stakes_of(Terms(rules=rules)))
        assert len(spots) == rolls
        assert math.fsum(spot.reach for spot in spots) == pytest.approx(1.0)


def test_at_double_match_point_gammons_are_worth_nothing(workshop: Workshop, tmp_path: Path) -> None:
    path = tmp_path / "dmp.book"
    workshop.build(path, tiny_recipe("international", score="dmp", budget=1))
    with open_book(path) as book:
        (entry,) = book.entries()
        assert parse_position(entry.shown(book.stakes).xgid).match.length == 1
        for play in entry.plays:
            assert play.simulation_equity == pytest.approx(2 * play.probabilities.win - 1, abs=1e-5)


def test_a_gammon_is_worth_what_the_score_says(workshop: Workshop, tmp_path: Path) -> None:
    # 2-away/1-away in the Crawford game: a plain win leads to 1-1, a gammon wins the match; a loss loses it.
    path = tmp_path / "gammons.book"
    workshop.build(path, tiny_recipe("international", score="gammon-go", budget=50))
    with open_book(path) as book:
        entry = next(book.entries())
        assert entry.spot.id.endswith(":1")
        assert find_entry(book, entry.spot.id).content() == entry.content()
        assert find_entry(book, entry.spot.path).content() == entry.content()
        match = parse_position(entry.shown(book.stakes).xgid).match
        assert (match.away, match.crawford) == ((2, 1), True)
        for play in entry.plays:
            p = play.probabilities
            mwc = 0.5 * p.win + 0.5 * p.win_gammon
            # EMG: -1 is a loss (0 %), +1 a single win (50 %).
            assert play.simulation_equity == pytest.approx(mwc / 0.25 - 1.0, abs=1e-5)


def test_at_unequal_scores_replies_are_seen_from_the_other_side(workshop: Workshop, tmp_path: Path) -> None:
    recipe = tiny_recipe(score="3-away/5-away")
    with workshop.open(tmp_path / "score.book", recipe) as book:
        stakes = book.stakes
        first = compute_entry(workshop.simulator(book, MemoryStore()), openings(stakes)[0], recipe.depth[0])
        spot = replies([first], follow=0.0)[0]
    assert (first.spot.seat, spot.seat, spot.seat.other) == (Seat.OPENER, Seat.OPPONENT, Seat.OPENER)
    assert first.spot.under(stakes).match.away == (3, 5)
    assert spot.under(stakes).match.away == (5, 3)
    assert spot.id.endswith(":2")


def test_a_money_book_with_the_cube_uses_the_trials_of_rollouts_with_the_cube(
    workshop: Workshop, tmp_path: Path
) -> None:
    store = MemoryStore()
    recipe = tiny_recipe("international", budget=1).model_copy(update={"cube": True})
    path = tmp_path / "cube.book"
    workshop.build(path, recipe, store)
    with open_book(path) as book:
        (entry,) = book.entries()
        plays = tuple(play.play for play in entry.plays)
        request = RolloutRequest(
            position=entry.shown(book.stakes).xgid, plays=plays, trials=36, checkpoint=36, cube=True, seed=recipe.seed
        )
        rollout = RolloutRun(request, plan(request, workshop.evaluator), workshop.nets, store)
        report = rollout.run(lambda: pytest.fail("a trial was played again"), lambda _: None)
        equities = {candidate.play: candidate.equity for candidate in report.result.candidates}
        assert equities == {play.play: play.simulation_equity for play in entry.plays}


@pytest.mark.parametrize(
    ("terms", "away", "crawford", "in_play"),
    [
        (Terms(), None, False, True),
        (Terms(cube=False), None, False, False),
        (Terms(rules="tavla"), None, False, False),
        (Terms(score="dmp"), (1, 1), False, False),
        (Terms(score="gammon-save"), (1, 2), True, False),
        (Terms(score="1-away/5-away"), (1, 5), True, False),
        (Terms(score="1-away/5-away post-Crawford"), (1, 5), False, True),
        (Terms(score="4-away/4-away"), (4, 4), False, True),
        (Terms(score="4-away/4-away", cube=False), (4, 4), False, False),
        (Terms(rules="tavla", score="4-away/2-away"), (4, 2), False, False),
    ],
)
def test_terms_say_score_and_cube(terms: Terms, away: tuple[int, int] | None, crawford: bool, in_play: bool) -> None:
    stakes = stakes_of(terms)
    assert (stakes.opener.away, stakes.opener.crawford, stakes.opener.cube_in_play) == (away, crawford, in_play)
    # The normal form names the same stakes.
    assert stakes_of(stakes.terms) == stakes


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        (Terms(score="0-away/3-away"), "score"),
        (Terms(score="3-away/3-away post-crawford"), "score"),
        (Terms(score="dmp", cube=True), "cube"),
        (Terms(rules="tavla", cube=True), "cube"),
        (Terms(met="woolsey"), "met"),
        (Terms(cube=False, jacoby=True), "jacoby"),
        (Terms(score="3-away/3-away", beaver=True), "beaver"),
    ],
)
def test_terms_that_cannot_be_are_refused(terms: Terms, field: str) -> None:
    with pytest.raises(InputError, match=field):
        stakes_of(terms)


def test_one_away_on_both_sides_is_double_match_point() -> None:
    assert stakes_of(Terms(score="1-away/1-away")) == stakes_of(Terms(score="dmp", cube=False))
    assert stakes_of(Terms(score="2-away/1-away")) == stakes_of(Terms(score="gammon-go"))


def test_a_line_is_read_with_and_without_rolls() -> None:
    assert parse_line("31 8/5 6/5 64") == [((3, 1), "8/5 6/5"), ((6, 4), None)]
    assert parse_line("8/5 6/5") == [(None, "8/5 6/5")]
    assert parse_line("31 8/5 6/5 66 no play 21") == [((3, 1), "8/5 6/5"), ((6, 6), "no play"), ((2, 1), None)]
    assert parse_roll("1-3") == (3, 1)
    with pytest.raises(InputError, match="roll"):
        parse_roll("37")


def test_a_play_without_its_roll_is_found_by_where_it_leads() -> None:
    expected = flip(parse_play("8/5 6/5", START, (3, 1), INTERNATIONAL))
    assert (played(START, None, "8/5 6/5", INTERNATIONAL, first=True) == expected).all()
    with pytest.raises(InputError, match="some roll"):
        played(START, None, "24/1", INTERNATIONAL, first=True)


def test_an_entry_is_found_by_its_id_and_by_its_line(built: Path) -> None:
    with open_book(built) as book:
        reply = next(book.entries(2))
        assert find_entry(book, reply.spot.id).content() == reply.content()
        assert find_entry(book, reply.spot.path).content() == reply.content()
        with pytest.raises(InputError, match="an entry of"):
            find_entry(book, f"{format_position_id(START)}:66")


def test_a_spot_names_its_position_and_roll() -> None:
    spot = Spot(format_position_id(START), (3, 1), 1, "31", 1 / 15)
    assert (spot.board == START).all()
    assert spot.id == "4HPwATDgc/ABMA:31"


def _quiet(done: int, of: int) -> None:
    """Show nothing."""
