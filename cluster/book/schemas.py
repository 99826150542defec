"""The models of opening books: what is kept in a book's file, and the JSON documents of `gammonfarm book`.

Equities are in the view of the player who makes the play: in points, with the cube in units of the cube, at a score on
the linear scale on which winning and losing a single game are +1 and -1 (EMG).
"""

from __future__ import annotations

import enum

from pydantic import Field

from cluster.schemas import Model, Probabilities

FORMAT = 1
"""Of the file; a change of its layout or of the meaning of a field raises it."""

FEWEST_TRIALS = 36
"""Of a play: each first roll once."""


class Verdict(enum.Enum):
    """What an entry says about its best play."""

    SETTLED = "settled"
    """Every other play is behind by more than the error."""
    BOTH_PLAYABLE = "both playable"
    """Some other play loses, error included, no more than the book calls playable; the rest is behind."""
    OPEN = "open"
    """Not enough trials to say one of these."""


class Standing(enum.Enum):
    """What an entry says about one play."""

    BEST = "best"
    PLAYABLE = "playable"
    OPEN = "open"
    BEATEN = "beaten"


class Terms(Model):
    """What the games of a book are played for."""

    rules: str = "international"
    score: str = "money"
    """`money`, `dmp`, `gammon-go`, `gammon-save`, or points that the opener and his opponent need: `3-away/5-away`."""
    cube: bool | None = None
    """Whether there is a cube; null: as the rules and the score have it."""
    met: str | None = None
    """Match equity table; null: the usual one. None in money play."""
    efficiency: str | None = None
    """How live the cube is where a position is valued without looking ahead; null: the usual one, or no cube."""
    jacoby: bool = False
    beaver: bool = False

    @property
    def words(self) -> str:
        """For people: rules, score, cube, options."""
        cube = "" if self.cube is None else "with the cube" if self.cube else "no cube"
        options = (name for name, on in (("Jacoby", self.jacoby), ("beavers", self.beaver)) if on)
        table = f"EMG by {self.met}" if self.met else ""
        return ", ".join(part for part in (self.rules, self.score, cube, *options, table) if part)


class BookIdentity(Terms):
    """Everything that all bits of a book's entries depend on besides their own question: books with the same identity
    can be merged.
    """

    format: int = FORMAT
    stakes: str | None
    """Digest of what cube and score are worth: of the table's values, not of its name. Null: cubeless points."""
    net: str
    """Digest of both nets."""
    result_version: int
    bearoff_version: int | None
    """Of the bear-off databases in which trials end; null where the rules can't use them."""
    seed: int
    search_level: int
    search_filter: tuple[tuple[tuple[int, int, float], ...], ...]
    """Steps (level, keep, margin) to level 2, 3, 4."""
    simulation_level: int
    confidence: float
    """With which verdicts are given."""
    playable: float
    """Equity: plays that surely lose no more are playable."""


class EntryQuestion(Model):
    """What was asked about an entry, besides the book's identity."""

    margin: float = Field(ge=0.0, le=6.0)
    """Plays that a search puts no further than this behind its best one are simulated."""
    most: int = Field(ge=1, le=20)
    """Of these at most so many."""
    trials: int = Field(ge=FEWEST_TRIALS, le=1_000_000)
    """Most trials of a play."""
    checkpoint: int = Field(default=648, ge=FEWEST_TRIALS)
    """Trials between two looks of the race."""
    race: bool = True
    """Whether plays that are beaten get no more trials, and all end once the differences are known."""


class BookPlay(Model):
    """A play of an entry."""

    play: str
    after: str
    """GNU position ID of the position after it, in the view of the opponent, who rolls next."""
    standing: Standing
    equity: float
    """The value: mean of the search and the simulation."""
    se: float
    """Of `equity`: half that of the simulation, as a search meets no dice."""
    difference: float
    """Of `equity` to that of the best play: zero or negative."""
    difference_se: float
    search_equity: float
    search_level: int
    simulation_equity: float
    simulation_se: float
    simulation_difference: float
    """To the best play, trial by trial on the same dice."""
    simulation_difference_se: float
    probabilities: Probabilities
    """Of the simulation."""
    probabilities_se: Probabilities
    trials: int


class BookEntry(Model):
    """A roll in a position, with its plays."""

    id: str
    """GNU position ID of the mover's position, a colon, the roll: `4HPwATDgc/ABMA:31`; at unequal scores also `:1`
    where the opener plays, `:2` where his opponent does.
    """
    path: str
    """How it comes about most easily: rolls and plays in turn, ending with the roll."""
    xgid: str
    roll: str
    depth: int
    """Rolls since the start of the game, this one included: 1 for an opening."""
    verdict: Verdict
    trials: int
    """Over all plays."""
    plays: tuple[BookPlay, ...]
    """Best first."""


class BookInfo(Model):
    """Which book, and how large it is."""

    name: str
    file: str
    identity: BookIdentity
    entries: tuple[int, ...]
    """By depth, the openings first."""
    verdicts: dict[str, int]
    trials: int


class BookListReport(Model):
    """The JSON document of `gammonfarm book list`."""

    books: tuple[BookInfo, ...]


class BookBuildReport(Model):
    """The JSON document of `gammonfarm book build`."""

    book: BookInfo
    computed: int
    """Entries that this run computed or extended."""
    finished: bool
    """Whether all that the recipe asks for is there; otherwise the budget ended the run."""
    seconds: float


class BookResult(Model):
    """The answer of a book that was built on a farm; its file is fetched apart."""

    name: str
    identity: BookIdentity
    digest: str
    """Of the content of all entries."""
    finished: bool
    """Whether all that the recipe asks for is there; otherwise the budget ended it."""
    entries: tuple[int, ...]
    """By depth, the openings first."""
    verdicts: dict[str, int]
    trials: int
    openings: tuple[BookEntry, ...]
    """The likeliest first."""


class BookShowReport(Model):
    """The JSON document of `gammonfarm book show`."""

    book: BookInfo
    after: tuple[str, ...]
    """Plays from the start of the game to the position."""
    xgid: str
    """Before the roll, or with it where one was named."""
    plays: tuple[BookPlay, ...]
    """Of the roll that was named, best first; else empty."""
    entries: tuple[BookEntry, ...]
    """Of the rolls that the book knows here."""


class EntryCheck(Model):
    """Whether an entry is what its question gives."""

    id: str
    path: str
    ok: bool
    differs: tuple[str, ...]
    """Names of what differs."""


class BookVerifyReport(Model):
    """The JSON document of `gammonfarm book verify`."""

    book: BookInfo
    digest: str
    """Of the content of all entries: the same for two books with the same entries."""
    ok: bool
    arithmetic: int
    """Entries whose numbers were made again from their exact sums."""
    recomputed: tuple[EntryCheck, ...]
    """Entries whose search and trials were made again."""
    wrong: tuple[EntryCheck, ...]
    """Entries whose numbers don't follow from their sums."""


class BookMergeReport(Model):
    """The JSON document of `gammonfarm book merge`."""

    book: BookInfo
    digest: str
    added: int
    replaced: int
    """Entries of which another book had more trials."""


class Side(enum.Enum):
    """How two books agree about an entry."""

    SAME = "same play"
    CLOSE = "close"
    """Other plays, but A puts B's play no more than 0.01 behind its own."""
    UNDECIDED = "within the error"
    """Further apart, but not by two standard errors of A's difference."""
    DIFFERENT = "different"
    """A's error bars speak against B's play."""
    UNLISTED = "unlisted"
    """A has not looked at B's play."""


class EntryDifference(Model):
    """Two books about one entry."""

    path: str
    side: Side
    a_play: str
    b_play: str
    a_loss: float | None
    """What B's play loses in A; null where A does not list it."""
    a_loss_se: float | None
    b_loss: float | None
    """What A's play loses in B."""
    equity_difference: float | None
    """Value of A's best play: A's less B's."""


class BookDiffReport(Model):
    """The JSON document of `gammonfarm book diff`."""

    a: str
    b: str
    compared: int
    sides: dict[str, int]
    entries: tuple[EntryDifference, ...]
    """In the order of the game; unless all are asked for, only those with other best plays."""


class RollComparison(Model):
    """A first roll of a book beside a published table."""

    roll: str
    play: str
    equity: float
    se: float
    verdict: Verdict
    published_play: str
    published_equity: float | None
    """In the table's unit; null where it has losses only."""
    published_score: str | None
    """Where the table's values are for a score, not for money."""
    loss: float | None
    """What the published play loses in the book; null where it does not list it."""
    loss_se: float | None
    """Of the simulated difference."""
    published_loss: float | None
    """What the book's play loses in the table."""
    side: Side
    good: bool
    """Whether the published play is the book's, or loses no more than 0.01 in it."""
    good_there: bool
    """Whether the book's play is the published one, or loses no more than 0.01 in the table."""


class TableComparison(Model):
    """The openings of a book beside one published table."""

    name: str
    source: str
    units: str
    rolls: tuple[RollComparison, ...]
    sides: dict[str, int]
    plays: int
    """Plays besides the book's best that both list."""
    within_bars: int
    """Of these, how many lose in the table what they lose in the book, within its error bars of 95 %."""
    mean_gap: float | None
    """Mean of what they lose in the book less what they lose in the table."""


class NamedPlay(Model):
    """A play that somebody names without a number."""

    roll: str
    play: str
    rank: int | None
    """In the book; null where it does not list the play."""
    loss: float | None
    loss_se: float | None
    standing: Standing | None


class BookComparison(Model):
    """A book's openings beside all that was published."""

    book: BookInfo
    openings: tuple[BookEntry, ...]
    tables: tuple[TableComparison, ...]
    """None for rules or scores that the tables are not about."""
    named: tuple[NamedPlay, ...]
    """Plays that the manual names."""


class BookCompareReport(Model):
    """The JSON document of `gammonfarm book compare`."""

    books: tuple[BookComparison, ...]


class QuizAnswer(Model):
    """One question of a quiz."""

    id: str
    path: str
    answer: str | None
    """Null where no play was given."""
    best: str
    loss: float | None
    """Null where the book does not list the answer."""
    standing: Standing | None


class BookQuizReport(Model):
    """The JSON document of `gammonfarm book quiz`."""

    book: str
    questions: tuple[QuizAnswer, ...]
    right: int
    """Answers that are best or playable."""
    longest_streak: int
    """Most right answers in a row."""
    mean_loss: float | None
    """Over the answers that the book lists."""


class BookMatch(Model):
    """What a book says about the plays of an evaluated position."""

    name: str
    file: str
    verdict: Verdict
    plays: tuple[BookPlay, ...]
