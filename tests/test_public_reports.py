"""What players reported in public of other programs, as questions that must be answered right here."""

from __future__ import annotations

from cluster.answers import EvaluationOptions, evaluate_position
from cluster.cli.options import chosen_nets
from cluster.cube_answers import CubeCaseName
from cluster.filters import load_filter
from engine.bearoff import Bearoff
from engine.cube import cube_matters
from engine.match import CubeOwner
from engine.records.formats import read_record
from engine.records.replay import decisions

MONEY = """ 0 point match

 Game 1
 Fox : 0                              Hedgehog : 0
  1) 31: 8/5 6/5                       64: 24/14
  2) 54: 24/20 13/8                    Drops
      Wins 1 point
"""
SIXES = "XGID=-aBa--D-CB--cB---d-cB-ba--:0:0:1:66:0:0:1:0:10"


def test_three_states_of_the_cube_give_three_answers(databases: Bearoff) -> None:
    options = EvaluationOptions(level=2, cube=CubeCaseName.ALL)
    _, report = evaluate_position(SIXES, options, chosen_nets(None), load_filter("normal"), lambda: databases)
    by_owner = {case.owner: case for case in report.cases}
    own, centred, theirs = (by_owner[owner] for owner in (CubeOwner.MOVER, CubeOwner.CENTRED, CubeOwner.OPPONENT))
    assert own.equity > centred.equity > theirs.equity
    best = {case.plays[0].play for case in (own, centred, theirs)}
    assert len(best) == 3


def test_a_record_with_a_cube_limit_of_1_is_played_without_a_cube() -> None:
    limited = list(decisions(read_record(f'; [CubeLimit "1"]\n{MONEY}'.encode())))
    usual = list(decisions(read_record(MONEY.encode())))
    assert limited
    assert not any(cube_matters(one.position.match) for one in limited)
    assert all(cube_matters(one.position.match) for one in usual)
    assert len(usual) > len(limited), "somebody could double"
