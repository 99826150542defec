"""Values with the cube: one outcome by the model's definitions, searches by plain recursion, exact endings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import random_net
from oracles import cube as oracle
from oracles.moves import Position as PlainPosition
from oracles.rollout import ONE, Outcome
from strategies import matches

from engine.bearoff import Bearoff
from engine.board import START, Board, flip, make_board
from engine.cube import MOST_STATES, CubeQuestion, make_question
from engine.cubeful import CubefulEvaluator, make_cube_space
from engine.efficiency import CLASSES, CubeEfficiency, load_efficiency
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.cube import POINT, static_values_of
from engine.match import CubeOwner, MatchState
from engine.met import load_met
from engine.rules import INTERNATIONAL, TAVLA

MET = load_met()
NETS = Nets(random_net(4))
SPACE = make_cube_space()

# In the view of the player on roll.
SHOTS = make_board([0, 1, 2, 0, 1] + [0] * 11 + [-2, 0, -1, 0, -1, 0, -1, 0, 0, 0])
LAST_FEW = make_board([0, 1, 0, 1] + [0] * 17 + [0, -1, 0, -1, 0])

MONEY = MatchState()
OWN = MatchState(cube_value=2, cube_owner=CubeOwner.MOVER)
OPPONENTS = MatchState(cube_value=2, cube_owner=CubeOwner.OPPONENT)
SESSION = MatchState(jacoby=True, beaver=True)
CAPPED = MatchState(cube_value=2, cube_owner=CubeOwner.MOVER, cube_cap=8, beaver=True)
MATCH = MatchState(length=7, score=(3, 2))
AHEAD = MatchState(length=5, score=(3, 1), cube_value=2, cube_owner=CubeOwner.OPPONENT)
AFTER_CRAWFORD = MatchState(length=5, score=(4, 2))
STATES = {
    "centred": MONEY,
    "own": OWN,
    "opponent's": OPPONENTS,
    "jacoby and beavers": SESSION,
    "capped": CAPPED,
    "match": MATCH,
    "cube of the trailer": AHEAD,
    "post-Crawford": AFTER_CRAWFORD,
}


def constant(x: float) -> CubeEfficiency:
    """The same efficiency everywhere."""
    return CubeEfficiency("constant", "this test", np.array([[x, 0.0, x, x]] * len(CLASSES)))


def question_of(match: MatchState, x: float = 0.68) -> CubeQuestion:
    return make_question(match, MET, constant(x))


def stakes_of(match: MatchState) -> oracle.Stakes:
    """What the oracle plays for."""
    left = (match.cube_cap // match.cube_value).bit_length() - 1
    if match.is_money:
        return oracle.money(oracle.ENDLESS if left > 5 else left, match.jacoby, match.beaver)
    away = match.away
    assert away is not None
    top = max(t for t in range(12) if match.cube_value << t < 2 * max(away))
    mover = [[Fraction(2) * Fraction(float(m)) - 1 for m in row] for row in match.game_values(MET, top)]
    other = [[-u for u in row[3:] + row[:3]] for row in mover]
    usable = 0 if match.crawford or match.length == 1 else left
    useful = tuple([t < min(usable, top) and points > match.cube_value << t for t in range(top + 1)] for points in away)
    return oracle.Stakes((mover, other), (useful[0], useful[1]))


def cube_of(match: MatchState) -> oracle.Cube:
    owner = {CubeOwner.CENTRED: None, CubeOwner.MOVER: 0, CubeOwner.OPPONENT: 1}[match.cube_owner]
    return oracle.Cube(owner, 0)


@st.composite
def outcomes(draw: st.DrawFn) -> list[int]:
    """Five consistent chances in 1/2**20."""
    win = draw(st.integers(0, ONE))
    gammon = draw(st.integers(0, win))
    lose_gammon = draw(st.integers(0, ONE - win))
    return [win, gammon, draw(st.integers(0, gammon)), lose_gammon, draw(st.integers(0, lose_gammon))]


# One outcome


@settings(max_examples=60)
@given(outcomes(), st.sampled_from(sorted(STATES)), st.sampled_from([0.0, 0.68, 1.0]))
def test_a_value_is_part_dead_and_part_live_by_definition(outcome: list[int], state: str, x: float) -> None:
    match = STATES[state]
    question = question_of(match, x)
    game = question.game
    model = oracle.Model(outcome, stakes_of(match), Fraction(x))
    static_values_of(np.array(outcome), x, len(game.owner), game, SPACE)
    for s, (owner, turns) in enumerate(zip(game.owner.tolist(), game.turns.tolist(), strict=True)):
        exact = model.value(0, oracle.Cube(None if owner < 0 else owner, turns))
        assert abs(int(SPACE.rolling[s]) - exact * POINT) <= 1 + POINT * 1e-7 * game.unlimited


@given(outcomes())
def test_a_dead_money_cube_is_worth_the_cubeless_equity(outcome: list[int]) -> None:
    win, gammon, backgammon, lose_gammon, lose_backgammon = outcome
    cubeless = (2 * win - ONE + gammon + backgammon - lose_gammon - lose_backgammon) * (POINT // ONE)
    for match in (MONEY, OWN, OPPONENTS):
        game = question_of(match, 0.0).game
        static_values_of(np.array(outcome), 0.0, 1, game, SPACE)
        assert abs(int(SPACE.rolling[0]) - cubeless) <= 1


def test_jacoby_counts_no_gammon_on_a_centred_cube_only() -> None:
    many_gammons = np.array([ONE // 2, ONE // 2, 0, 0, 0])
    static_values_of(many_gammons, 0.0, 1, question_of(SESSION, 0.0).game, SPACE)
    assert SPACE.rolling[0] == 0
    owned = replace(SESSION, cube_value=2, cube_owner=CubeOwner.MOVER)
    static_values_of(many_gammons, 0.0, 1, question_of(owned, 0.0).game, SPACE)
    assert SPACE.rolling[0] == POINT // 2


@pytest.mark.parametrize(
    "match",
    [
        MatchState(length=5, score=(4, 2), crawford=True),
        MatchState(length=1),
        MatchState(length=5, score=(3, 3), cube_value=2, cube_owner=CubeOwner.MOVER),
        MatchState(length=7, score=(1, 2), cube_value=4, cube_owner=CubeOwner.OPPONENT, cube_cap=4),
    ],
    ids=["Crawford", "one point", "both win the match with the cube", "cap"],
)
def test_a_cube_that_nobody_can_use_leaves_the_chance_to_win_the_match(match: MatchState) -> None:
    outcome = np.array([600_000, 200_000, 10_000, 100_000, 5_000])
    game = question_of(match, 1.0).game
    assert len(game.owner) == 1
    static_values_of(outcome, 1.0, 1, game, SPACE)
    exclusive = [400_000, 190_000, 10_000, ONE - 600_000 - 100_000, 95_000, 5_000]
    expected = float(np.dot(exclusive, match.game_values(MET, 0)[0]) / ONE)
    assert question_of(match).mwc(int(SPACE.rolling[0])) == pytest.approx(expected, abs=1e-8)


@settings(max_examples=50)
@given(matches())
def test_every_match_state_has_its_game_of_the_cube_within_the_work_space(match: MatchState) -> None:
    game = question_of(match).game
    assert len(game.owner) <= MOST_STATES
    assert game.counts.tolist() == sorted(game.counts.tolist())
    assert game.counts[-1] == len(game.owner)
    assert len(set(zip(game.owner.tolist(), game.turns.tolist(), strict=True))) == len(game.owner)


def test_equity_and_chance_say_the_same_at_a_score() -> None:
    question = question_of(MATCH)
    single = MATCH.game_values(MET, 0)[0]
    assert question.equity(question.points(0)) == pytest.approx(1.0, abs=1e-8)
    assert question.equity(question.points(3)) == pytest.approx(-1.0, abs=1e-8)
    assert question.mwc(question.points(1)) == pytest.approx(float(single[1]), abs=1e-9)
    assert question_of(MONEY).mwc(POINT) is None


# Looking ahead


def evaluator(x: float = 0.68) -> CubefulEvaluator:
    return CubefulEvaluator(Evaluator(NETS), MET, constant(x))


def searcher(match: MatchState) -> oracle.CubeSearcher:
    nets = Evaluator(NETS)
    known: dict[PlainPosition, Outcome] = {}

    def values(plays: list[PlainPosition]) -> list[Outcome]:
        new = [play for play in plays if play not in known]
        if new:
            found = nets.after_positions(np.array(new, dtype=np.int8)).tolist()
            known.update(zip(new, map(tuple, found), strict=True))
        return [known[play] for play in plays]

    one, other = question_of(match).utilities
    return oracle.CubeSearcher(values, stakes_of(match), Fraction(0.68), (one.tolist(), other.tolist()), INTERNATIONAL)


def plain(board: Board) -> PlainPosition:
    return tuple(int(count) for count in board)


def check_search(board: Board, match: MatchState, level: int) -> None:
    """Rolling, and rolling after a double that is taken, against plain recursion."""
    found = evaluator().before_roll(board, match, level)
    after = plain(flip(board))
    cube = cube_of(match)
    expected = [searcher(match).rolling(after, cube, 0, level)]
    actual = [found.no_double]
    if found.can_double:
        expected.append(searcher(match).rolling(after, oracle.Cube(1, cube.turns + 1), 0, level))
        actual.append(found.taken)
    for value, exact in zip(actual, expected, strict=True):
        # Each leaf and each node is rounded once; a doubled value counts twice.
        assert abs(value - exact * POINT) <= 2 * level + POINT * 2e-7 * found.question.game.unlimited


@pytest.mark.parametrize("state", STATES)
def test_2_ply_equals_plain_recursion(state: str) -> None:
    check_search(SHOTS, STATES[state], 2)


@pytest.mark.parametrize("state", ["centred", "jacoby and beavers", "match"])
def test_3_ply_equals_plain_recursion(state: str) -> None:
    check_search(LAST_FEW, STATES[state], 3)


def test_2_ply_of_the_start_equals_plain_recursion() -> None:
    check_search(START, MATCH, 2)


def test_a_state_is_worth_the_same_whichever_question_it_belongs_to() -> None:
    asked = evaluator()
    centred = asked.before_roll(SHOTS, MONEY, 3)
    assert centred.taken == 2 * asked.before_roll(SHOTS, OPPONENTS, 3).no_double
    with_beavers = asked.before_roll(SHOTS, replace(MONEY, beaver=True), 3)
    assert with_beavers.question.game.beavered[0, 0] == with_beavers.question.game.taken[0, 0]


def test_what_was_asked_before_changes_no_bit() -> None:
    fresh, used = evaluator(), evaluator()
    for match in (MATCH, MONEY):
        for level in (3, 4, 3):
            used.before_roll(LAST_FEW, match, level)
    assert used.before_roll(SHOTS, AHEAD, 3).rolling.tolist() == fresh.before_roll(SHOTS, AHEAD, 3).rolling.tolist()


# Endings


def test_the_two_sided_database_answers_exactly_at_every_level(databases: Bearoff) -> None:
    asked = CubefulEvaluator(Evaluator(NETS, databases.arrays), MET)
    board = make_board([0, 2, 1, 0, 1, 0, 1] + [0] * 13 + [-1, 0, -2, 0, -1, 0])
    cubeless, owned, centred, opponent_owns = databases.two_sided(board)
    for level in (1, 2, 3):
        for match, expected in ((MONEY, centred), (OWN, owned), (OPPONENTS, opponent_owns), (SESSION, centred)):
            found = asked.before_roll(board, match, level)
            assert found.no_double / POINT == expected
            assert asked.is_exact(board, match)
            assert found.outcome[0] / ONE == pytest.approx((cubeless + 1) / 2, abs=1e-6)
        assert asked.before_roll(board, MONEY, level).taken / POINT == 2 * opponent_owns
    assert not asked.is_exact(board, MATCH)
    assert not asked.is_exact(START, MONEY)


# Plays


def test_plays_are_ranked_by_their_value_with_the_cube_and_the_score() -> None:
    asked = evaluator()
    ranked = asked.rank_plays(START, (3, 1), MATCH)
    assert [play.equity for play in ranked] == sorted((play.equity for play in ranked), reverse=True)
    for play in ranked:
        after = asked.before_roll(flip(play.after), MATCH.flip(), 1)
        assert after.question.mwc(after.best) == pytest.approx(1.0 - (play.mwc or 0.0), abs=1e-8)
    cubeless = [play.cubeless.equity for play in ranked]
    assert cubeless != sorted(cubeless, reverse=True)


def test_plays_after_which_the_opponent_cashes_are_ranked_without_the_cube(databases: Bearoff) -> None:
    # The opponent needs two rolls at most, the mover two more at least: with a cube to turn the opponent always cashes.
    board = make_board([0, 0, 0, 0, 1, 2, 1] + [0] * 13 + [-1, -1, 0, 0, 0, 0])
    ranked = CubefulEvaluator(Evaluator(NETS, databases.arrays)).rank_plays(board, (2, 1), MONEY)
    cubeless = [play.cubeless.equity for play in ranked]
    assert {play.equity for play in ranked} == {-1.0}
    assert len(set(cubeless)) > 1
    assert cubeless == sorted(cubeless, reverse=True)


def test_a_match_needs_a_table() -> None:
    with pytest.raises(InputError, match="match equity table"):
        CubefulEvaluator(Evaluator(NETS)).before_roll(START, MATCH)


def test_without_a_cube_in_the_rules_money_is_cubeless() -> None:
    asked = evaluator()
    found = asked.before_roll(START, MatchState(rules=TAVLA))
    assert not found.can_double
    cubeless = float(found.outcome @ TAVLA.utility) / ONE - 1.0
    assert found.no_double / POINT == pytest.approx(cubeless, abs=1e-8)


# Efficiency


def test_efficiency_depends_on_the_class_and_in_races_on_the_pips_of_the_player_on_roll() -> None:
    asked = CubefulEvaluator(Evaluator(NETS), MET, load_efficiency("published"))
    long_race = make_board([0] * 4 + [5, 5, 5] + [0] * 12 + [-5, -5, -5, 0, 0, 0, 0])
    middle_race = make_board([0] * 6 + [5, 0, 0, 5] + [0] * 9 + [-5, -5, -5] + [0] * 4)
    assert asked.efficiency_before_roll(START, MONEY) == 0.68
    assert asked.efficiency_before_roll(long_race, MONEY) == 0.6  # a bear-off
    assert asked.efficiency_before_roll(middle_race, MONEY) == pytest.approx(0.55 + 0.00125 * 75)
    assert asked.efficiency_before_roll(flip(middle_race), MONEY) == pytest.approx(0.55 + 0.00125 * 75)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("least = 0.6\n", "", 1), "least"),
        (("constant = 0.6\n", "constant = 'high'\n", 1), "numbers in"),
        (("most = 0.7\n", "most = 1.7\n", 1), "most <= 1"),
        (("[crunched]", "[crashed]", 1), "crunched"),
        (("[race]", "[race", 1), "TOML"),
    ],
)
def test_a_malformed_efficiency_is_refused(tmp_path: Path, change: tuple[str, str, int], words: str) -> None:
    good = Path(__file__).parent.parent / "configs" / "cube" / "published.toml"
    path = tmp_path / "mine.toml"
    path.write_text(good.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        load_efficiency(str(path))
    with pytest.raises(InputError, match="published"):
        load_efficiency("nothing")
