"""What a type of position is called, and its plan in one sentence, for the player on roll."""

from __future__ import annotations

from dataclasses import dataclass

from engine.analysis.language import Language, Text, text
from engine.analysis.position_type import PositionType, TypedPosition
from engine.match import Side


@dataclass(frozen=True, slots=True)
class _Plan:
    name: Text
    own: Text
    """For the player whose game it is, or for both."""
    against: Text | None = None
    """For his opponent, where the plans differ."""


def type_name(position_type: PositionType, language: Language) -> str:
    """The name of a type, lower case."""
    return _PLANS[position_type].name[language]


def plan_sentence(typed: TypedPosition, language: Language) -> str:
    """What the player on roll (the mover) should aim at, one sentence."""
    plan = _PLANS[typed.type]
    if typed.side is Side.OPPONENT and plan.against is not None:
        return plan.against[language]
    return plan.own[language]


_PLANS: dict[PositionType, _Plan] = {
    PositionType.BEAR_OFF: _Plan(
        text("bear-off", "retirada", "retirada"),
        text(
            "Bear off as many checkers as you can and leave no gaps for the next roll.",
            "Saca todas las fichas que puedas y no dejes huecos para la próxima tirada.",
            "Retire o máximo de peças e não deixe buracos para o próximo lance.",
        ),
    ),
    PositionType.RACE: _Plan(
        text("race", "juego de carrera", "jogo de corrida"),
        text(
            "Bring all your checkers home without wasting pips, then bear off.",
            "Lleva todas tus fichas a casa sin desperdiciar pasos y después sácalas.",
            "Leve todas as suas peças para casa sem desperdiçar passos e depois retire-as.",
        ),
    ),
    PositionType.OPENING: _Plan(
        text("opening", "apertura", "abertura"),
        text(
            "Make good points in front of the opponent's back checkers or an advanced anchor, and unstack.",
            "Cierra buenas puntas delante de las fichas traseras rivales o un ancla avanzada, y reparte las pilas.",
            "Feche boas casas à frente das peças de trás do adversário ou uma âncora avançada, e desfaça as pilhas.",
        ),
    ),
    PositionType.BACK_GAME: _Plan(
        text("back game", "back game", "back game"),
        text(
            "Keep your anchors and your timing, build your home board and wait for a shot.",
            "Conserva tus anclas y tu ritmo, construye tu cuadrante interior y espera un tiro.",
            "Mantenha as âncoras e o ritmo, construa o seu quadrante interno e espere um tiro.",
        ),
        text(
            "Bring your checkers past the anchors with few shots and let the opponent run out of time.",
            "Pasa tus fichas por delante de las anclas con pocos tiros y deja que al rival se le acabe el tiempo.",
            "Passe as suas peças pelas âncoras com poucos tiros e deixe o adversário ficar sem tempo.",
        ),
    ),
    PositionType.ACE_POINT: _Plan(
        text("ace-point game", "juego del as", "jogo do ás"),
        text(
            "Hold the ace point, keep your home board in order and wait for a late shot.",
            "Mantén la punta del as, conserva tu cuadrante interior y espera un tiro tardío.",
            "Segure a casa do ás, conserve o seu quadrante interno e espere um tiro tardio.",
        ),
        text(
            "Clear your points from the rear, keep even numbers on the highest ones and watch for the gammon.",
            "Vacía tus puntas desde atrás, deja números pares en las más altas y vigila el gammon.",
            "Esvazie as suas casas a partir de trás, deixe números pares nas mais altas e fique atento ao gammon.",
        ),
    ),
    PositionType.CONTAINMENT: _Plan(
        text("containment", "juego de cerco", "jogo de cerco"),
        text(
            "Keep the straggler in: hold a prime in front of it, or pick it up before it gets home.",
            "Retén la ficha rezagada: mantén un prime delante de ella o atrápala antes de que llegue a casa.",
            "Segure a peça atrasada: mantenha um prime à frente dela ou apanhe-a antes que chegue a casa.",
        ),
        text(
            "Bring the last checkers home: get to the edge of the prime and leap as soon as you can.",
            "Lleva a casa las últimas fichas: acércate al borde del prime y salta en cuanto puedas.",
            "Leve as últimas peças para casa: chegue à beira do prime e salte assim que puder.",
        ),
    ),
    PositionType.BEAR_IN: _Plan(
        text("bear-in", "entrada a casa con contacto", "entrada em casa com contato"),
        text(
            "Bring your checkers home without leaving a shot: clear the rearmost points first.",
            "Lleva tus fichas a casa sin dejar tiros: vacía primero las puntas más atrasadas.",
            "Leve as suas peças para casa sem deixar tiros: esvazie primeiro as casas mais atrasadas.",
        ),
        text(
            "Hold your ground, keep your home board and wait for a shot.",
            "Mantén tu posición, conserva tu cuadrante interior y espera un tiro.",
            "Mantenha a sua posição, conserve o seu quadrante interno e espere um tiro.",
        ),
    ),
    PositionType.CRUNCHED: _Plan(
        text("crunched", "posición hundida", "posição afundada"),
        text(
            "Save what is left of your home board: run with your back checkers before the rest breaks.",
            "Salva lo que queda de tu cuadrante interior: corre con las fichas traseras antes de que se rompa.",
            "Salve o que resta do seu quadrante interno: corra com as peças de trás antes que o resto se desfaça.",
        ),
        text(
            "Keep the opponent's back checkers in while his home board breaks.",
            "Retén las fichas traseras rivales mientras se rompe su cuadrante interior.",
            "Segure as peças de trás do adversário enquanto o quadrante interno dele se desfaz.",
        ),
    ),
    PositionType.BLITZ: _Plan(
        text("blitz", "blitz", "blitz"),
        text(
            "Attack: hit loose checkers in your home and close points before an anchor is made.",
            "Ataca: come las fichas sueltas en tu casa y cierra puntas antes de que el rival tome un ancla.",
            "Ataque: capture as peças soltas na sua casa e feche pontos antes que o adversário faça uma âncora.",
        ),
        text(
            "Enter and make any anchor you can, or hit back.",
            "Entra y toma cualquier ancla que puedas, o devuelve el golpe.",
            "Entre e faça qualquer âncora que puder, ou capture de volta.",
        ),
    ),
    PositionType.PRIME_VS_PRIME: _Plan(
        text("prime vs prime", "prime contra prime", "prime contra prime"),
        text(
            "Bring your back checkers to the edge of the prime and hold your own prime longer than the opponent his.",
            "Lleva tus fichas traseras al borde del prime y conserva el tuyo más tiempo que el rival el suyo.",
            "Leve as suas peças de trás à beira do prime e mantenha o seu por mais tempo do que o adversário o dele.",
        ),
    ),
    PositionType.PRIME: _Plan(
        text("prime", "juego de prime", "jogo de prime"),
        text(
            "Keep the prime in front of the trapped checkers, extend it and roll it home.",
            "Mantén el prime delante de las fichas atrapadas, alárgalo y llévalo a casa.",
            "Mantenha o prime à frente das peças presas, aumente-o e leve-o para casa.",
        ),
        text(
            "Go to the edge of the prime and escape, or keep your home board until the prime breaks.",
            "Ve al borde del prime y escapa, o conserva tu cuadrante interior hasta que el prime se rompa.",
            "Vá até a beira do prime e escape, ou conserve o seu quadrante interno até que o prime se desfaça.",
        ),
    ),
    PositionType.MUTUAL_HOLDING: _Plan(
        text("mutual holding", "contención mutua", "contenção mútua"),
        text(
            "Keep your anchor until you lead the race or can leave safely, and keep your home board meanwhile.",
            "Conserva tu ancla hasta liderar la carrera o poder salir sin riesgo, y cuida tu cuadrante interior.",
            "Mantenha a âncora até liderar a corrida ou poder sair sem risco, e cuide do seu quadrante interno.",
        ),
    ),
    PositionType.HOLDING: _Plan(
        text("holding game", "juego de contención", "jogo de contenção"),
        text(
            "Hold the anchor, watch the outfield and wait for a shot or a large double.",
            "Mantén el ancla, vigila el campo exterior y espera un tiro o un doble grande.",
            "Segure a âncora, vigie o campo externo e espere um tiro ou um duplo grande.",
        ),
        text(
            "Clear your midpoint and outer points while it can be done safely.",
            "Vacía tu punto medio y las puntas exteriores mientras se pueda sin riesgo.",
            "Esvazie o seu ponto médio e as casas externas enquanto for possível sem risco.",
        ),
    ),
    PositionType.MIXED: _Plan(
        text("mixed", "posición mixta", "posição mista"),
        text(
            "Make good points, keep blots out of direct range and keep your choices open.",
            "Cierra buenas puntas, evita fichas sueltas a tiro directo y conserva varias opciones.",
            "Feche boas casas, evite peças soltas ao alcance direto e mantenha várias opções.",
        ),
    ),
}
