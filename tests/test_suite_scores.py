"""What each part of the benchmark suite says of hand-made files with known answers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from suite_files import (
    AFTERS,
    EVALUATOR,
    HOLDING,
    RACE,
    book_record,
    contestant,
    decision,
    one_side_id,
    ranked,
    rollout,
    rollout_line,
    silent,
    values_of,
    write_lines,
)

from engine.analysis.position_type import PositionType
from engine.bearoff import Bearoff
from engine.board import START, make_board
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.gnuid import format_position_id
from engine.notation import format_play
from engine.outcome import NAMES
from engine.rules import INTERNATIONAL
from engine.search import rank_plays
from training.benchmark import read_decisions
from training.estimate import estimate_mean
from training.suite.calibration import bin_numbers, compare_probabilities
from training.suite.checker import checker_figures
from training.suite.endings import (
    known_ending_figures,
    one_sided_figures,
    read_known_endings,
    read_one_sided,
    read_two_sided,
    two_sided_figures,
)
from training.suite.figures import Figure, FigureName, Measure, OpeningChoice, Part, ReliabilityBin
from training.suite.openings import book_figures, opening_figures, read_book, read_published, read_table_of_openings
from training.suite.values import read_rolled_out, summarise_errors, value_figures

SHORT = make_board([0, 1, 2, *[0] * 20, -1, -1, 0])


def only(found: list[Figure], measure: Measure, group: str | None = None) -> Figure:
    (figure,) = [one for one in found if one.measure is measure and one.group == group]
    return figure


# --- estimates -------------------------------------------------------------------------------------------------------


def test_an_interval_is_two_standard_errors_to_each_side() -> None:
    estimate = estimate_mean([0.0, 0.0, 3.0, 5.0])
    # Mean 2; squares 4 + 4 + 1 + 9 = 18; variance 18 / 3 = 6; standard error sqrt(6 / 4).
    half = 1.96 * math.sqrt(1.5)
    assert (estimate.n, estimate.mean) == (4, 2.0)
    assert estimate.interval95 == pytest.approx((2 - half, 2 + half))
    assert estimate.scaled(1000).interval95 == pytest.approx((2000 - 1000 * half, 2000 + 1000 * half))


def test_one_number_has_no_interval() -> None:
    assert estimate_mean([7.0]).interval95 is None


# --- checker play ----------------------------------------------------------------------------------------------------


def test_checker_losses_are_told_in_all_and_by_type_of_position(tmp_path: Path, databases: Bearoff) -> None:
    start, race = (
        ranked(START, (6, 3)),
        [
            format_play(RACE, play.after, (6, 3), INTERNATIONAL)
            for play in rank_plays(Evaluator(EVALUATOR.nets, databases.arrays), RACE, (6, 3), INTERNATIONAL)
        ],
    )
    path = write_lines(
        tmp_path / "decisions.jsonl",
        [
            decision(START, (6, 3), [(start[0], 0.1), (start[1], -0.3)]),  # the reference's choice: 0
            decision(START, (6, 3), [(start[1], 0.1), (start[0], 0.06)]),  # 0.04
            decision(RACE, (6, 3), [(race[1], 0.5), (race[2], 0.3)]),  # not listed: 0.2
        ],
    )
    found = list(checker_figures("d", list(read_decisions(path)), contestant(databases), [1], silent))
    assert only(found, Measure.LOSS).value == pytest.approx(1000 * 0.24 / 3)
    assert only(found, Measure.LOSS).interval95 is not None
    assert only(found, Measure.FIRST_CHOICE).value == pytest.approx(100 / 3)
    assert only(found, Measure.UNLISTED).value == pytest.approx(100 / 3)
    groups = {one.group: (one.n, pytest.approx(one.value)) for one in found if one.group}
    assert groups == {"contact": (2, 20.0), "opening": (2, 20.0), "bear-off": (1, 200.0)}


def test_each_level_is_measured_by_its_own_search(tmp_path: Path, databases: Bearoff) -> None:
    two = contestant(databases)
    evaluator = Evaluator(two.nets, databases.arrays)

    def choices(dice: tuple[int, int]) -> list[str]:
        ranked = (rank_plays(evaluator, START, dice, INTERNATIONAL, level, two.move_filter) for level in (1, 2))
        return [format_play(START, plays[0].after, dice, INTERNATIONAL) for plays in ranked]

    rolls = ((high, low) for high in range(6, 0, -1) for low in range(high, 0, -1))
    dice = next(dice for dice in rolls if len(set(choices(dice))) == 2)  # whatever the net, they don't agree on all
    one, other = choices(dice)
    path = write_lines(tmp_path / "d.jsonl", [decision(START, dice, [(other, 0.0), (one, -0.05)])])
    found = list(checker_figures("d", list(read_decisions(path)), two, [1, 2], silent))
    losses = {one.level: one.value for one in found if one.measure is Measure.LOSS and one.group is None}
    assert losses == {1: pytest.approx(50.0), 2: 0.0}


# --- values ----------------------------------------------------------------------------------------------------------


def test_errors_are_summed_up_as_size_root_mean_square_and_bias() -> None:
    types = [PositionType.OPENING, PositionType.HOLDING, PositionType.RACE, PositionType.RACE]
    found = list(summarise_errors(FigureName(Part.VALUE, "v", 1), [0.01, -0.02, 0.03, 0.04], types))
    assert only(found, Measure.MEAN_ABSOLUTE).value == pytest.approx(0.025)
    assert only(found, Measure.BIAS).value == pytest.approx(0.015)
    assert only(found, Measure.ROOT_MEAN_SQUARE).value == pytest.approx(math.sqrt(0.00075))
    # Squares in 1e-4: 1, 4, 9, 16; mean 7.5; variance (42.25 + 12.25 + 2.25 + 72.25) / 3 = 43; half the interval of the
    # root is that of the mean square over twice the root.
    half = 1.96 * math.sqrt(43 / 4) * 1e-4 / (2 * math.sqrt(0.00075))
    root = math.sqrt(0.00075)
    assert only(found, Measure.ROOT_MEAN_SQUARE).interval95 == pytest.approx((root - half, root + half))
    groups = {one.group: one.value for one in found if one.group}
    assert groups == pytest.approx({"contact": 0.015, "race": 0.035, "opening": 0.01, "holding": 0.02})


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", "r.txt", "r.txt.gz"])
def test_values_are_compared_in_the_view_of_the_player_who_moved(tmp_path: Path, databases: Bearoff, name: str) -> None:
    # Labels that are the net's own values, but for 0.02 more wins (0.04 equity) in the first position.
    outcomes = values_of(AFTERS, databases)
    outcomes[0, 0] += 0.02
    write = rollout if "jsonl" in name else rollout_line
    records = [write(board, outcome) for board, outcome in zip(AFTERS, outcomes.tolist(), strict=True)]
    positions = read_rolled_out(write_lines(tmp_path / name, records))
    assert positions.boards.tolist() == [board.tolist() for board in AFTERS]
    found = list(value_figures("r", positions, contestant(databases), [1], silent))
    assert only(found, Measure.MEAN_ABSOLUTE).value == pytest.approx(0.01)
    assert only(found, Measure.BIAS).value == pytest.approx(-0.01)


GOOD = [0.6, 0.2, 0.0, 0.1, 0.0]


@pytest.mark.parametrize(
    "bad",
    [
        rollout(HOLDING, GOOD) | {"equity": 0.5},  # that of the probabilities is 0.3
        rollout(HOLDING, [0.2, 0.6, 0.0, 0.1, 0.0]),
        rollout(HOLDING, [*GOOD[:4], float("nan")]),
        rollout(HOLDING, GOOD) | {"board": [0] * 26},
        rollout(HOLDING, GOOD) | {"board": [-1, *HOLDING.tolist()[1:]]},  # sixteen: the bar counts as a positive number
        rollout(HOLDING, GOOD) | {"probs": GOOD[:4]},
        {"board": HOLDING.tolist()},
        "[]",
        "{",
    ],
)
def test_a_malformed_rollout_is_named(tmp_path: Path, bad: object) -> None:
    path = write_lines(tmp_path / "r.jsonl", [rollout(START, GOOD), bad])
    with pytest.raises(InputError, match=r"r\.jsonl line 2"):
        read_rolled_out(path)


def test_a_file_without_rollouts_has_no_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one"):
        read_rolled_out(write_lines(tmp_path / "r.jsonl", []))


# --- calibration -----------------------------------------------------------------------------------------------------


def test_calibration_compares_means_inside_bins() -> None:
    # Wins: 0.12 and 0.18 given where 0.10 and 0.14 came out (3 % too high), 0.95 where 1.00 did (5 % too low).
    predicted = np.zeros((3, 5))
    predicted[:, 0] = [0.12, 0.18, 0.95]
    rolled_out = np.zeros((3, 5))
    rolled_out[:, 0] = [0.10, 0.14, 1.00]
    found = list(compare_probabilities(FigureName(Part.CALIBRATION, "c", 1), predicted, rolled_out))
    figures = [one for one in found if isinstance(one, Figure)]
    assert only(figures, Measure.BIAS, "win").value == pytest.approx(100 * 0.01 / 3)
    assert only(figures, Measure.CALIBRATION_ERROR, "win").value == pytest.approx(100 * (2 * 0.03 + 0.05) / 3)
    assert only(figures, Measure.CALIBRATION_ERROR, "lose_gammon").value == 0
    bins = [one for one in found if isinstance(one, ReliabilityBin) and one.probability == "win"]
    assert [(one.low, one.high, one.n) for one in bins] == [(0.1, 0.2, 2), (0.9, 1.0, 1)]
    assert [(one.predicted, one.rolled_out) for one in bins] == [
        (pytest.approx(0.15), pytest.approx(0.12)),
        (pytest.approx(0.95), pytest.approx(1.0)),
    ]
    assert {one.probability for one in found if isinstance(one, ReliabilityBin)} == set(NAMES)


def test_errors_that_cancel_inside_a_bin_are_calibrated() -> None:
    predicted, rolled_out = np.full((2, 5), 0.25), np.full((2, 5), 0.25)
    rolled_out[:, 0] = [0.2, 0.3]
    found = list(compare_probabilities(FigureName(Part.CALIBRATION, "c", 1), predicted, rolled_out))
    figures = [one for one in found if isinstance(one, Figure)]
    assert only(figures, Measure.CALIBRATION_ERROR, "win").value == pytest.approx(0.0, abs=1e-12)


def test_certainty_belongs_to_the_last_bin() -> None:
    assert bin_numbers(np.array([0.0, 0.05, 0.1, 0.99, 1.0])).tolist() == [0, 0, 1, 9, 9]


# --- openings --------------------------------------------------------------------------------------------------------


def test_openings_count_the_plays_that_are_the_books_or_close(tmp_path: Path, databases: Bearoff) -> None:
    best = {roll: ranked(START, roll) for roll in ((2, 1), (3, 1), (4, 1), (5, 1))}
    rows = [
        ("21", best[2, 1][0], 0.02),  # the book's play
        ("21", best[2, 1][1], 0.0),
        ("31", best[3, 1][1], 0.02),
        ("31", best[3, 1][0], 0.01),  # exactly 0.01 behind: close
        ("41", best[4, 1][1], 0.02),
        ("41", best[4, 1][0], 0.009),  # 0.011 behind
        ("51", best[5, 1][1], 0.02),  # ours isn't listed: 0.012, as much as the worst that is
        ("51", best[5, 1][2], 0.008),
    ]
    path = tmp_path / "table.tsv"
    path.write_text("roll\tmove\tequity_norm\n" + "".join(f"{roll}\t{play}\t{eq}\n" for roll, play, eq in rows))
    found = list(opening_figures("t", read_table_of_openings(path), contestant(databases), [1], silent))
    figures = [one for one in found if isinstance(one, Figure)]
    assert only(figures, Measure.BEST_OR_CLOSE).value == 50.0
    assert only(figures, Measure.BEST_OR_CLOSE).interval95 is None
    assert only(figures, Measure.LOSS).value == pytest.approx(1000 * (0 + 0.01 + 0.011 + 0.012) / 4)
    choices = [one for one in found if isinstance(one, OpeningChoice)]
    assert [(c.dice, c.play, c.book_play) for c in choices] == [
        (roll, best[roll][0], best[roll][0 if roll == (2, 1) else 1]) for roll in best
    ]
    assert [c.loss for c in choices] == [0.0, pytest.approx(0.01), pytest.approx(0.011), None]


def test_a_play_written_twice_counts_once_and_texts_may_differ(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("roll\tmove\tequity_norm\n65\t24/18 18/13\t0.1\n65\t24/13\t0.0\n65\t13/7 13/8\t-0.2\n")
    (opening,) = read_table_of_openings(path)
    assert list(opening.losses.values()) == [0.0, pytest.approx(0.3)]


@pytest.mark.parametrize("row", ["65\t24/1\t0.0", "6\t24/18\t0.0", "65\t24/13\tmuch", "65\t24/13"])
def test_a_malformed_opening_is_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "table.tsv"
    path.write_text(f"roll\tmove\tequity_norm\n65\t24/13\t0.1\n\n{row}\n")
    with pytest.raises(InputError, match=r"table\.tsv line 4"):
        read_table_of_openings(path)


def test_published_plays_without_an_equity_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "published.json"
    rows = {"65": [["24/13", 0.0], ["24/13 13/8, as printed", None]], "61": [["13/7 8/7", -0.1]]}
    path.write_text(json.dumps({"snowie7": {"source": "somewhere", "rows": rows}, "other": {"rows": {}}}))
    assert [(d.dice, len(d.losses)) for d in read_published(path)] == [((6, 5), 1), ((6, 1), 1)]
    path.write_text(json.dumps({"other": {"rows": {}}}))
    with pytest.raises(InputError, match="snowie7"):
        read_published(path)


def test_a_book_is_scored_for_money_and_at_match_scores_apart(tmp_path: Path, databases: Bearoff) -> None:
    plays = [play.after for play in rank_plays(EVALUATOR, START, (3, 1), INTERNATIONAL)]
    path = write_lines(
        tmp_path / "book.jsonl",
        [
            book_record(0, (3, 1), [(plays[0], 0.1, "book"), (plays[1], 0.0, "book")]),  # found
            book_record(5, (3, 1), [(plays[1], 0.1, "book"), (plays[0], 0.07, "1-ply(XG)")]),  # 0.03 lost
            book_record(7, (3, 1), [(plays[1], 0.1, "book"), (plays[0], 0.09, "book")]),  # close
            book_record(7, (3, 1), [(plays[1], 0.1, "3-ply(XG)"), (plays[0], 0.0, "book")]),  # not known to the book
        ],
    )
    found = list(book_figures("b", read_book(path), contestant(databases), [1], silent))
    assert {(f.measure, f.group): (f.n, pytest.approx(f.value)) for f in found} == {
        (Measure.BEST_OR_CLOSE, "money"): (1, 100.0),
        (Measure.LOSS, "money"): (1, 0.0),
        (Measure.BEST_OR_CLOSE, "match scores"): (2, 50.0),
        (Measure.LOSS, "match scores"): (2, 20.0),
    }


# --- bear-offs -------------------------------------------------------------------------------------------------------


def test_one_sided_databases_are_compared_roll_by_roll(tmp_path: Path, databases: Bearoff) -> None:
    # Two checkers on the ace point are off in one roll; a record that says otherwise by 0.1 rolls, and by
    # 4 % and, where we have no chance at all, by 10 %.
    record = {"position_id": one_side_id((2, 0, 0, 0, 0, 0)), "mean_rolls": 1.1, "dist_percent": [[1, 96], [2, 10]]}
    records = read_one_sided(write_lines(tmp_path / "one.jsonl", [record]))
    assert records[0].counts == (2, 0, 0, 0, 0, 0)
    rolls, chances = one_sided_figures("one", records, databases)
    assert (rolls.value, chances.value) == (pytest.approx(0.1), pytest.approx(10.0))


def test_checkers_outside_the_home_are_no_one_sided_bear_off(tmp_path: Path) -> None:
    for position_id in (one_side_id((0, 0, 0, 0, 0, 0, 1)), one_side_id(()), "abc"):
        record = {"position_id": position_id, "mean_rolls": 1.0, "dist_percent": []}
        with pytest.raises(InputError, match=r"one\.jsonl line 1"):
            read_one_sided(write_lines(tmp_path / "one.jsonl", [record]))


def test_two_sided_equities_are_compared_and_the_net_is_measured_alone(tmp_path: Path, databases: Bearoff) -> None:
    exact = databases.two_sided(SHORT)
    told = (exact[0], exact[1] + 0.25, exact[2], exact[3] - 0.5)
    names = ("cubeless", "owned", "centered", "opp_owns")
    record = {"position_id": format_position_id(SHORT), **dict(zip(names, told, strict=True))}
    records = read_two_sided(write_lines(tmp_path / "two.jsonl", [record]))
    found = list(two_sided_figures("two", records, contestant(databases), [1], silent))
    largest = {one.group: pytest.approx(one.value) for one in found if one.measure is Measure.LARGEST}
    assert largest == {"cubeless": 0.0, "owned": 0.25, "centered": 0.0, "opponent owns": 0.5}
    alone = EVALUATOR.before_roll(SHORT, INTERNATIONAL).equity - exact[0]
    assert only(found, Measure.BIAS, "net alone").value == pytest.approx(alone)
    assert abs(alone) > 0.01  # a random net isn't right by chance


def test_of_races_those_that_the_databases_know_measure_the_net(tmp_path: Path, databases: Bearoff) -> None:
    ids = [format_position_id(board) for board in (START, RACE, HOLDING, SHORT)]
    path = write_lines(tmp_path / "races.txt", ids)
    boards = read_known_endings(path)
    assert [board.tolist() for board in boards] == [RACE.tolist(), SHORT.tolist()]
    assert [board.tolist() for board in read_known_endings(path, 1)] == [RACE.tolist()]
    exact = Evaluator(EVALUATOR.nets, databases.arrays)
    errors = [
        EVALUATOR.before_roll(board, INTERNATIONAL).equity - exact.before_roll(board, INTERNATIONAL).equity
        for board in boards
    ]
    found = list(known_ending_figures("races", boards, contestant(databases), [1], silent))
    assert only(found, Measure.BIAS, "net alone").value == pytest.approx(sum(errors) / 2)
    assert only(found, Measure.MEAN_ABSOLUTE, "net alone").value == pytest.approx(sum(map(abs, errors)) / 2)
