"""Why a play is better: which facts are found, which two are told, and the sentences in three languages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import board_of, boards, rolls

from engine.analysis.comparison import (
    MOST_REASONS,
    Advantage,
    Candidate,
    Fact,
    Reason,
    Setting,
    advantages,
    escaping_rolls,
    longest_prime,
    reasons,
    shots,
)
from engine.analysis.explanation import play_sentence
from engine.analysis.language import Language
from engine.analysis.plans import plan_sentence, type_name
from engine.analysis.position_type import PositionType, TypedPosition
from engine.board import START, Board
from engine.match import Side
from engine.moves import legal_plays
from engine.notation import parse_play
from engine.rules import INTERNATIONAL, rule_set

Roll = tuple[int, int]

OTHER = {24: 2, 13: 5, 8: 3, 6: 5}
BLOT_ON_FIVE = board_of(OTHER, {24: 1, 20: 1, 13: 5, 8: 3, 6: 5})
TRAPPED = board_of({24: 1, 23: 1, 13: 3, 8: 4, 7: 2, 6: 2, 5: 2}, {24: 2, 13: 3, 8: 3, 6: 3, 5: 2, 4: 2})
WAITING = board_of({20: 2, 13: 3, 8: 3, 6: 4, 5: 3}, {24: 1, 13: 4, 8: 4, 6: 4, 4: 2})
BEARING_OFF = board_of({6: 2, 5: 2, 3: 1, 2: 1}, {24: 1, 6: 5, 5: 5, 4: 4})


def after(board: Board, dice: Roll, play: str, rules: str = "international") -> Candidate:
    return Candidate(parse_play(play, board, dice, rule_set(rules)))


def facts(board: Board, dice: Roll, best: str, other: str) -> dict[Fact, tuple[float, float]]:
    found = advantages(board, after(board, dice, best), after(board, dice, other))
    return {one.fact: (one.best, one.other) for one in found}


def told(board: Board, dice: Roll, best: str, other: str, language: Language) -> str:
    return play_sentence(reasons(board, after(board, dice, best), after(board, dice, other)), language)


# --- facts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "dice", "best", "other", "fact", "counts"),
    [
        (BLOT_ON_FIVE, (3, 1), "8/5* 6/5", "6/2", Fact.HITS, (1, 0)),
        (BLOT_ON_FIVE, (3, 1), "8/5* 6/5", "6/2", Fact.BLOTS, (0, 1)),
        (BLOT_ON_FIVE, (3, 1), "8/5* 6/5", "6/2", Fact.HOME_POINTS, (2, 1)),
        (START, (3, 1), "8/5 6/5", "24/20", Fact.POINTS_MADE, (1, 0)),
        (START, (3, 1), "8/5 6/5", "24/21 6/5", Fact.SHOTS, (0, 36)),
        (START, (6, 2), "24/16", "13/5", Fact.BACK_CHECKERS, (1, 2)),
        (TRAPPED, (1, 1), "24/23 8/7(3)", "8/7(2) 6/5(2)", Fact.ANCHOR_MADE, (1, 0)),
        (TRAPPED, (4, 4), "13/9(2) 8/4(2)", "13/9(3) 8/4", Fact.PRIME, (6, 5)),
        (WAITING, (6, 5), "13/7 13/8", "20/9", Fact.ANCHOR_KEPT, (1, 0)),
        (BEARING_OFF, (6, 5), "6/off 5/off", "6/off 6/1", Fact.BORNE_OFF, (2, 1)),
    ],
    ids=lambda value: value.name if isinstance(value, Fact) else "",
)
def test_a_difference_on_the_board_is_found(
    board: Board, dice: Roll, best: str, other: str, fact: Fact, counts: tuple[float, float]
) -> None:
    assert facts(board, dice, best, other)[fact] == counts


def test_gammons_are_compared_where_both_plays_have_their_chances() -> None:
    best, other = after(START, (3, 1), "8/5 6/5"), after(START, (3, 1), "13/10 24/23")
    assert not {Fact.GAMMONS_WON, Fact.GAMMONS_LOST} & {one.fact for one in advantages(START, best, other)}
    better = Candidate(best.after, (0.55, 0.17, 0.01, 0.10, 0.0))
    worse = Candidate(other.after, (0.50, 0.12, 0.01, 0.13, 0.0))
    found = {one.fact: one for one in advantages(START, better, worse)}
    assert (found[Fact.GAMMONS_WON].best, found[Fact.GAMMONS_WON].other) == (0.17, 0.12)
    assert (found[Fact.GAMMONS_LOST].best, found[Fact.GAMMONS_LOST].other) == (0.10, 0.13)


def test_gammons_that_are_worth_nothing_are_no_reason() -> None:
    better = Candidate(after(START, (3, 1), "8/5 6/5").after, (0.55, 0.17, 0.01, 0.10, 0.0))
    worse = Candidate(after(START, (3, 1), "13/10 24/23").after, (0.50, 0.12, 0.01, 0.13, 0.0))
    only_mine = {one.fact for one in advantages(START, better, worse, Setting(gammon_worth=(1.0, 0.0)))}
    assert Fact.GAMMONS_WON in only_mine
    assert Fact.GAMMONS_LOST not in only_mine


@pytest.mark.parametrize(("play", "rolls_that_hit"), [("24/14", 29), ("24/18 13/9", 36), ("8/2 6/2", 0)])
def test_shots_are_the_rolls_that_can_hit(play: str, rolls_that_hit: int) -> None:
    assert shots(after(START, (6, 4), play).after, INTERNATIONAL).rolls == rolls_that_hit


def test_a_shot_at_a_checker_that_has_hardly_left_costs_next_to_nothing() -> None:
    # Both shooters stand one pip away, so the 11 rolls with a 1 hit: for 1 pip, or 20.
    for place, pips in ((24, 1), (5, 20)):
        board = board_of({place: 1, 3: 5, 2: 5, 1: 4}, {26 - place: 2})
        found = shots(board, INTERNATIONAL)
        assert (found.rolls, found.pips) == (11, 11 * pips)


def test_the_hit_and_run_ban_does_not_change_what_can_be_hit() -> None:
    board = after(START, (6, 4), "24/14").after
    assert shots(board, rule_set("tavla+hit-and-run-ban")).rolls == shots(board, INTERNATIONAL).rolls


def test_blots_that_nobody_can_hit_any_more_are_no_blots() -> None:
    race = board_of({10: 1, 6: 5, 5: 5, 4: 4}, {12: 1, 6: 5, 5: 5, 4: 4})
    assert shots(race, INTERNATIONAL).rolls == 0
    assert facts(race, (4, 3), "10/6 6/3", "10/7 6/2") == {}


def test_a_prime_counts_where_somebody_stands_behind_it() -> None:
    prime = {8: 2, 7: 2, 6: 2, 4: 2, 3: 2}
    assert longest_prime(board_of({**prime, 5: 2}, {24: 1})) == 6
    assert longest_prime(board_of(prime, {20: 1})) == 3  # his place is our 5: only 6 to 8 are in front of him
    assert longest_prime(board_of(prime, {8: 1})) == 0


def test_a_full_prime_lets_nothing_out_and_an_open_board_everything() -> None:
    behind_six = board_of({24: 1}, {7: 2, 6: 2, 5: 2, 4: 2, 3: 2, 2: 2})
    assert escaping_rolls(behind_six) == 0
    assert escaping_rolls(board_of({24: 1}, {24: 2})) == 36
    # Five points ahead: only a 6 gets out, and of the rolls with a 6 only those whose other half can be played on.
    five = board_of({24: 1}, {6: 2, 5: 2, 4: 2, 3: 2, 2: 2})
    assert escaping_rolls(five) == 11


@given(boards(), rolls(), st.data())
@settings(max_examples=40)
def test_reasons_speak_for_the_best_play_only(board: Board, dice: Roll, data: st.DataObject) -> None:
    plays = legal_plays(board, dice, INTERNATIONAL)
    best, other = (Candidate(plays[data.draw(st.integers(0, len(plays) - 1))]) for _ in range(2))
    one, back = advantages(board, best, other), advantages(board, other, best)
    assert not {a.fact for a in one} & {a.fact for a in back}
    assert all(a.importance > 0 for a in one)
    chosen = reasons(board, best, other)
    assert len(chosen) <= MOST_REASONS
    assert set(chosen) <= set(one)
    assert [a.importance for a in chosen] == sorted((a.importance for a in chosen), reverse=True)
    if chosen:
        assert chosen[0].importance == max(a.importance for a in one)


@given(boards(), rolls())
@settings(max_examples=20)
def test_a_play_is_no_better_than_itself(board: Board, dice: Roll) -> None:
    play = Candidate(legal_plays(board, dice, INTERNATIONAL)[0], (0.5, 0.2, 0.1, 0.2, 0.1))
    assert reasons(board, play, play) == ()


# --- sentences -------------------------------------------------------------------------------------------------------


def test_the_worked_example_hits_and_closes_the_five_point() -> None:
    example = (BLOT_ON_FIVE, (3, 1), "8/5* 6/5", "24/20")
    assert told(*example, Language.SPANISH) == "La mejor jugada come una ficha y cierra la punta 5."
    assert told(*example, Language.ENGLISH) == "The best play hits a checker and makes the 5 point."
    assert told(*example, Language.PORTUGUESE) == "A melhor jogada captura uma peça e fecha a casa 5."


ONE = {  # a fact with small numbers and with large ones -> English, Spanish
    Advantage(Fact.HITS, 1, 0): ("hits a checker", "come una ficha"),
    Advantage(Fact.HITS, 2, 0): ("hits 2 checkers", "come 2 fichas"),
    Advantage(Fact.HITS, 2, 1): ("hits one checker more", "come una ficha más"),
    Advantage(Fact.BLOTS, 0, 1): ("leaves no blots", "no deja fichas sueltas"),
    Advantage(Fact.BLOTS, 1, 3): ("leaves 1 blot instead of 3", "deja 1 ficha suelta en lugar de 3"),
    Advantage(Fact.BLOTS, 2, 3): ("leaves 2 blots instead of 3", "deja 2 fichas sueltas en lugar de 3"),
    Advantage(Fact.SHOTS, 0, 9): ("leaves no shots", "no deja ningún tiro"),
    Advantage(Fact.SHOTS, 1, 9): ("leaves 1 shot of 36 instead of 9", "deja 1 tiro de 36 en lugar de 9"),
    Advantage(Fact.SHOTS, 4, 9): ("leaves 4 shots of 36 instead of 9", "deja 4 tiros de 36 en lugar de 9"),
    Advantage(Fact.POINTS_MADE, 2, 0, (5, 4)): ("makes the 5 and 4 points", "cierra las puntas 5 y 4"),
    Advantage(Fact.ANCHOR_MADE, 1, 0, (20,)): ("makes an anchor on the 20 point", "toma un ancla en la punta 20"),
    Advantage(Fact.BACK_CHECKERS, 1, 2): ("brings a back checker out", "saca una ficha trasera"),
    Advantage(Fact.BACK_CHECKERS, 0, 2): ("brings 2 back checkers out", "saca 2 fichas traseras"),
    Advantage(Fact.BORNE_OFF, 1, 0): ("bears off a checker", "retira una ficha"),
    Advantage(Fact.BORNE_OFF, 3, 1): ("bears off 3 checkers instead of 1", "retira 3 fichas en lugar de 1"),
    Advantage(Fact.GAMMONS_WON, 0.251, 0.2): (
        "wins a gammon in 25.1 % of games instead of 20.0 %",
        "gana gammon en el 25,1 % de los casos en lugar del 20,0 %",
    ),
}


@pytest.mark.parametrize("fact", ONE, ids=lambda one: f"{one.fact.name}-{one.best}-{one.other}")
def test_numbers_and_nouns_agree(fact: Advantage) -> None:
    english, spanish = ONE[fact]
    assert play_sentence([fact], Language.ENGLISH) == f"The best play {english}."
    assert play_sentence([fact], Language.SPANISH) == f"La mejor jugada {spanish}."


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("fact", Fact)
def test_every_fact_has_a_sentence_of_its_own_in_every_language(fact: Fact, language: Language) -> None:
    sentences = {play_sentence([Advantage(one, 3, 5, (20,))], language) for one in Fact}
    assert len(sentences) == len(Fact)
    for best, other in [(0, 1), (1, 0), (1, 2), (2, 1), (5, 3), (3, 5)]:
        sentence = play_sentence([Advantage(fact, best, other, (20,))], language)
        assert re.fullmatch(r"[A-Z][^{}]*[^ .]\.", sentence)


def test_every_reason_of_the_twelve_has_a_fact() -> None:
    assert {fact.reason for fact in Fact} == set(Reason)
    assert len(Reason) == 12


def test_without_a_reason_the_chance_to_win_speaks() -> None:
    board = START
    best, other = Candidate(board, (0.543, 0.1, 0.0, 0.1, 0.0)), Candidate(board, (0.521, 0.1, 0.0, 0.1, 0.0))
    english = play_sentence((), Language.ENGLISH, best, other)
    assert english == "The best play wins more often: 54.3 % instead of 52.1 %."
    assert "54,3 %" in play_sentence((), Language.PORTUGUESE, best, other)
    assert "%" not in play_sentence((), Language.ENGLISH, other, best)
    assert play_sentence((), Language.ENGLISH) == play_sentence((), Language.ENGLISH, other, best)


@pytest.mark.parametrize("language", Language)
def test_every_type_has_a_name_and_plans_of_its_own_in_every_language(language: Language) -> None:
    names = [type_name(one, language) for one in PositionType]
    plans = [plan_sentence(TypedPosition(one, Side.MOVER), language) for one in PositionType]
    assert len(set(names)) == len(set(plans)) == len(PositionType)
    against = [plan_sentence(TypedPosition(one, Side.OPPONENT), language) for one in PositionType]
    assert all(sentence.endswith(".") for sentence in plans + against)


def test_both_players_of_a_one_sided_game_are_told_their_own_plan() -> None:
    attack = plan_sentence(TypedPosition(PositionType.BLITZ, Side.MOVER), Language.ENGLISH)
    defence = plan_sentence(TypedPosition(PositionType.BLITZ, Side.OPPONENT), Language.ENGLISH)
    assert attack.startswith("Attack")
    assert "anchor" in defence
    assert attack != defence
    assert plan_sentence(TypedPosition(PositionType.BLITZ, None), Language.ENGLISH) == attack


def test_each_language_has_words_of_its_own() -> None:
    for one in PositionType:
        sentences = {plan_sentence(TypedPosition(one, None), language) for language in Language}
        assert len(sentences) == len(Language)
