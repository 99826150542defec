"""The worked cases of the rules digest (T1-T13, T23, T24) that concern moves: each test is a sentence.

Boards are written as `board(own, opponent)`, each side's checkers by point **in that side's own numbering**, "bar" for
the bar, missing checkers borne off. Plays are compared by what is left: the after-position.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.board import START, Board, flip, make_board, pips
from engine.errors import InputError
from engine.moves import ROLLS, legal_plays, roll_weight
from engine.notation import format_play, parse_play
from engine.rules import INTERNATIONAL, RuleSet, rule_set

Side = dict[int | str, int]

TAVLA = rule_set("tavla")
BANNED = rule_set("tavla+hit-and-run-ban")
FORCED = rule_set("tavla+forced-bear-off")
FAR_AWAY: Side = {6: 2}  # an opponent behind all of the mover's checkers, on the mover's 19


def board(own: Side, opponent: Side) -> Board:
    """A board in the mover's view."""
    counts = [0] * 26
    for point, number in own.items():
        counts[25 if point == "bar" else int(point)] += number
    for point, number in opponent.items():
        counts[25 - (25 if point == "bar" else int(point))] -= number
    return make_board(counts)


def own(position: Board) -> Side:
    """The mover's checkers by point."""
    return {"bar" if place == 25 else place: int(position[place]) for place in range(25, 0, -1) if position[place] > 0}


def texts(position: Board, dice: tuple[int, int], rules: RuleSet = INTERNATIONAL) -> set[str]:
    """All legal plays as text."""
    return {format_play(position, after, dice, rules) for after in legal_plays(position, dice, rules)}


def left_over(position: Board, dice: tuple[int, int], rules: RuleSet) -> set[tuple[int, ...]]:
    """What each legal play leaves to the mover: his checkers' points, the highest first."""
    return {
        tuple(place for place in range(25, 0, -1) for _ in range(max(int(after[place]), 0)))
        for after in legal_plays(position, dice, rules)
    }


def hitting_rolls(position: Board, *targets: int) -> int:
    """Of 36 rolls, those with a legal play that hits a blot on one of these points of the mover."""
    assert all(position[target] == -1 for target in targets)
    return sum(
        roll_weight(dice)
        for dice in ROLLS
        if any(after[target] >= 0 for after in legal_plays(position, dice, INTERNATIONAL) for target in targets)
    )


# T1: 24:2 13:5 8:3 6:5 for both sides.


def test_both_sides_start_with_167_pips() -> None:
    assert own(START) == own(flip(START)) == {24: 2, 13: 5, 8: 3, 6: 5}
    assert pips(START) == (48 + 65 + 24 + 30,) * 2 == (167, 167)


def test_a_four_takes_a_checker_from_13_to_9_and_the_bar_between_7_and_6_is_no_step() -> None:
    assert "13/9 6/5" in texts(START, (4, 1))
    assert texts(board({7: 1}, FAR_AWAY), (1, 1)) == {"7/3"}
    assert "7/6 6/4" not in texts(board({7: 1, 6: 1}, FAR_AWAY), (2, 1))
    assert own(parse_play("7/4", board({7: 1}, FAR_AWAY), (2, 1), INTERNATIONAL)) == {4: 1}


def test_double_fives_are_twenty_pips() -> None:
    assert {pips(after)[0] for after in legal_plays(START, (5, 5), INTERNATIONAL)} == {147}


# T2: five turns of a game.


def test_five_turns_keep_the_pip_counts_of_the_book() -> None:
    position = START
    for text, dice, pips_of_mover_and_other in [
        ("8/5 6/5", (3, 1), (163, 167)),
        ("24/18/14", (6, 4), (157, 163)),
        ("13/11* 24/20", (4, 2), (157, 168)),
        ("no play", (5, 5), (168, 157)),
        ("24/18/13", (6, 5), (146, 168)),
    ]:
        after = parse_play(text, position, dice, INTERNATIONAL)
        assert pips(after) == pips_of_mover_and_other, text
        position = flip(after)
    assert own(flip(position)) == {20: 1, 13: 5, 11: 1, 8: 2, 6: 4, 5: 2}
    assert own(position) == {"bar": 1, 24: 1, 13: 5, 8: 3, 6: 5}


# T3, T4: chances of hitting. The lone shooter stands on 24 (for a distance of 24 on the bar).

SHOTS = {
    1: 11, 2: 12, 3: 14, 4: 15, 5: 15, 6: 17, 7: 6, 8: 6, 9: 5, 10: 3, 11: 2, 12: 3, 13: 0, 14: 0, 15: 1, 16: 1,
    17: 0, 18: 1, 19: 0, 20: 1, 21: 0, 22: 0, 23: 0, 24: 1,
}  # fmt: skip


@pytest.mark.parametrize(("distance", "rolls"), SHOTS.items())
def test_rolls_that_hit_one_blot_from_afar(distance: int, rolls: int) -> None:
    shooter = 24 if distance < 24 else 25
    target = shooter - distance
    position = board({"bar" if shooter == 25 else shooter: 1}, {25 - target: 1})
    assert hitting_rolls(position, target) == rolls


@pytest.mark.parametrize(("play", "blots", "rolls"), [("24/14", (14,), 11), ("24/18 13/9", (18, 9), 27)])
def test_rolls_that_hit_an_opening_six_four(play: str, blots: tuple[int, ...], rolls: int) -> None:
    after = parse_play(play, START, (6, 4), INTERNATIONAL)
    assert hitting_rolls(flip(after), *(25 - blot for blot in blots)) == rolls


def test_six_four_8_2_6_2_leaves_no_blot() -> None:
    assert 1 not in own(parse_play("8/2 6/2", START, (6, 4), INTERNATIONAL)).values()


# T5-T7: the bar.


def test_no_play_from_the_bar_when_both_entry_points_are_made_though_their_sum_is_open() -> None:
    position = board({"bar": 1, 6: 2}, {25 - 20: 2, 25 - 23: 2})
    assert texts(position, (5, 2)) == {"no play"}


def test_one_of_two_checkers_enters_and_the_other_die_is_lost() -> None:
    closed_but_21: Side = {6: 2, 5: 2, 3: 2, 2: 2, 1: 2}
    position = board({"bar": 2, 13: 2}, closed_but_21)
    assert texts(position, (6, 4)) == {"bar/21"}


def test_the_rest_of_the_dice_are_free_after_the_last_entry() -> None:
    #  O holds M's 24 and 19: the ace can't enter, the four can.
    position = board({"bar": 1, 13: 1}, {1: 2, 6: 2})
    assert texts(position, (4, 1)) == {"bar/20", "bar/21 13/12"}


def test_nothing_moves_against_a_closed_board() -> None:
    position = board({"bar": 1, 6: 5}, dict.fromkeys(range(1, 7), 2))
    for dice in ROLLS:
        assert texts(position, dice) == {"no play"}


# T8: every landing point on the way must be open.


def test_24_13_goes_by_18_when_19_is_made() -> None:
    position = board({24: 1, 6: 2}, {6: 2})
    assert (
        parse_play("24/18/13", position, (6, 5), INTERNATIONAL) == parse_play("24/13", position, (6, 5), INTERNATIONAL)
    ).all()
    for text in ("24/19/13", "24/19 6/off", "24/19"):
        with pytest.raises(InputError):
            parse_play(text, position, (6, 5), INTERNATIONAL)


def test_24_13_is_illegal_when_18_and_19_are_made() -> None:
    with pytest.raises(InputError):
        parse_play("24/13", board({24: 1, 13: 2}, {6: 2, 7: 2}), (6, 5), INTERNATIONAL)


# T9, T10: forced moves.


def test_the_higher_die_is_played_when_either_fits_but_not_both() -> None:
    #  M: 5:1 4:1, the rest off; O holds M's 1 and 3. 5/4 with the ace would leave no three.
    assert texts(board({5: 1, 4: 1}, {24: 2, 22: 2}), (3, 1)) == {"5/2"}


def test_the_five_is_played_when_a_five_and_a_three_are_possible_but_not_both() -> None:
    #  M: 20:1 on its own. 20/15 or 20/17 can be played, 12 is made, so that neither can be followed up.
    assert texts(board({20: 1}, {25 - 12: 2}), (5, 3)) == {"20/15"}


def test_the_lower_die_is_played_when_only_that_fits() -> None:
    assert texts(board({20: 1}, {25 - 12: 2, 25 - 15: 2}), (5, 3)) == {"20/17"}


def test_the_two_is_played_so_that_the_six_can_follow() -> None:
    #  M: 13:1 3:2; O holds 7. No six fits before the two; 3/1 would waste it.
    assert texts(board({13: 1, 3: 2}, {25 - 7: 2}), (6, 2)) == {"13/5"}


def test_the_three_is_played_only_where_the_five_remains_playable() -> None:
    #  M: 13:1 9:1; O holds 8, 5 and 1. After 9/6 no five is open (13/8 and 6/1 are shut), after 13/10 there is 9/4.
    position = board({13: 1, 9: 1}, {25 - 8: 2, 25 - 5: 2, 25 - 1: 2})
    assert texts(position, (5, 3)) == {"13/10 9/4"}


def test_as_many_parts_of_a_double_as_possible_are_played() -> None:
    #  M: 13:1 8:1; O holds 4. Threes: 13/10/7 and then shut, 8/5/2.
    assert texts(board({13: 1, 8: 1}, {25 - 4: 2}), (3, 3)) == {"13/7 8/2"}


# T11, T12: bearing off.


@pytest.mark.parametrize("dice", [(6, 5), (6, 6), (5, 5)])
def test_larger_dice_take_checkers_off_the_highest_point(dice: tuple[int, int]) -> None:
    number = 4 if dice[0] == dice[1] else 2
    assert texts(board({4: 6}, FAR_AWAY), dice) == {f"4/off({number})"}


def test_six_and_four_bear_off_from_a_full_home_board() -> None:
    assert "6/off 4/off" in texts(board(dict.fromkeys(range(1, 7), 2), FAR_AWAY), (6, 4))


def test_double_sixes_clear_the_six_point_and_then_the_next() -> None:
    assert texts(board({6: 3, 5: 4, 2: 1}, FAR_AWAY), (6, 6)) == {"6/off(3) 5/off"}


def test_double_fives_have_one_result() -> None:
    assert left_over(board({6: 2, 5: 1, 4: 3, 2: 1}, FAR_AWAY), (5, 5), INTERNATIONAL) == {(4, 4, 2, 1, 1)}


def test_a_die_below_a_higher_checker_takes_nothing_off() -> None:
    #  M: 6:2 2:2, nothing on 3, 1 or 4.
    position = board({6: 2, 2: 2}, FAR_AWAY)
    assert "6/3 2/1" in texts(position, (3, 1))
    assert not any("off" in text for text in texts(position, (3, 1)))


def test_bearing_off_is_free_so_that_a_blot_can_be_avoided() -> None:
    position = board({6: 2, 5: 2, 1: 2}, {"bar": 1})
    plays = texts(position, (6, 5))
    assert {"6/1 6/off", "6/off 5/off"} <= plays
    assert own(parse_play("6/off 6/1", position, (6, 5), INTERNATIONAL)) == {5: 2, 1: 3}
    assert own(parse_play("6/off 5/off", position, (6, 5), INTERNATIONAL)) == {6: 1, 5: 1, 1: 2}


def test_no_checker_is_borne_off_before_the_last_has_come_home() -> None:
    position = board({7: 1, 3: 3}, FAR_AWAY)
    assert "7/6 3/off" in texts(position, (3, 1))
    #  O on 6 and 4 keeps the last checker outside.
    assert texts(board({7: 1, 3: 3}, {25 - 6: 2, 25 - 4: 2}), (3, 1)) == {"3/2"}


# T13: a double may be split among checkers in five ways.


@pytest.mark.parametrize(
    "text", ["24/16", "24/18 13/11", "24/20 13/9", "24/20 13/11 7/5", "24/22 21/19 13/11 7/5"]
)  # 4, 3+1, 2+2, 2+1+1, 1+1+1+1
def test_double_twos_may_be_split_in_every_way(text: str) -> None:
    assert text in texts(board({24: 2, 21: 2, 13: 5, 7: 3, 3: 3}, {24: 2}), (2, 2))


# T23: the ban on hitting and running at home. The start position, but O has one blot on M's 4 and one on M's 1.

BLOT_ON_4 = board({24: 2, 13: 5, 8: 3, 6: 5}, {24: 1, 21: 1, 13: 5, 8: 3, 6: 5})


@pytest.mark.parametrize(("dice", "free", "banned"), [((4, 2), 19, 18), ((2, 2), 75, 66), ((3, 1), 16, 16)])
def test_number_of_plays_with_and_without_the_ban(dice: tuple[int, int], free: int, banned: int) -> None:
    assert len(legal_plays(BLOT_ON_4, dice, TAVLA)) == free
    assert len(legal_plays(BLOT_ON_4, dice, BANNED)) == banned


def test_the_ban_excludes_exactly_the_checker_that_hits_and_runs() -> None:
    assert texts(BLOT_ON_4, (4, 2), TAVLA) - texts(BLOT_ON_4, (4, 2), BANNED) == {"8/4*/2"}


def test_a_hit_outside_the_home_board_may_run_on() -> None:
    position = board({13: 2, 8: 3, 6: 5}, {25 - 9: 1, 6: 2})
    assert "13/9*/7" in texts(position, (4, 2), BANNED)


def test_another_checker_may_run_from_the_point_of_the_hit() -> None:
    position = board({13: 2, 6: 3}, {25 - 4: 1, 24: 2})
    #  One of three that come to 4 goes on to 2: 4 stays held.
    assert "13/11(2) 6/4*/2" in texts(position, (2, 2), TAVLA) - texts(position, (2, 2), BANNED)
    assert own(parse_play("6/4* 6/4 6/4/2", position, (2, 2), BANNED)) == {13: 2, 4: 2, 2: 1}
    assert own(parse_play("13/11 6/4* 6/4/2", position, (2, 2), BANNED)) == {13: 1, 11: 1, 6: 1, 4: 1, 2: 1}


def test_a_die_is_lost_to_the_ban() -> None:
    #  M: one checker on 6; O a blot on 4, points on 5 and 1. 2 then 1 by the same checker is a hit and run, 6/5 is
    # shut.
    position = board({6: 1}, {25 - 4: 1, 25 - 5: 2})
    assert texts(position, (2, 1), TAVLA) == {"6/4*/3"}
    assert texts(position, (2, 1), BANNED) == {"6/4*"}


# T24: forced bear-off, no contact, the other checkers off.


def points(*places: int) -> Board:
    """A bear-off without contact."""
    counts: Side = {}
    for place in places:
        counts[place] = counts.get(place, 0) + 1
    return board(counts, {1: 2})


@pytest.mark.parametrize(
    ("start", "dice", "free", "forced"),
    [
        ((6, 5), (6, 1), {(4,), (5,)}, {(4,)}),
        ((3, 2), (2, 1), {(1, 1), (2,)}, {(2,)}),
        ((6, 4), (3, 1), {(5, 1), (4, 2), (3, 3), (6,)}, {(5, 1), (4, 2), (3, 3), (6,)}),
        ((4, 3, 1), (3, 1), {(3, 1), (2, 1, 1), (4,)}, {(4,)}),
        ((6, 6, 5, 5), (6, 5), {(5, 5, 1), (6, 5)}, {(6, 5)}),
    ],
)
def test_bearing_off_when_it_is_free_and_when_it_is_forced(
    start: tuple[int, ...], dice: tuple[int, int], free: set[tuple[int, ...]], forced: set[tuple[int, ...]]
) -> None:
    assert left_over(points(*start), dice, TAVLA) == free
    assert left_over(points(*start), dice, FORCED) == forced


def test_any_die_left_that_bears_off_goes_first() -> None:
    assert left_over(points(6, 6, 2), (2, 1), FORCED) == {(6, 5)}
    assert {(6, 5), (6, 4, 1)} <= left_over(points(6, 6, 2), (2, 1), TAVLA)


def test_the_forced_bear_off_never_takes_away_the_last_play() -> None:
    assert left_over(points(5), (6, 4), FORCED) == {()}


# Other starts


def test_the_named_rule_sets_start_where_their_games_do() -> None:
    assert rule_set("international").start.board.tolist() == START.tolist() == rule_set("tavla").start.board.tolist()
    nackgammon = rule_set("nackgammon")
    assert own(nackgammon.start.board) == {24: 2, 23: 2, 13: 4, 8: 3, 6: 4}
    assert pips(nackgammon.start.board) == (194, 194)
    hypergammon = rule_set("hypergammon+forced-bear-off")
    assert own(hypergammon.start.board) == {24: 1, 23: 1, 22: 1}
    assert (hypergammon.start.checkers, nackgammon.start.checkers) == (3, 15)
    for rules in (nackgammon, hypergammon):
        assert rules.utility.tolist() == INTERNATIONAL.utility.tolist()
        assert flip(rules.start.board).tolist() == rules.start.board.tolist()


def test_without_gammons_every_win_scores_one_point() -> None:
    assert replace(INTERNATIONAL, gammon_counts=False).utility.tolist() == [2, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("name", "hold"),
    [
        ("international", True),
        ("nackgammon+hit-and-run-ban", True),
        ("tavla+forced-bear-off", False),
        ("hypergammon", False),
    ],
)
def test_bear_off_databases_hold_for_free_bear_off_with_fifteen_checkers_a_side(name: str, hold: bool) -> None:
    assert rule_set(name).databases_hold is hold
