"""Pictures of positions: what is on them, read back from the SVG."""

from __future__ import annotations

import struct
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from strategies import board_of, positions

from cluster.reports.board_png import board_png
from engine.board import START, borne_off
from engine.board_drawing import HEIGHT, WIDTH, Arrow, Disc, Paint, draw, play_arrows
from engine.board_svg import DARK, LIGHT, STYLE, board_svg
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from engine.notation import parse_play
from engine.position import Offer, Player, Position
from engine.rules import INTERNATIONAL

SVG = "{http://www.w3.org/2000/svg}"


def parsed(position: Position, arrows: tuple[Arrow, ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(board_svg(position, arrows))


def texts(picture: ElementTree.Element, paint: Paint) -> list[str]:
    found = picture.iter(f"{SVG}text")
    return [str(one.text) for one in found if one.get("class") == f"gf-{paint.value}"]


def checkers(position: Position, paint: Paint) -> list[Disc]:
    shapes = draw(position)
    return [shape for shape in shapes if isinstance(shape, Disc) and shape.radius > 2 and shape.paint is paint]


def arrows_of(position: Position, play: str) -> list[tuple[int, int]]:
    assert position.dice is not None
    after = parse_play(play, position.board, position.dice, INTERNATIONAL)
    return [(arrow.start, arrow.end) for arrow in play_arrows(position, after)]


def test_the_start_shows_thirty_checkers_pips_and_all_numbers() -> None:
    position = Position(START)
    assert len(checkers(position, Paint.X)) == len(checkers(position, Paint.O)) == 15
    labels = texts(parsed(position), Paint.LABEL)
    assert sorted(labels) == sorted([str(point) for point in range(1, 25)] + ["167", "167"])
    assert texts(parsed(position), Paint.ON_CUBE) == ["64"]


@given(positions())
@settings(max_examples=50)
def test_every_checker_is_on_the_picture_and_everything_lies_inside(position: Position) -> None:
    picture = parsed(position)
    for player, paint, writing in ((Player.X, Paint.X, Paint.ON_X), (Player.O, Paint.O, Paint.ON_O)):
        sign = 1 if position.on_roll is player else -1
        stacks = [int(count) * sign for count in position.board if int(count) * sign > 0]
        shown = sum(min(count, 5) for count in stacks)
        assert len(checkers(position, paint)) == shown
        assert texts(picture, writing) == [str(count) for count in stacks if count > 5]
    for circle in picture.iter(f"{SVG}circle"):
        assert 0 < float(circle.attrib["cx"]) < WIDTH
        assert 0 < float(circle.attrib["cy"]) < HEIGHT
    centres = [(disc.x, disc.y) for paint in (Paint.X, Paint.O) for disc in checkers(position, paint)]
    assert len(set(centres)) == len(centres)


def test_the_colors_stay_with_the_seats_and_the_mover_sits_at_the_bottom() -> None:
    board = board_of({6: 2, 5: 2}, {24: 1, 1: 1})
    for player, own in ((Player.X, Paint.X), (Player.O, Paint.O)):
        found = checkers(Position(board, on_roll=player), own)
        assert len(found) == 4
        assert all(disc.y > HEIGHT / 2 for disc in found)


def test_checkers_off_lie_in_the_trays() -> None:
    position = Position(board_of({6: 3}, {5: 4}))
    assert borne_off(position.board) == (12, 11)
    labels = texts(parsed(position), Paint.LABEL)
    assert {"12", "11"} <= set(labels)
    assert labels.count("12") == 2  # also a point


@pytest.mark.parametrize(
    ("match", "offer", "shown"),
    [
        (MatchState(), Offer.NONE, ["64"]),
        (MatchState(cube_value=8, cube_owner=CubeOwner.MOVER), Offer.NONE, ["8"]),
        (MatchState(), Offer.DOUBLE, ["2"]),
        (MatchState(cube_value=2, cube_owner=CubeOwner.OPPONENT), Offer.BEAVER, ["8"]),
        (MatchState(length=5, score=(4, 0), crawford=True), Offer.NONE, []),
        (MatchState(cube_cap=1), Offer.NONE, []),
    ],
)
def test_the_cube_shows_what_it_is_or_would_be(match: MatchState, offer: Offer, shown: list[str]) -> None:
    assert texts(parsed(Position(START, match, offer=offer)), Paint.ON_CUBE) == shown


def test_the_cube_lies_on_its_owners_side() -> None:
    def height(owner: CubeOwner) -> float:
        picture = parsed(Position(START, MatchState(cube_value=2, cube_owner=owner)))
        (cube,) = [one for one in picture.iter(f"{SVG}rect") if one.get("class") == "gf-cube"]
        return float(cube.attrib["y"])

    assert height(CubeOwner.OPPONENT) < height(CubeOwner.CENTRED) < height(CubeOwner.MOVER)


@pytest.mark.parametrize("die", range(1, 7))
def test_a_die_shows_its_spots(die: int) -> None:
    position = Position(START, dice=(die, 6))
    spots = [shape for shape in draw(position) if isinstance(shape, Disc) and shape.radius == 1.0]
    assert len(spots) == die + 6


def test_a_play_is_drawn_as_one_arrow_a_checker() -> None:
    start = Position(START, dice=(5, 5))
    assert arrows_of(start, "13/3(2)") == [(13, 3), (13, 3)]
    board = board_of({25: 1, 5: 2, 13: 5}, {24: 1, 21: 1, 13: 5})
    assert arrows_of(Position(board, dice=(2, 1)), "bar/23 5/4*") == [(25, 23), (5, 4)]
    off = Position(board_of({6: 1, 5: 1}, {1: 2}), dice=(6, 5))
    assert arrows_of(off, "6/off 5/off") == [(6, 0), (5, 0)]
    closed = Position(board_of({25: 1}, {6: 2, 5: 2, 4: 2, 3: 2, 2: 2, 1: 2}), dice=(6, 5))
    assert arrows_of(closed, "no play") == []
    picture = parsed(start, (Arrow(13, 3), Arrow(13, 3)))
    ways = {tuple(sorted(line.attrib.items())) for line in picture.iter(f"{SVG}line")}
    assert len(ways) == 2  # side by side, not on top of each other


def test_a_play_that_is_not_legal_has_no_arrows() -> None:
    with pytest.raises(InputError):
        play_arrows(Position(START, dice=(5, 5)), START)


def test_a_title_is_text_and_no_markup() -> None:
    picture = ElementTree.fromstring(board_svg(Position(START), title='<b> & "c"'))
    assert picture.attrib["aria-label"] == '<b> & "c"'
    assert picture.findtext(f"{SVG}title") == '<b> & "c"'


def test_both_themes_color_everything_and_a_page_can_hold_the_style_once() -> None:
    assert set(LIGHT) == set(DARK) == set(Paint)
    for paint in Paint:
        assert STYLE.count(f"--gf-{paint.value}:") == 2
    assert STYLE in board_svg(Position(START))
    assert "<style>" not in board_svg(Position(START), style=False)


def test_a_png_has_the_width_that_is_asked_for_and_both_themes_differ() -> None:
    position = Position(START, dice=(3, 1))
    picture = board_png(position, (Arrow(8, 5),), width=200)
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (200, int(200 * HEIGHT / WIDTH))
    assert board_png(position, (Arrow(8, 5),), width=200) == picture
    assert board_png(position, (Arrow(8, 5),), width=200, dark=True) != picture
    with pytest.raises(InputError, match="width"):
        board_png(position, width=1)
