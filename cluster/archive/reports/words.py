"""The words of the pages and flash cards, in every language."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.archive.habits import CUBE_AREA, Trend
from engine.analysis.cube_errors import CubeError
from engine.analysis.language import Language, Text, text
from engine.analysis.plans import type_name
from engine.analysis.position_type import PositionType
from engine.analysis.rating import Strength, strength_name


class Words:
    """Everything that a page says, in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def __call__(self, key: str, **values: object) -> str:
        """The text of this name, with the values filled in."""
        return _TEXTS[key][self.language].format(**values)

    def area(self, name: str) -> str:
        """A type of position, or the cube, by its name in results."""
        return self("cube") if name == CUBE_AREA else type_name(PositionType(name), self.language)

    def cube_error(self, name: str) -> str:
        """A kind of cube error by its name in results."""
        return _CUBE_ERRORS[CubeError(name)][self.language]

    def strength(self, name: str | None) -> str:
        """What players call a PR; empty if it isn't known."""
        return "" if name is None else strength_name(Strength[name.upper()], self.language)

    def trend(self, trend: Trend) -> str:
        """How a player changes."""
        return _TRENDS[trend][self.language]

    def done(self, words: str) -> str:
        """A play or a cube action as results name it."""
        return _ACTIONS[words][self.language] if words in _ACTIONS else words

    def count(self, number: int) -> str:
        """With a mark between thousands that is no decimal mark of the language."""
        return f"{number:,}".replace(",", self.language.thousands_mark)

    def number(self, value: float, decimals: int = 2, sign: bool = False) -> str:
        """With the decimal mark of the language."""
        shown = f"{value:+.{decimals}f}" if sign else f"{value:.{decimals}f}"
        if float(shown) == 0.0:
            shown = shown.replace("-", "+" if sign else "")
        return shown.replace("-", "\N{MINUS SIGN}").replace(".", self.language.decimal_mark)


_TEXTS: Mapping[str, Text] = {
    "analysis": text("Match analysis", "Análisis de la partida", "Análise da partida"),
    "archive": text("Archive analysis", "Análisis del archivo", "Análise do arquivo"),
    "money": text("Money session", "Sesión por puntos", "Sessão por pontos"),
    "to_points": text("{length}-point match", "Partida a {length} puntos", "Partida de {length} pontos"),
    "result": text("Result", "Resultado", "Resultado"),
    "player": text("Player", "Jugador", "Jogador"),
    "players": text("Players", "Jugadores", "Jogadores"),
    "match": text("Match", "Partida", "Partida"),
    "matches": text("Matches", "Partidas", "Partidas"),
    "opponent": text("Opponent", "Rival", "Adversário"),
    "date": text("Date", "Fecha", "Data"),
    "decisions": text("Decisions", "Decisiones", "Decisões"),
    "errors": text("Errors", "Errores", "Erros"),
    "blunders": text("Blunders", "Errores graves", "Erros graves"),
    "of_them_blunders": text("of them blunders", "de ellos graves", "deles graves"),
    "checker_pr": text("Checker play", "Jugadas de fichas", "Jogadas de peças"),
    "cube_pr": text("Cube", "Cubo", "Cubo"),
    "cube": text("cube", "cubo", "cubo"),
    "mark": text("Mark", "Nota", "Nota"),
    "luck": text("Luck", "Suerte", "Sorte"),
    "luck_points": text("Luck (points)", "Suerte (puntos)", "Sorte (pontos)"),
    "lucky": text("Lucky / unlucky rolls", "Tiradas con / sin suerte", "Lances com / sem sorte"),
    "adjusted_match": text(
        "Without the luck of the dice {player} would have won {percent} of such a match.",
        "Sin la suerte de los dados {player} habría ganado el {percent} de una partida así.",
        "Sem a sorte dos dados {player} teria ganhado {percent} de uma partida assim.",
    ),
    "adjusted_money": text(
        "Without the luck of the dice {player} would have scored {points} points.",
        "Sin la suerte de los dados {player} habría hecho {points} puntos.",
        "Sem a sorte dos dados {player} teria feito {points} pontos.",
    ),
    "adjusted": text("Without luck", "Sin la suerte", "Sem a sorte"),
    "strength": text("Level of play", "Nivel de juego", "Nível de jogo"),
    "lost": text("Lost (points)", "Perdido (puntos)", "Perdido (pontos)"),
    "won_lost": text("Won / lost", "Ganadas / perdidas", "Ganhas / perdidas"),
    "pr_by_game": text("PR by game", "PR por juego", "PR por jogo"),
    "pr_trend": text("PR, match by match", "PR, partida a partida", "PR, partida a partida"),
    "by_type": text(
        "Points lost by type of position", "Puntos perdidos por tipo de posición", "Pontos perdidos por tipo de posição"
    ),
    "luck_chart": text(
        "Luck, added up roll by roll (points)",
        "Suerte acumulada tirada a tirada (puntos)",
        "Sorte acumulada lance a lance (pontos)",
    ),
    "cube_errors": text("Cube errors", "Errores de cubo", "Erros de cubo"),
    "games": text("Games", "Juegos", "Jogos"),
    "game": text("Game", "Juego", "Jogo"),
    "score": text("Score", "Marcador", "Placar"),
    "winner": text("Winner", "Gana", "Vence"),
    "points": text("Points", "Puntos", "Pontos"),
    "errors_list": text("Errors, in order", "Errores, en orden", "Erros, em ordem"),
    "positions": text("Open positions", "Posiciones abiertas", "Posições abertas"),
    "no_errors": text("No errors: well played!", "Sin errores: ¡bien jugado!", "Sem erros: bem jogado!"),
    "where": text("Game {game}, turn {turn}", "Juego {game}, turno {turn}", "Jogo {game}, turno {turn}"),
    "played": text("Played", "Jugado", "Jogado"),
    "best": text("Best", "Mejor", "Melhor"),
    "loss": text("Loss", "Pérdida", "Perda"),
    "play": text("Play", "Jugada", "Jogada"),
    "action": text("Action", "Acción", "Ação"),
    "equity": text("Equity", "Equidad", "Equidade"),
    "wins": text("Win", "Gana", "Vence"),
    "gammons": text("Gammon", "Gammon", "Gammon"),
    "level": text("Level", "Nivel", "Nível"),
    "error": text("error", "error", "erro"),
    "blunder": text("blunder", "error grave", "erro grave"),
    "lower_level": text(
        "Plays at a lower level are only a hint: the best one and the one played have the same level.",
        "Las jugadas de un nivel menor son solo orientativas: la mejor y la jugada tienen el mismo nivel.",
        "As jogadas de um nível menor são só uma indicação: a melhor e a jogada têm o mesmo nível.",
    ),
    "illegal": text(
        "{count} recorded plays are illegal and count nowhere.",
        "{count} jugadas del registro son ilegales y no cuentan.",
        "{count} jogadas do registro são ilegais e não contam.",
    ),
    "notes": text("Notes of the reader", "Notas de la lectura", "Notas da leitura"),
    "conditions": text("How this was analysed", "Cómo se analizó", "Como foi analisado"),
    "levels": text("Counted decisions by level", "Decisiones contadas por nivel", "Decisões contadas por nível"),
    "explain_pr": text(
        "PR is 500 times the mean loss of a decision; lower is better. ± is its standard error. An error loses 0.02 "
        "points or more, a blunder 0.08; in a match points are normalised to the cube (EMG).",
        "El PR es 500 veces la pérdida media por decisión; menos es mejor. ± es su error estándar. Un error pierde "
        "0,02 puntos o más, uno grave 0,08; en una partida los puntos se normalizan al cubo (EMG).",
        "O PR é 500 vezes a perda média por decisão; menos é melhor. ± é o seu erro padrão. Um erro perde "
        "0,02 pontos ou mais, um grave 0,08; numa partida os pontos são normalizados ao cubo (EMG).",
    ),
    "worst": text("The largest errors", "Los mayores errores", "Os maiores erros"),
    "frequent": text("Most frequent errors", "Errores más frecuentes", "Erros mais frequentes"),
    "area": text("Area", "Tema", "Tema"),
    "plan": text("Plan for this week", "Plan de la semana", "Plano da semana"),
    "plan_step": text(
        "Work on {area}: PR {pr} over {decisions} decisions, {loss} points lost. Study its errors and its cards.",
        "Trabaja {area}: PR {pr} en {decisions} decisiones, {loss} puntos perdidos. Estudia sus errores y tarjetas.",
        "Trabalhe {area}: PR {pr} em {decisions} decisões, {loss} pontos perdidos. Estude os seus erros e cartões.",
    ),
    "no_plan": text(
        "Not enough decisions yet: an area needs forty.",
        "Aún no hay bastantes decisiones: un tema necesita cuarenta.",
        "Ainda não há decisões suficientes: um tema precisa de quarenta.",
    ),
    "openings": text("Openings", "Aperturas", "Aberturas"),
    "openings_sum": text(
        "First plays: {first}, PR {first_pr}. Replies: {replies}, PR {replies_pr}.",
        "Primeras jugadas: {first}, PR {first_pr}. Respuestas: {replies}, PR {replies_pr}.",
        "Primeiras jogadas: {first}, PR {first_pr}. Respostas: {replies}, PR {replies_pr}.",
    ),
    "by_book": text(
        "Openings by the book {book}", "Aperturas según el libro {book}", "Aberturas segundo o livro {book}"
    ),
    "book_values": text(
        "These values are those of the book {book}, not of this analysis.",
        "Estos valores son los del libro {book}, no los de este análisis.",
        "Estes valores são os do livro {book}, não os desta análise.",
    ),
    "book_other_stakes": text(
        "{count} plays of matches are measured by a book for money: both players needed three points or more.",
        "{count} jugadas de partidas se miden con un libro por puntos: ambos necesitaban tres puntos o más.",
        "{count} jogadas de partidas são medidas com um livro por pontos: ambos precisavam de três pontos ou mais.",
    ),
    "first_plays": text("First plays", "Primeras jugadas", "Primeiras jogadas"),
    "replies": text("Replies", "Respuestas", "Respostas"),
    "later_plays": text("Later plays", "Jugadas siguientes", "Jogadas seguintes"),
    "replies_by_roll": text("Replies by roll", "Respuestas por tirada", "Respostas por lance"),
    "book_loss": text("By the book", "Según el libro", "Segundo o livro"),
    "book_best": text("Book's best", "Mejor del libro", "Melhor do livro"),
    "book_playable": text("As good", "Igual de buenas", "Igualmente boas"),
    "book_open": text("Undecided", "Sin decidir", "Por decidir"),
    "book_unlisted": text("Not listed", "No figura", "Não consta"),
    "book_slips": text("What the book would not play", "Lo que el libro no jugaría", "O que o livro não jogaria"),
    "line": text("Line", "Línea", "Linha"),
    "books": text("Opening books", "Libros de aperturas", "Livros de aberturas"),
    "book_about": text(
        "{stakes}, {entries} rolls, {trials} trials, made by net {net}",
        "{stakes}, {entries} tiradas, {trials} simulaciones, hecho por la red {net}",
        "{stakes}, {entries} lances, {trials} simulações, feito pela rede {net}",
    ),
    "with_cube": text("with the cube", "con cubo", "com cubo"),
    "no_cube": text("no cube", "sin cubo", "sem cubo"),
    "book_opinion": text(
        "Book {book}: {best} is best; what was played: {verdict}.",
        "Libro {book}: lo mejor es {best}; lo jugado: {verdict}.",
        "Livro {book}: o melhor é {best}; o jogado: {verdict}.",
    ),
    "book_says_best": text("the book's best", "la mejor del libro", "a melhor do livro"),
    "book_says_playable": text("as good", "igual de buena", "igualmente boa"),
    "won": text("won", "ganada", "ganha"),
    "lost_match": text("lost", "perdida", "perdida"),
    "luck_trend": text(
        "Luck, added up match by match (points)",
        "Suerte acumulada partida a partida (puntos)",
        "Sorte acumulada partida a partida (pontos)",
    ),
    "won_without_luck": text(
        "Won {won} of {matches} finished matches; without the luck of the dice it would have been {adjusted}.",
        "Ganó {won} de {matches} partidas terminadas; sin la suerte de los dados habrían sido {adjusted}.",
        "Ganhou {won} de {matches} partidas terminadas; sem a sorte dos dados teriam sido {adjusted}.",
    ),
    "points_without_luck": text(
        "Money sessions: {sessions}, {points} points; without the luck of the dice {adjusted}.",
        "Sesiones por puntos: {sessions}, {points} puntos; sin la suerte de los dados {adjusted}.",
        "Sessões por pontos: {sessions}, {points} pontos; sem a sorte dos dados {adjusted}.",
    ),
    "latest_matches": text(
        "The latest {shown}; all: {link}.", "Las últimas {shown}; todas: {link}.", "As últimas {shown}; todas: {link}."
    ),
    "more_files": text(
        "{count} more files are in archive.json.",
        "Hay {count} archivos más en archive.json.",
        "Há mais {count} arquivos em archive.json.",
    ),
    "roll": text("Roll", "Tirada", "Lance"),
    "times": text("Times", "Veces", "Vezes"),
    "mean_loss": text("Mean loss", "Pérdida media", "Perda média"),
    "skipped": text("Files left out", "Archivos omitidos", "Arquivos omitidos"),
    "file": text("File", "Archivo", "Arquivo"),
    "reason": text("Reason", "Motivo", "Motivo"),
    "all_players": text("All players", "Todos los jugadores", "Todos os jogadores"),
    "more_players": text(
        "{count} more players are in archive.json.",
        "Hay {count} jugadores más en archive.json.",
        "Há mais {count} jogadores em archive.json.",
    ),
    "overview": text("Overview", "Resumen", "Resumo"),
    "back": text("Archive", "Archivo", "Arquivo"),
    "your_play": text("Your decision?", "¿Tu decisión?", "Sua decisão?"),
    "to_play": text("{player} to play {dice}", "{player} juega {dice}", "{player} joga {dice}"),
    "cube_action": text("Cube action?", "¿Acción de cubo?", "Ação de cubo?"),
    "take_pass": text("Take or pass?", "¿Aceptar o rechazar?", "Aceitar ou recusar?"),
}
_CUBE_ERRORS: Mapping[CubeError, Text] = {
    CubeError.MISSED_DOUBLE: text("missed double", "doble omitido", "dobro não feito"),
    CubeError.MISSED_CASH: text("missed cash", "cobro omitido", "ganho não cobrado"),
    CubeError.WRONG_DOUBLE: text("wrong double", "doble prematuro", "dobro cedo demais"),
    CubeError.DOUBLE_TOO_GOOD: text("too good to double", "demasiado bueno", "boa demais"),
    CubeError.WRONG_TAKE: text("wrong take", "aceptado mal", "aceito errado"),
    CubeError.WRONG_PASS: text("wrong pass", "rechazado mal", "recusado errado"),
    CubeError.MISSED_REPLY: text("missed beaver", "beaver omitido", "beaver não feito"),
    CubeError.WRONG_REPLY: text("wrong beaver", "beaver erróneo", "beaver errado"),
}
_TRENDS: Mapping[Trend, Text] = {
    Trend.IMPROVING: text("improving", "mejorando", "melhorando"),
    Trend.WORSENING: text("worsening", "empeorando", "piorando"),
    Trend.STEADY: text("steady", "estable", "estável"),
}
_ACTIONS: Mapping[str, Text] = {
    "no play": text("no play", "sin jugada", "sem jogada"),
    "no double": text("no double", "no doblar", "não dobrar"),
    "double": text("double", "doblar", "dobrar"),
    "take": text("take", "aceptar", "aceitar"),
    "pass": text("pass", "rechazar", "recusar"),
    "beaver": text("beaver", "beaver", "beaver"),
    "raccoon": text("raccoon", "raccoon", "raccoon"),
    "too good to double": text("too good to double", "demasiado bueno para doblar", "boa demais para dobrar"),
    "double, take": text("double, take", "doblar, aceptar", "dobrar, aceitar"),
    "double, pass": text("double, pass", "doblar, rechazar", "dobrar, recusar"),
    "double, beaver": text("double, beaver", "doblar, beaver", "dobrar, beaver"),
    "optional double": text("optional double", "doble opcional", "dobro opcional"),
}
