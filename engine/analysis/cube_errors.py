"""What a cube action was: right, or one of the kinds of error that players name, with its loss."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.analysis.language import Language, Text, text
from engine.decision import TOLERANCE, AnswerVerdict, CubeAction, CubeVerdict
from engine.errors import InternalError


class CubeError(enum.Enum):
    """Kinds of wrong cube actions. A redouble counts as a double."""

    MISSED_DOUBLE = "missed_double"
    """Rolled where a double would have been taken."""
    MISSED_CASH = "missed_cash"
    """Rolled where a double would have been passed."""
    WRONG_DOUBLE = "wrong_double"
    """Doubled too early."""
    DOUBLE_TOO_GOOD = "double_too_good"
    """Doubled where playing on was worth more than the pass."""
    WRONG_TAKE = "wrong_take"
    """Took, or turned the cube back, where passing was right."""
    WRONG_PASS = "wrong_pass"
    """Passed where playing on was right."""
    MISSED_REPLY = "missed_reply"
    """Took where a beaver or raccoon was right."""
    WRONG_REPLY = "wrong_reply"
    """Beavered or raccooned where taking was right."""


@dataclass(frozen=True, slots=True)
class CubeJudgement:
    """One cube action, judged."""

    error: CubeError | None
    """None if it loses nothing, or so little that both actions count as right (`engine.decision.TOLERANCE`)."""
    loss: float
    """Equity, in units of the cube (EMG in a match), in the view of who acted; never negative."""
    unforced: bool
    """Whether it counts in a rating: offers and answers always do, rolling on if the double was close or right."""


CLOSE_CUBE = 0.16
"""Equity: rolling without a double is a decision worth counting where the double would lose less than this. The usual
limit of GNU Backgammon; without it a rating would mostly count turns at which nobody thinks of the cube."""

_REPLIES = (CubeAction.BEAVER, CubeAction.RACCOON)


def judge_doubling(verdict: CubeVerdict, doubled: bool) -> CubeJudgement | None:
    """The decision before the roll: `doubled`, or rolled. None where no double was possible."""
    losses = verdict.losses
    if losses.no_double is None or losses.double is None:
        return None
    loss = losses.double if doubled else losses.no_double
    if loss <= TOLERANCE:
        error = None
    elif doubled:
        error = CubeError.DOUBLE_TOO_GOOD if verdict.action is CubeAction.TOO_GOOD else CubeError.WRONG_DOUBLE
    else:
        error = CubeError.MISSED_CASH if verdict.answer is CubeAction.PASS else CubeError.MISSED_DOUBLE
    return CubeJudgement(error, max(loss, 0.0), doubled or error is not None or losses.double < CLOSE_CUBE)


def judge_answer(verdict: AnswerVerdict | CubeVerdict, given: CubeAction) -> CubeJudgement:
    """The answer to an offer: `given` is TAKE, PASS, BEAVER or RACCOON.

    Args:
        verdict: on the standing offer, or on the position before the double (then only its answers are looked at).

    Raises:
        InternalError: an answer that the verdict doesn't know.
    """
    losses = verdict.losses
    loss = {
        CubeAction.TAKE: losses.take,
        CubeAction.PASS: losses.passing,
        CubeAction.BEAVER: losses.beaver,
        CubeAction.RACCOON: losses.raccoon,
    }.get(given)
    right = verdict.answer if isinstance(verdict, CubeVerdict) else verdict.action
    if loss is None or right is None:
        raise InternalError(f"no verdict on the answer {given.value}")
    return CubeJudgement(_wrong_answer(right, given) if loss > TOLERANCE else None, max(loss, 0.0), unforced=True)


def _wrong_answer(right: CubeAction, given: CubeAction) -> CubeError:
    if right is CubeAction.PASS:
        return CubeError.WRONG_TAKE
    if given is CubeAction.PASS:
        return CubeError.WRONG_PASS
    return CubeError.MISSED_REPLY if right in _REPLIES else CubeError.WRONG_REPLY


def cube_sentence(error: CubeError, language: Language) -> str:
    """What was wrong, one sentence."""
    return _SENTENCES[error][language]


_SENTENCES: dict[CubeError, Text] = {
    CubeError.MISSED_DOUBLE: text(
        "The double was missed: it is right here and would be taken.",
        "Faltó doblar: aquí es correcto y el rival aceptaría.",
        "Faltou dobrar: aqui é correto e o adversário aceitaria.",
    ),
    CubeError.MISSED_CASH: text(
        "The double was missed: the opponent would have to pass.",
        "Faltó doblar: el rival tendría que rechazar.",
        "Faltou dobrar: o adversário teria de recusar.",
    ),
    CubeError.WRONG_DOUBLE: text(
        "The double comes too early: rolling first is worth more.",
        "El doble llega demasiado pronto: vale más tirar primero.",
        "O dobro vem cedo demais: vale mais lançar primeiro.",
    ),
    CubeError.DOUBLE_TOO_GOOD: text(
        "The position is too good to double: playing on for the gammon is worth more.",
        "La posición es demasiado buena para doblar: vale más jugar por el gammon.",
        "A posição é boa demais para dobrar: vale mais jogar pelo gammon.",
    ),
    CubeError.WRONG_TAKE: text(
        "The take is wrong: passing loses less.",
        "Aceptar es un error: rechazar pierde menos.",
        "Aceitar é um erro: recusar perde menos.",
    ),
    CubeError.WRONG_PASS: text(
        "The pass is wrong: the position can be taken.",
        "Rechazar es un error: la posición se puede aceptar.",
        "Recusar é um erro: a posição pode ser aceita.",
    ),
    CubeError.MISSED_REPLY: text(
        "Taking was not enough: turning the cube once more is worth more.",
        "No bastaba con aceptar: vale más volver a girar el cubo.",
        "Não bastava aceitar: vale mais girar o cubo outra vez.",
    ),
    CubeError.WRONG_REPLY: text(
        "The cube should not have been turned once more: taking is worth more.",
        "No había que volver a girar el cubo: vale más aceptar.",
        "Não se devia girar o cubo outra vez: vale mais aceitar.",
    ),
}
