"""A position as text: the classic board, the mover at the bottom, points numbered for him.

Stacks above five show their number on the innermost row. Checkers on the bar stand in the half of the board in which
they must enter.
"""

from __future__ import annotations

from engine import board as boards
from engine.match import CubeOwner
from engine.position import Offer, Player, Position

ROWS = 5
_MARGIN = "   "


def board_text(position: Position) -> str:
    """The board, pips, checkers off, cube, score and the decision; lines under 80 characters, no final newline."""
    lines = [_edge(range(13, 19), range(19, 25))]
    lines += [_row(position, range(13, 19), range(19, 25), boards.BAR, depth) for depth in range(ROWS)]
    lines += [" |" + " " * 18 + "|BAR|" + " " * 18 + "|"]
    lines += [
        _row(position, range(12, 6, -1), range(6, 0, -1), boards.OPPONENT_BAR, depth) for depth in reversed(range(ROWS))
    ]
    lines += [_edge(range(12, 6, -1), range(6, 0, -1))]

    for row, text in _side_notes(position, len(lines)).items():
        lines[row] += _MARGIN + text
    return "\n".join([*lines, " " + match_text(position), " " + decision_text(position)])


def match_text(position: Position) -> str:
    """The match in one line, such as `7-point match, X 3 - O 6 (X needs 4, O needs 1), Crawford game`."""
    match = position.match
    score_x, score_o = match.score if position.on_roll is Player.X else match.flip().score
    if match.is_money:
        parts = ["Money game"]
        parts += ["Jacoby"] if match.jacoby else []
        parts += ["beavers"] if match.beaver else []
        parts += [f"running score X {score_x} - O {score_o}"] if any(match.score) else []
        return ", ".join(parts)
    needs = f"(X needs {match.length - score_x}, O needs {match.length - score_o})"
    crawford = ", Crawford game" if match.crawford else ""
    return f"{match.length}-point match, X {score_x} - O {score_o} {needs}{crawford}"


def decision_text(position: Position) -> str:
    """What has to be decided and by whom, such as `X to play 6-5`."""
    mover, other = position.on_roll.name, position.on_roll.other.name
    if position.offer is Offer.DOUBLE:
        return f"{other} doubles to {position.match.cube_value * 2}: {mover} to take or pass"
    if position.offer is not Offer.NONE:
        return f"{other} offers a {position.offer.value}: {mover} to answer"
    if position.dice is not None:
        return f"{mover} to play {position.dice[0]}-{position.dice[1]}"
    return f"{mover} on roll"


def _side_notes(position: Position, rows: int) -> dict[int, str]:
    """Text to the right of the board by row number: each player at his edge, the cube beside its owner."""
    mover, other = position.on_roll.name, position.on_roll.other.name
    own_pips, other_pips = position.pips
    own_off, other_off = boards.borne_off(position.board)
    cube_row = {CubeOwner.OPPONENT: 1, CubeOwner.CENTRED: rows // 2, CubeOwner.MOVER: rows - 2}
    return {
        0: _player_note(other, other_pips, other_off),
        cube_row[position.match.cube_owner]: _cube_note(position),
        rows - 1: _player_note(mover, own_pips, own_off),
    }


def _player_note(name: str, pips: int, off: int) -> str:
    return f"{name}: {pips} pips, {off} off"


def _cube_note(position: Position) -> str:
    match = position.match
    if match.crawford:
        return "no cube (Crawford)"
    if match.cube_cap == 1:
        return "no cube"
    owners = {
        CubeOwner.CENTRED: "centred",
        CubeOwner.MOVER: f"owned by {position.on_roll.name}",
        CubeOwner.OPPONENT: f"owned by {position.on_roll.other.name}",
    }
    return f"cube {match.cube_value}, {owners[match.cube_owner]}"


def _edge(left: range, right: range) -> str:
    labels = ["".join(f"{point:->2}-" for point in half) for half in (left, right)]
    return f" +{labels[0]}-----{labels[1]}+"


def _row(position: Position, left: range, right: range, bar: int, depth: int) -> str:
    """One row of checkers; depth 0 is at the edge of the board. `bar` belongs to the player who enters in that half."""
    halves = ["".join(_cell(position, point, depth) for point in half) for half in (left, right)]
    return f" |{halves[0]}|{_cell(position, bar, depth)}|{halves[1]}|"


def _cell(position: Position, place: int, depth: int) -> str:
    count = int(position.board[place])
    number = abs(count)
    if number <= depth:
        return "   "
    if depth == ROWS - 1 and number > ROWS:
        return f"{number:>2} "
    owner = position.on_roll if count > 0 else position.on_roll.other
    return f" {owner.name} "
