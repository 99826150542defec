"""Bit masks, sums and shots of a board as vector code: what the board facts are made of.

Written as LLVM vectors over the places or over the rolls, because Numba widens every integer to 64 bits and then needs
four times as many instructions. A board is int8[26]; a place is bit p of a mask, in the mover's numbering.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.kernels.vectors import _I8, _I16, _I32, _I64, _data, _spread, _vector_at, _whole


@intrinsic
def place_masks(typingctx, board):
    """Places of a board (int8[26]) as bit masks in int64: with at least 1, 2, 3, 4 own checkers, and the same of the
    opponent's.
    """
    signature = types.UniTuple(types.int64, 8)(board)
    half = ir.VectorType(_I8, 16)

    def codegen(context, builder, sig, args):
        board_p = _data(context, builder, sig.args[0], args[0])
        # Places 0..15 and 10..25: two loads that stay within the board.
        parts = [builder.load(_vector_at(builder, board_p, _whole(start), half), align=1) for start in (0, 10)]
        masks = []
        for comparison, number in [(">", n) for n in range(4)] + [("<", -n) for n in range(4)]:
            low, high = (
                builder.zext(
                    builder.bitcast(builder.icmp_signed(comparison, part, ir.Constant(half, [number] * 16)), _I16), _I64
                )
                for part in parts
            )
            masks.append(builder.or_(low, builder.shl(high, _whole(10))))
        return context.make_tuple(builder, sig.return_type, masks)

    return signature, codegen


@intrinsic
def place_rows(typingctx, board, rows):
    """The first 26 of `rows` (int32[ROW_SPACE]) = the table's row for the count on each place of a board (int8[26]):
    1 + 31 * place + count + 15, and 0 for an empty place.
    """
    signature = types.void(board, rows)
    half = ir.VectorType(_I8, 16)
    wide = ir.VectorType(_I32, 16)

    def codegen(context, builder, sig, args):
        board_p = _data(context, builder, sig.args[0], args[0])
        rows_p = _data(context, builder, sig.args[1], args[1])
        for start in (0, 10):  # two loads that stay within the board
            counts = builder.load(_vector_at(builder, board_p, _whole(start), half), align=1)
            offsets = ir.Constant(wide, [16 + 31 * place for place in range(start, start + 16)])
            row = builder.add(builder.sext(counts, wide), offsets)
            there = builder.icmp_signed("!=", counts, ir.Constant(half, [0] * 16))
            row = builder.select(there, row, ir.Constant(wide, [0] * 16))
            builder.store(row, _vector_at(builder, rows_p, _whole(start), wide), align=4)
        return context.get_dummy_value()

    return signature, codegen


# Sums over a side's checkers, all in one number: where each begins, and what a checker on a place of the side adds.
PIPS, CHECKERS, TIMING, ZONE, DEEP, CONTACT = 0, 9, 13, 20, 24, 28


def _sums_of_place(place):
    """Pips; one; half the pips, rounded up, down to the six point from 7..18; one on 1..11; one on 1..3."""
    if place == 0:
        return 0  # the other side's bar
    timing = (place - 5) // 2 if 6 < place < 19 else 0
    zone = int(place < 12)
    deep = int(place < 4)
    return (place << PIPS) + (1 << CHECKERS) + (timing << TIMING) + (zone << ZONE) + (deep << DEEP)


@intrinsic
def side_sums(typingctx, board, front_own, front_opponent):
    """(own, opponent's) sums over the checkers of a board, six in one int64 each, see `PIPS` ... `CONTACT`.

    front_own, front_opponent: int64; own checkers on places above the first have contact, and the opponent's on places
    (in the mover's numbering) below the second.
    """
    signature = types.UniTuple(types.int64, 2)(board, types.int64, types.int64)
    half = ir.VectorType(_I8, 16)
    wide = ir.VectorType(_I32, 16)

    def codegen(context, builder, sig, args):
        board_p = _data(context, builder, sig.args[0], args[0])
        zeros = ir.Constant(wide, [0] * 16)
        fronts = [_spread(builder, builder.trunc(front, _I32), wide) for front in args[1:]]
        kind = ir.FunctionType(_I32, [wide])
        add_up = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.add.v16i32")
        totals = [zeros, zeros]
        for start, skip in ((0, 0), (10, 6)):  # two loads that stay within the board; the second repeats six places
            places = list(range(start, start + 16))
            counts = builder.load(_vector_at(builder, board_p, _whole(start), half), align=1)
            counts = builder.sext(counts, wide)
            numbers = ir.Constant(wide, places)
            for side, (comparison, turn) in enumerate(((">", False), ("<", True))):
                mine = builder.sub(zeros, counts) if turn else counts
                mine = builder.select(builder.icmp_signed(">", mine, zeros), mine, zeros)
                sums = [_sums_of_place(25 - place if turn else place) for place in places]
                weights = ir.Constant(wide, [0] * skip + sums[skip:])
                touching = builder.icmp_signed(comparison, numbers, fronts[side])
                more = builder.select(touching, ir.Constant(wide, [0] * skip + [1 << CONTACT] * (16 - skip)), zeros)
                value = builder.mul(mine, builder.add(weights, more))
                totals[side] = builder.add(totals[side], value)
        results = [builder.zext(builder.call(add_up, [total]), _I64) for total in totals]
        return context.make_tuple(builder, sig.return_type, results)

    return signature, codegen


# Rolls of different dice and equal dice, filled up to whole vectors with dice that reach nothing.
_NOTHING = 31
_DIFFERENT = [(a, b) for a in range(1, 7) for b in range(1, a)] + [(_NOTHING, _NOTHING)]
_EQUAL = [*range(1, 7), _NOTHING, _NOTHING]


def _make_hits(down):
    """Shots of the mover (`down`: his checkers move to lower places) or of his opponent."""

    @intrinsic
    def hits(typingctx, movers, extra, keep, deep_equal, opened, target, far):
        """(rolls of 36 that reach a place of `target`, of `far`), as int64.

        All arguments int64. movers: places from which the first die may be played; extra: what else may move with the
        second die once the first was played; keep: -1 if the checker that moved may go on, else 0; deep_equal: steps of
        equal dice that can reach anything (1..4, with `keep` and `extra` applied after the first); opened: points that
        may be landed on.
        """
        whole = types.int64
        signature = types.UniTuple(whole, 2)(whole, whole, whole, whole, whole, whole, whole)

        def codegen(context, builder, sig, args):
            def spread(value, vector):
                return _spread(builder, builder.trunc(value, _I32), vector)

            def move(places, dice):
                return builder.lshr(places, dice) if down else builder.shl(places, dice)

            def bits(reached, goal, vector):
                lanes = vector.count
                met = builder.icmp_signed("!=", builder.and_(reached, goal), ir.Constant(vector, [0] * lanes))
                mask = builder.bitcast(met, ir.IntType(lanes))
                return builder.ctpop(builder.zext(mask, _I64))

            totals = [_whole(0), _whole(0)]
            for dice, weight in ((_DIFFERENT, 2), (_EQUAL, 1)):
                vector = ir.VectorType(_I32, len(dice))
                zeros = ir.Constant(vector, [0] * len(dice))
                start, other, stay, free, goal, far_goal = (spread(args[i], vector) for i in (0, 1, 2, 4, 5, 6))

                def after(landed, zeros=zeros, other=other, stay=stay):
                    moved = builder.icmp_signed("!=", landed, zeros)
                    return builder.or_(builder.and_(landed, stay), builder.select(moved, other, zeros))

                if weight == 2:
                    a = ir.Constant(vector, [pair[0] for pair in dice])
                    b = ir.Constant(vector, [pair[1] for pair in dice])
                    by_a = builder.and_(move(start, a), free)
                    by_b = builder.and_(move(start, b), free)
                    reached = builder.or_(by_a, by_b)
                    reached = builder.or_(reached, builder.and_(move(after(by_a), b), free))
                    reached = builder.or_(reached, builder.and_(move(after(by_b), a), free))
                else:
                    die = ir.Constant(vector, list(dice))
                    places = builder.and_(move(start, die), free)
                    reached = places
                    places = after(places)
                    for step in range(2, 5):
                        places = builder.and_(move(places, die), free)
                        enough = builder.icmp_signed(">=", args[3], _whole(step))
                        reached = builder.select(enough, builder.or_(reached, places), reached)
                for i, wanted in enumerate((goal, far_goal)):
                    found = builder.mul(bits(reached, wanted, vector), _whole(weight))
                    totals[i] = builder.add(totals[i], found)
            return context.make_tuple(builder, sig.return_type, totals)

        return signature, codegen

    return hits


hits_down = _make_hits(True)
hits_up = _make_hits(False)
