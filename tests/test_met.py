"""Match equity tables: what they say at every score, beyond their end, of the cube, and which files are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError
from engine.match import CubeOwner, MatchState, Side
from engine.met import MAX_AWAY, MatchEquityTable, known_mets, load_met, usual_met
from engine.met.cubeless import GameChances, cubeless_table
from engine.met.stakes import emg_of, game_values, mwc_of, take_points
from engine.met.table import CUBEFUL_GAMES, TRAILER_GAMMONS, make_table
from engine.rules import INTERNATIONAL, NACKGAMMON, TAVLA, rule_set

CUBEFUL = {name: load_met(name) for name in ("jacobs", "kazaross-xg2", "rockwell-kazaross", "woolsey")}
AWAY = st.integers(1, MAX_AWAY)
SINGLE_GAMES = replace(INTERNATIONAL, gammon_counts=False)
SOME = GameChances((0.38, 0.13, 0.01), (0.35, 0.12, 0.01))
CUBELESS = [cubeless_table("c", "", SOME, rules, 9) for rules in (INTERNATIONAL, TAVLA)]

GNU_XML = """<?xml version="1.0"?>
<!DOCTYPE met PUBLIC "-//GNU Backgammon//DTD Match Equity Tables//EN" "met.dtd">
<met><info><name>small</name><description>made up</description><length>2</length></info>
<pre-crawford-table type="explicit"><row><me>0.5</me><me>0.7</me></row><row><me>0.3</me><me>0.5</me></row>
</pre-crawford-table>
<post-crawford-table type="explicit" player="both"><row><me>0.5</me><me>0.485</me></row></post-crawford-table></met>
"""
XG_MET = """[Current]
Name=small
Description=made up \N{COPYRIGHT SIGN}
[PostCrawford]
Size=2
Data=0.5 0.485
[PreCrawford]
Size=2
 1=0.5 0.7
 2=0.3 0.5
"""
TOML = 'name = "small"\nsource = "made up"\npost_crawford = [0.5, 0.485]\npre_crawford = [[0.7]]\n'
GAME = 'name = "x"\nsource = "y"\nrules = "tavla"\nlength = 3\n[game]\nwin = [0.5, 0.1, 0.0]\nlose = [0.3, 0.1, 0.0]\n'


@pytest.mark.parametrize(
    ("name", "own", "opponent", "crawford", "chance"),
    [
        ("kazaross-xg2", 3, 5, False, 0.64795),
        ("kazaross-xg2", 5, 3, False, 0.35205),
        ("kazaross-xg2", 1, 4, True, 0.81436),
        ("kazaross-xg2", 4, 1, False, 0.31002),
        ("kazaross-xg2", 1, 4, False, 0.68998),
        ("kazaross-xg2", 25, 25, False, 0.5),
        ("rockwell-kazaross", 2, 4, False, 0.668586),
        ("woolsey", 15, 1, True, 0.01),
        ("jacobs", 1, 2, True, 0.69),
    ],
)
def test_the_shipped_tables_hold_what_was_published(
    name: str, own: int, opponent: int, crawford: bool, chance: float
) -> None:
    assert load_met(name).mwc(own, opponent, crawford) == pytest.approx(chance, abs=1e-12)


@given(met=st.sampled_from(list(CUBEFUL.values())), own=AWAY, opponent=AWAY, crawford=st.booleans())
def test_the_chances_of_both_sides_add_up_to_one(
    met: MatchEquityTable, own: int, opponent: int, crawford: bool
) -> None:
    assert met.mwc(own, opponent, crawford) + met.mwc(opponent, own, crawford) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", CUBEFUL)
def test_chances_grow_with_the_points_that_the_opponent_needs_also_beyond_the_end_of_the_table(name: str) -> None:
    met = CUBEFUL[name]
    assert (np.diff(met.pre_crawford, axis=1) >= 0.0).all()
    assert (np.diff(met.post_crawford) <= 0.0).all()


def test_who_needs_no_points_has_won() -> None:
    met = load_met()
    assert (met.mwc(0, 3, False), met.mwc(-2, 1, True), met.mwc(3, 0, False)) == (1.0, 1.0, 0.0)
    with pytest.raises(InputError, match="one winner"):
        met.mwc(0, 0, False)
    with pytest.raises(InputError, match=f"at most {MAX_AWAY}"):
        met.mwc(2, MAX_AWAY + 1, False)


def test_beyond_its_end_a_table_follows_the_documented_formulas() -> None:
    met = load_met("woolsey")  # ends at 15

    def m(own: int, opponent: int) -> float:
        return met.mwc(own, opponent, True)

    walk = sum(chance * (m(12 - n, 17) + m(12, 17 - n)) for n, chance in CUBEFUL_GAMES.items()) / 2
    assert m(12, 17) == pytest.approx(walk, abs=1e-11)
    post = met.post_crawford
    assert post[16] == pytest.approx(((1 - TRAILER_GAMMONS) * post[14] + TRAILER_GAMMONS * post[12]) / 2, abs=1e-12)
    lost = ((1 - TRAILER_GAMMONS) * post[18] + TRAILER_GAMMONS * post[17]) / 2
    assert m(1, 20) == pytest.approx(1.0 - lost, abs=1e-11)


@pytest.mark.parametrize("name", ["kazaross-xg2", "jacobs"])
def test_a_table_that_is_cut_short_is_found_again_by_carrying_it_on(name: str) -> None:
    whole = load_met(name)
    cut = make_table("cut", "", whole.pre_crawford[:11, :11].tolist(), whole.post_crawford[:11].tolist())
    error = np.abs(cut.pre_crawford - whole.pre_crawford)[:25, :25]
    assert error.max() < 0.005
    assert error.mean() < 0.0015


def test_after_a_game_the_crawford_game_comes_once() -> None:
    met = load_met()
    before = MatchState(length=5, score=(3, 1))
    assert met.after(before, Side.MOVER, 1) == met.mwc(1, 4, True)
    crawford = MatchState(length=5, score=(4, 1), crawford=True)
    assert met.after(crawford, Side.OPPONENT, 1) == met.mwc(1, 3, False)
    assert met.after(crawford, Side.MOVER, 1) == 1.0
    assert met.after(before, Side.OPPONENT, 4) == 0.0
    without = MatchState(length=5, score=(3, 1), crawford_rule=False)
    assert met.after(without, Side.MOVER, 1) == met.mwc(1, 4, False)


def test_a_money_game_has_no_match_equity() -> None:
    with pytest.raises(InputError, match="a money game"):
        load_met().before(MatchState())


def test_game_values_are_chances_at_this_cube_and_at_the_doubled_one() -> None:
    met = load_met()
    match = MatchState(length=7, score=(3, 2))
    values = match.game_values(met)
    here = [met.mwc(*away, True) for away in ((3, 5), (2, 5), (1, 5), (4, 4), (4, 3), (4, 2))]
    doubled = [met.mwc(2, 5, True), 1.0, 1.0, met.mwc(4, 3, True), met.mwc(4, 1, True), 0.0]
    assert values == pytest.approx(np.array([here, doubled]), abs=1e-12)
    assert game_values(match, met, 3).shape == (4, 6)


def test_in_money_play_game_values_are_points_and_jacoby_halves_them_until_a_double_is_taken() -> None:
    jacoby = MatchState(jacoby=True).game_values(None)
    assert jacoby.tolist() == [[1, 1, 1, -1, -1, -1], [2, 4, 6, -2, -4, -6]]
    owned = MatchState(jacoby=True, cube_value=2, cube_owner=CubeOwner.MOVER).game_values(None, 0)
    assert owned.tolist() == [[2, 4, 6, -2, -4, -6]]


def test_the_rule_set_says_which_ends_of_a_game_count() -> None:
    assert MatchState(rules=TAVLA).game_values(None, 0).tolist() == [[1, 2, 2, -1, -2, -2]]
    assert MatchState(rules=SINGLE_GAMES).game_values(None, 0).tolist() == [[1, 1, 1, -1, -1, -1]]


def test_a_match_needs_a_table() -> None:
    with pytest.raises(InputError, match="since this is a match"):
        game_values(MatchState(length=5), None)


@given(st.integers(2, 25), st.integers(2, 25), st.floats(0.0, 1.0))
def test_normalised_equity_is_one_for_a_single_win_and_turns_back_into_the_chance(a: int, b: int, mwc: float) -> None:
    met, match = CUBEFUL["kazaross-xg2"], MatchState(length=30, score=(30 - a, 30 - b))
    assert emg_of(met.after(match, Side.MOVER, 1), match, met) == pytest.approx(1.0)
    assert emg_of(met.after(match, Side.OPPONENT, 1), match, met) == pytest.approx(-1.0)
    assert mwc_of(emg_of(mwc, match, met), match, met) == pytest.approx(mwc)
    assert emg_of(mwc, match, met) == pytest.approx(-emg_of(1.0 - mwc, match.flip(), met), abs=1e-6)


def test_in_money_play_normalised_equity_is_points_divided_by_the_cube() -> None:
    match = MatchState(cube_value=4, cube_owner=CubeOwner.MOVER)
    assert (emg_of(6.0, match, None), mwc_of(1.5, match, None)) == (1.5, 6.0)


def test_in_money_play_the_take_point_is_a_quarter_dead_a_fifth_live_and_a_gammon_is_worth_half() -> None:
    own, opponent = take_points(MatchState(), None)
    assert own == opponent
    assert own.take_point_dead == 0.25
    assert own.take_point_live == pytest.approx(0.2, abs=1e-6)
    assert (own.gammon_value, own.backgammon_value) == (0.5, 0.5)


def test_the_last_cube_of_money_play_is_dead() -> None:
    last = take_points(MatchState(cube_value=32, cube_cap=64), None)[0]
    assert last.take_point_live == last.take_point_dead == 0.25
    one_before = take_points(MatchState(cube_value=16, cube_cap=64), None)[0]
    assert one_before.take_point_live == 0.25 * (1 - 0.25)
    assert take_points(MatchState(cube_value=64, cube_cap=64), None)[0].take_point_dead is None


def test_gammons_are_worth_nothing_where_they_count_for_nothing() -> None:
    met = load_met()
    assert take_points(MatchState(jacoby=True), None)[0].gammon_value == 0.0
    leader = take_points(MatchState(length=5, score=(4, 2)), met)[0]
    assert (leader.gammon_value, leader.backgammon_value) == (0.0, 0.0)
    assert take_points(MatchState(length=5, score=(1, 1), cube_value=4), met)[0].gammon_value == 0.0


def test_a_trailer_who_redoubles_at_once_plays_the_match_for_what_passing_leaves_him() -> None:
    # 4-away, doubled by a leader who needs two: all or nothing at 4, against his chance at 1-away 4-away, Crawford.
    met = load_met()
    trailer = take_points(MatchState(length=7, score=(3, 5)), met)[0]
    assert trailer.take_point_dead == pytest.approx(met.mwc(4, 1, True))
    assert trailer.take_point_live == pytest.approx(met.mwc(4, 1, True))


def test_live_take_points_leave_out_the_games_that_a_redouble_wins() -> None:
    # 3-away doubled from 1 to 2 by an opponent 5-away. At 4 the cube wins the match for the taker and is dead; the
    # opponent passes it with less than (m(3, 3) - m(3, 1)) / (1 - m(3, 1)), all of what follows at the doubled cube.
    met = load_met()
    taker = take_points(MatchState(length=5, score=(0, 2)), met)[0]
    passed, lost, won = met.mwc(5, 2, True), met.mwc(5, 1, True), met.mwc(3, 3, True)
    dead = (passed - lost) / (won - lost)
    opponents = (met.mwc(3, 3, True) - met.mwc(3, 1, True)) / (1.0 - met.mwc(3, 1, True))
    assert taker.take_point_dead == pytest.approx(dead)
    assert taker.take_point_live == pytest.approx(dead * (1 - opponents))


def test_the_leader_has_a_free_drop_post_crawford_when_the_trailer_needs_an_even_number() -> None:
    met = load_met()
    even, odd = (take_points(MatchState(length=7, score=(6, 7 - away)), met)[0] for away in (4, 5))
    assert even.take_point_dead is not None
    assert odd.take_point_dead is not None
    assert even.take_point_dead > odd.take_point_dead
    assert odd.take_point_dead < 0.4


def test_nobody_doubles_in_the_crawford_game_or_without_a_cube() -> None:
    met = load_met()
    for match in (MatchState(length=5, score=(4, 2), crawford=True), MatchState(length=5, rules=TAVLA)):
        for stakes in take_points(match, met):
            assert stakes.take_point_dead is None
            assert stakes.take_point_live is None


def test_a_cubeless_table_is_the_recursion_that_one_can_do_by_hand() -> None:
    # Tavla: the winner begins the next game. The side that begins wins 0.4 + 0.2 (gammon), loses 0.3 + 0.1.
    met = cubeless_table("t", "", GameChances((0.4, 0.2, 0.0), (0.3, 0.1, 0.0)), TAVLA, 3)
    assert met.starting is not None
    s11 = 0.6
    assert met.starting[0, 0] == s11
    s12 = 0.6 + 0.3 * (1 - s11) + 0.1 * (1 - 1.0)  # wins at once, or loses one point and then does not begin
    s21 = 0.4 * s11 + 0.2 * 1.0 + 0.4 * 0.0
    assert met.starting[0, 1] == pytest.approx(s12 + 0.0)
    assert met.starting[1, 0] == pytest.approx(s21)
    s22 = 0.4 * s12 + 0.2 + 0.3 * (1 - s12)
    assert met.starting[1, 1] == pytest.approx(s22)
    assert met.mwc(1, 2, False) == pytest.approx((s12 + 1 - s21) / 2)
    assert met.mwc(2, 2, False) == 0.5
    match = MatchState(length=3, score=(1, 1), rules=TAVLA)
    assert met.after(match, Side.MOVER, 1) == pytest.approx(s12)  # he leads and begins
    assert met.after(match, Side.OPPONENT, 1) == pytest.approx(1 - s12)
    assert met.after(match, Side.MOVER, 2) == 1.0


def test_where_an_opening_roll_decides_who_begins_a_cubeless_table_weighs_both_sides_equally() -> None:
    met = cubeless_table("c", "", SOME, INTERNATIONAL, 5)
    assert met.starting is None
    single, gammon, backgammon = 0.365, 0.125, 0.01  # the mean over who begins
    assert met.mwc(1, 2, True) == pytest.approx(0.5 + single * 0.5)
    m13 = 0.5 + single * met.mwc(1, 2, True) + gammon * 0.5
    assert met.mwc(1, 3, False) == pytest.approx(m13)
    m23 = single * (m13 + 0.5) + gammon * (1.0 + met.mwc(2, 1, True)) + backgammon * 1.0
    assert met.mwc(2, 3, False) == pytest.approx(m23)


@given(AWAY, AWAY)
def test_cubeless_tables_are_symmetric_and_know_no_crawford_game(own: int, opponent: int) -> None:
    for met in CUBELESS:
        assert met.mwc(own, opponent, True) == pytest.approx(met.mwc(own, opponent, False), abs=1e-11)
        assert met.mwc(own, opponent, False) + met.mwc(opponent, own, False) == pytest.approx(1.0, abs=1e-11)


def test_kinds_of_win_that_do_not_count_score_as_the_lower_kind() -> None:
    rows = [(points, round(won, 9), round(lost, 9)) for points, won, lost in SOME.by_points(TAVLA)]
    assert rows == [(1, 0.38, 0.35), (2, 0.14, 0.13)]
    assert [points for points, _, _ in SOME.by_points(SINGLE_GAMES)] == [1]


def test_chances_of_a_game_add_up_to_one() -> None:
    with pytest.raises(InputError, match="add up to 1"):
        GameChances((0.5, 0.2, 0.0), (0.2, 0.2, 0.0))


def test_equal_values_have_equal_digests_and_others_do_not(tmp_path: Path) -> None:
    digests = {load_met(name).digest for name in known_mets()}
    assert len(digests) == len(known_mets())
    for name, text in (("a.toml", TOML), ("b.xml", GNU_XML), ("c.met", XG_MET)):
        (tmp_path / name).write_bytes(text.encode("cp1252"))
    tables = [load_met(str(tmp_path / name)) for name in ("a.toml", "b.xml", "c.met")]
    assert len({table.digest for table in tables}) == 1
    assert [(table.name, table.source[:7], table.length) for table in tables] == [("small", "made up", 2)] * 3


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("a.toml", TOML.replace("[[0.7]]", "[[0.7], [0.6]]"), "2 chances in row 1, not 1"),
        ("a.toml", TOML.replace("0.7", "1.7"), "chances between 0 and 1"),
        ("a.toml", TOML.replace("0.7", "0.4"), "grow with the points"),
        ("a.toml", TOML.replace("[0.5, 0.485]", "[0.45, 0.4]"), "two equal sides"),
        ("a.toml", TOML.replace("0.7", '"x"'), "fields of the right kind"),
        ("a.toml", TOML.replace("source", "sauce"), "no field 'sauce'"),
        ("a.toml", 'name = "small"\nsource = ""\npre_crawford = [[0.7]]\n', "the field post_crawford"),
        ("a.toml", "name = ", "a TOML file"),
        ("a.toml", GAME.replace("0.5", "0.7"), "six chances that add up to 1"),
        ("a.toml", GAME.replace("length = 3", "length = 0"), "1 to 128"),
        ("a.toml", GAME.replace("tavla", "chess"), "one of international"),
        ("a.xml", GNU_XML.replace("<me>0.3</me>", "<me>0.2</me>"), "two equal sides"),
        ("a.xml", GNU_XML.replace("explicit", "zadeh"), "not parameters"),
        ("a.xml", GNU_XML.replace("</met>", ""), "an XML file"),
        ("a.xml", GNU_XML.replace("0.485", "half"), "a number, not 'half'"),
        ("a.xml", GNU_XML.replace('"met.dtd">', '"met.dtd" [<!ENTITY a "b">]>'), "without entities"),
        ("a.xml", "<html/>", "a <met>"),
        ("a.met", XG_MET.replace("[PreCrawford]", "[Pre]"), "PreCrawford"),
        ("a.met", XG_MET.replace(" 2=0.3 0.5", " 2=0.3"), "as many columns as rows"),
        ("a.met", "no ini file", "sections Current"),
        ("a.txt", TOML, "or a file .toml"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_one_line(tmp_path: Path, file: str, text: str, reason: str) -> None:
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_met(str(path))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_met(str(tmp_path / "none.met"))
    with pytest.raises(InputError, match="kazaross-xg2"):
        load_met("none")


@pytest.mark.parametrize(
    ("match", "name"),
    [
        (MatchState(length=5), "kazaross-xg2"),
        (MatchState(length=5, rules=NACKGAMMON), "kazaross-xg2"),
        (MatchState(length=5, cube_cap=1), "cubeless"),
        (MatchState(length=5, rules=rule_set("tavla+hit-and-run-ban")), "tavla"),
    ],
)
def test_every_match_has_its_usual_table(match: MatchState, name: str) -> None:
    assert usual_met(match) == name
    assert load_met(name).cube is (name == "kazaross-xg2")
