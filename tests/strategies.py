"""Hypothesis strategies for positions that can stand on a table."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.board import BAR, CHECKERS, OPPONENT_BAR, PLACES, Board, make_board
from engine.match import CubeOwner, MatchState
from engine.position import Offer, Player, Position

POINTS = range(1, 25)


def rolls() -> st.SearchStrategy[tuple[int, int]]:
    """All dice as (high, low)."""
    die = st.integers(1, 6)
    return st.tuples(die, die).map(lambda roll: (max(roll), min(roll)))


def board_of(own: dict[int, int], other: dict[int, int]) -> Board:
    """A board from each side's checkers by its own numbering; 25 is the bar."""
    counts = [0] * PLACES
    for point, number in own.items():
        counts[point] += number
    for point, number in other.items():
        assert counts[25 - point] == 0, f"both sides on {point}"
        counts[25 - point] -= number
    return make_board(counts)


@st.composite
def boards(draw: st.DrawFn, checkers: int = CHECKERS) -> Board:
    """int8[26] in the mover's view: 1 to `checkers` a side on points and bar, the rest borne off; no point shared.

    Never both sides on the bar against six made points each: no play could lead there and no roll could end it.
    """
    share = draw(st.permutations(POINTS))
    split = draw(st.integers(1, 23))
    counts = [0] * PLACES
    for points, bar, sign in ((share[:split], BAR, 1), (share[split:], OPPONENT_BAR, -1)):
        places = st.sampled_from([*points, bar])
        for place in draw(st.lists(places, min_size=1, max_size=checkers)):
            counts[place] += sign
    if counts[BAR] and counts[OPPONENT_BAR] and _closed(counts, range(19, 25), -1) and _closed(counts, range(1, 7), 1):
        counts[1] = 1
    return make_board(counts)


@st.composite
def matches(draw: st.DrawFn) -> MatchState:
    """Money and matches with every legal cube, in the mover's view."""
    length = draw(st.integers(0, 25))
    top = length - 1 if length else 30
    score = (draw(st.integers(0, top)), draw(st.integers(0, top)))
    crawford = length > 0 and max(score) == length - 1 and draw(st.booleans())
    exponent = 0 if crawford else draw(st.integers(0, 6))
    owner = CubeOwner.CENTRED if exponent == 0 else draw(st.sampled_from(CubeOwner))
    return MatchState(
        length=length,
        score=score,
        cube_value=1 << exponent,
        cube_owner=owner,
        crawford=crawford,
        jacoby=length == 0 and draw(st.booleans()),
    )


@st.composite
def positions(draw: st.DrawFn) -> Position:
    """Positions that both families of IDs can hold: usual cube cap, no beaver rule, no offer but a double."""
    match = draw(matches())
    offer, dice = Offer.NONE, draw(st.none() | rolls())
    if not match.crawford and match.cube_owner is not CubeOwner.MOVER and dice is None:
        offer = draw(st.sampled_from([Offer.NONE, Offer.DOUBLE]))
    return Position(draw(boards()), match, dice, draw(st.sampled_from(Player)), offer)


def _closed(counts: list[int], points: range, sign: int) -> bool:
    return all(counts[point] * sign >= 2 for point in points)
