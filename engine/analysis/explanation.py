"""Why the best play is better, and what was wrong with a cube action: one sentence from facts, in three languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.analysis.comparison import Advantage, Candidate, Fact
from engine.analysis.language import Language, Text, percent, text
from engine.outcome import WIN

_SUBJECT = text("The best play", "La mejor jugada", "A melhor jogada")
_AND = text(" and ", " y ", " e ")
_WINS = text(
    "The best play wins more often: {best} instead of {other}.",
    "La mejor jugada gana más a menudo: {best} en lugar de {other}.",
    "A melhor jogada ganha mais vezes: {best} em vez de {other}.",
)
_NOTHING = text(
    "The best play is better in sum, but no single reason stands out.",
    "La mejor jugada es mejor en conjunto, pero no destaca ninguna razón.",
    "A melhor jogada é melhor no conjunto, mas nenhuma razão se destaca.",
)


def play_sentence(
    found: Sequence[Advantage], language: Language, best: Candidate | None = None, other: Candidate | None = None
) -> str:
    """What the best play has that the other does not, such as `The best play hits a checker and makes the 5 point.`

    Args:
        found: from `comparison.reasons`.
        best, other: where no reason was found, their chances to win stand in, if the best play has more.
    """
    if found:
        clauses = [_CLAUSES[one.fact](one, language) for one in found]
        return f"{_SUBJECT[language]} {_AND[language].join(clauses)}."
    if best is not None and other is not None and best.outcome is not None and other.outcome is not None:
        wins = [percent(candidate.outcome[WIN], language) for candidate in (best, other) if candidate.outcome]
        if best.outcome[WIN] > other.outcome[WIN] and wins[0] != wins[1]:
            return _WINS[language].format(best=wins[0], other=wins[1])
    return _NOTHING[language]


_Clause = Callable[[Advantage, Language], str]


def _counted(none: Text | None, one: Text, many: Text) -> _Clause:
    """A clause about a count: `none` for 0, `one` for 1, else `many`; {best}, {other} and {more} are filled in."""

    def clause(advantage: Advantage, language: Language) -> str:
        best = round(advantage.best)
        chosen = none if best == 0 and none is not None else one if best == 1 else many
        return _filled(chosen, advantage, language)

    return clause


def _hits(advantage: Advantage, language: Language) -> str:
    more = round(advantage.best - advantage.other)
    if advantage.other:
        return _filled(_HITS_MORE[0] if more == 1 else _HITS_MORE[1], advantage, language)
    return _filled(_HITS[0] if more == 1 else _HITS[1], advantage, language)


def _bears_off(advantage: Advantage, language: Language) -> str:
    alone, one, many = _OFF
    if not advantage.other:
        return _filled(alone if advantage.best == 1 else one, advantage, language)
    return _filled(many, advantage, language)


def _frees(advantage: Advantage, language: Language) -> str:
    return _filled(_FREES[0] if advantage.other - advantage.best == 1 else _FREES[1], advantage, language)


def _home_points(advantage: Advantage, language: Language) -> str:
    if not advantage.other:
        return _filled(_HOME_ONLY[0] if advantage.best == 1 else _HOME_ONLY[1], advantage, language)
    return _filled(_HOME_MORE, advantage, language)


def _prime(advantage: Advantage, language: Language) -> str:
    return _filled(_PRIME_MORE if advantage.other >= 2 else _PRIME_ONLY, advantage, language)


def _points(advantage: Advantage, language: Language) -> str:
    one, many = _MAKES
    return _filled(one if len(advantage.points) == 1 else many, advantage, language)


def _always(words: Text) -> _Clause:
    return lambda advantage, language: _filled(words, advantage, language)


def _chances(words: Text) -> _Clause:
    def clause(advantage: Advantage, language: Language) -> str:
        return words[language].format(best=percent(advantage.best, language), other=percent(advantage.other, language))

    return clause


def _filled(words: Text, advantage: Advantage, language: Language) -> str:
    points = [str(point) for point in advantage.points]
    listed = _AND[language].join([", ".join(points[:-1]), points[-1]]) if len(points) > 1 else "".join(points)
    best, other = round(advantage.best), round(advantage.other)
    return words[language].format(best=best, other=other, more=abs(best - other), points=listed)


_HITS = (
    text("hits a checker", "come una ficha", "captura uma peça"),
    text("hits {best} checkers", "come {best} fichas", "captura {best} peças"),
)
_HITS_MORE = (
    text("hits one checker more", "come una ficha más", "captura uma peça a mais"),
    text("hits {more} checkers more", "come {more} fichas más", "captura {more} peças a mais"),
)
_MAKES = (
    text("makes the {points} point", "cierra la punta {points}", "fecha a casa {points}"),
    text("makes the {points} points", "cierra las puntas {points}", "fecha as casas {points}"),
)
_PRIME_ONLY = text("has a prime of {best} points", "tiene un prime de {best} puntas", "tem um prime de {best} casas")
_PRIME_MORE = text(
    "has a prime of {best} points instead of {other}",
    "tiene un prime de {best} puntas en lugar de {other}",
    "tem um prime de {best} casas em vez de {other}",
)
_FREES = (
    text("brings a back checker out", "saca una ficha trasera", "tira uma peça de trás"),
    text("brings {more} back checkers out", "saca {more} fichas traseras", "tira {more} peças de trás"),
)
_HOME_ONLY = (
    text(
        "has a point made in its home board",
        "tiene una punta cerrada en su cuadrante interior",
        "tem uma casa fechada no quadrante interno",
    ),
    text(
        "has {best} points made in its home board",
        "tiene {best} puntas cerradas en su cuadrante interior",
        "tem {best} casas fechadas no quadrante interno",
    ),
)
_HOME_MORE = text(
    "has {best} points made in its home board instead of {other}",
    "tiene {best} puntas cerradas en su cuadrante interior en lugar de {other}",
    "tem {best} casas fechadas no quadrante interno em vez de {other}",
)
_OFF = (
    text("bears off a checker", "retira una ficha", "retira uma peça"),
    text("bears off {best} checkers", "retira {best} fichas", "retira {best} peças"),
    text(
        "bears off {best} checkers instead of {other}",
        "retira {best} fichas en lugar de {other}",
        "retira {best} peças em vez de {other}",
    ),
)

_CLAUSES: dict[Fact, _Clause] = {
    Fact.HITS: _hits,
    Fact.BLOTS: _counted(
        text("leaves no blots", "no deja fichas sueltas", "não deixa peças soltas"),
        text(
            "leaves 1 blot instead of {other}",
            "deja 1 ficha suelta en lugar de {other}",
            "deixa 1 peça solta em vez de {other}",
        ),
        text(
            "leaves {best} blots instead of {other}",
            "deja {best} fichas sueltas en lugar de {other}",
            "deixa {best} peças soltas em vez de {other}",
        ),
    ),
    Fact.SHOTS: _counted(
        text("leaves no shots", "no deja ningún tiro", "não deixa nenhum tiro"),
        text(
            "leaves 1 shot of 36 instead of {other}",
            "deja 1 tiro de 36 en lugar de {other}",
            "deixa 1 tiro em 36 em vez de {other}",
        ),
        text(
            "leaves {best} shots of 36 instead of {other}",
            "deja {best} tiros de 36 en lugar de {other}",
            "deixa {best} tiros em 36 em vez de {other}",
        ),
    ),
    Fact.POINTS_MADE: _points,
    Fact.ANCHOR_MADE: _always(
        text(
            "makes an anchor on the {points} point",
            "toma un ancla en la punta {points}",
            "faz uma âncora na casa {points}",
        )
    ),
    Fact.ANCHOR_KEPT: _always(
        text(
            "keeps the anchor on the {points} point",
            "conserva el ancla de la punta {points}",
            "mantém a âncora na casa {points}",
        )
    ),
    Fact.PRIME: _prime,
    Fact.BACK_CHECKERS: _frees,
    Fact.ESCAPING_ROLLS: _always(
        text(
            "lets its last checker escape with {best} rolls of 36 instead of {other}",
            "deja escapar a su última ficha con {best} tiradas de 36 en lugar de {other}",
            "deixa a sua última peça escapar com {best} lances em 36 em vez de {other}",
        )
    ),
    Fact.OPPONENT_ESCAPES: _counted(
        text(
            "keeps the opponent's last checker in: no roll lets it escape, instead of {other} of 36",
            "retiene la última ficha rival: no escapa con ninguna tirada, en lugar de {other} de 36",
            "segura a última peça adversária: não escapa com nenhum lance, em vez de {other} em 36",
        ),
        text(
            "holds the opponent's last checker better: 1 roll of 36 lets it escape instead of {other}",
            "retiene mejor la última ficha rival: escapa con 1 tirada de 36 en lugar de {other}",
            "segura melhor a última peça adversária: escapa com 1 lance em 36 em vez de {other}",
        ),
        text(
            "holds the opponent's last checker better: {best} rolls of 36 let it escape instead of {other}",
            "retiene mejor la última ficha rival: escapa con {best} tiradas de 36 en lugar de {other}",
            "segura melhor a última peça adversária: escapa com {best} lances em 36 em vez de {other}",
        ),
    ),
    Fact.HOME_POINTS: _home_points,
    Fact.BORNE_OFF: _bears_off,
    Fact.GAMMONS_WON: _chances(
        text(
            "wins a gammon in {best} of games instead of {other}",
            "gana gammon en el {best} de los casos en lugar del {other}",
            "ganha gammon em {best} dos casos em vez de {other}",
        )
    ),
    Fact.GAMMONS_LOST: _chances(
        text(
            "loses a gammon in {best} of games instead of {other}",
            "pierde gammon en el {best} de los casos en lugar del {other}",
            "perde gammon em {best} dos casos em vez de {other}",
        )
    ),
}
