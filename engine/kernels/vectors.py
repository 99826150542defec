"""The inner loops of the integer network, written as vector code that LLVM lowers to whatever the CPU has.

Numba's own loop vectoriser handles none of them well: it reloads the running sums for every row, and it adds up each
output of a layer across lanes. All arithmetic is on integers, so the way it is grouped cannot change a result.

A table of the first layer is stored in tiles of `TILE` or `SMALL_TILE` units, int16[tiles, rows, tile]: the loops go
through all plays of a batch with one tile before they turn to the next, so the rows in use fit the first cache.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32
TILE = 128
"""Units that the first layer works on at a time. Its width is a multiple of this."""
SMALL_TILE = 64
"""The same for the filter net."""

_I8 = ir.IntType(8)
_I16 = ir.IntType(16)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_ROW = ir.VectorType(_I16, LANES)
_PAIRS = ir.VectorType(_I32, LANES // 2)


def _data(context, builder, array_type, value):
    return context.make_array(array_type)(context, builder, value).data


def _size(context, builder, array_type, value, axis):
    return builder.extract_value(context.make_array(array_type)(context, builder, value).shape, axis)


def _spread(builder, value, vector):
    """A scalar in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count))


def _whole(number):
    return ir.Constant(_I64, number)


def _vector_at(builder, pointer, offset, vector):
    """Pointer to a vector that starts `offset` elements after `pointer`."""
    return builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())


def _load_row(builder, pointer, offset):
    return builder.load(_vector_at(builder, pointer, offset, _ROW), align=2)


def _within(builder, value, zeros, clips):
    """min(max(value, 0), clip), lane by lane."""
    value = builder.select(builder.icmp_signed(">", value, zeros), value, zeros)
    return builder.select(builder.icmp_signed("<", value, clips), value, clips)


def _make_sum(size):
    """Adding up rows in tiles of `size` units."""
    parts = size // LANES

    @intrinsic
    def sum_rows(typingctx, bias, table, c, rows, count, total, k):
        """total[k] = bias[c] + the sum of the first `count` of `rows` of table[c].

        bias: int16[C, H]; table: int16[C, tiles, R, size]; rows: int32[N]; total: int16[., H]; c, count, k: int64.
        """
        signature = types.void(bias, table, types.int64, rows, types.int64, total, types.int64)

        def codegen(context, builder, sig, args):
            tiles = _size(context, builder, sig.args[1], args[1], 1)
            stride = builder.mul(_size(context, builder, sig.args[1], args[1], 2), _whole(size))
            width = builder.mul(tiles, _whole(size))
            start_p = builder.gep(_data(context, builder, sig.args[0], args[0]), [builder.mul(args[2], width)])
            class_size = builder.mul(tiles, stride)
            table_p = builder.gep(_data(context, builder, sig.args[1], args[1]), [builder.mul(args[2], class_size)])
            rows_p = _data(context, builder, sig.args[3], args[3])
            total_p = builder.gep(_data(context, builder, sig.args[5], args[5]), [builder.mul(args[6], width)])
            sums = [cgutils.alloca_once(builder, _ROW) for _ in range(parts)]
            with cgutils.for_range(builder, tiles) as tile:
                unit = builder.mul(tile.index, _whole(size))
                first = builder.mul(tile.index, stride)
                for i in range(parts):
                    builder.store(_load_row(builder, start_p, builder.add(unit, _whole(LANES * i))), sums[i])
                with cgutils.for_range(builder, args[4]) as step:
                    row = builder.sext(builder.load(builder.gep(rows_p, [step.index])), _I64)
                    at = builder.add(first, builder.mul(row, _whole(size)))
                    for i in range(parts):
                        plus = _load_row(builder, table_p, builder.add(at, _whole(LANES * i)))
                        builder.store(builder.add(builder.load(sums[i]), plus), sums[i])
                for i in range(parts):
                    place = _vector_at(builder, total_p, builder.add(unit, _whole(LANES * i)), _ROW)
                    builder.store(builder.load(sums[i]), place, align=2)
            return context.get_dummy_value()

        return signature, codegen

    return sum_rows


def _make_exchange(size):
    """Exchanging rows in tiles of `size` units."""
    parts = size // LANES

    @intrinsic
    def exchange_rows(typingctx, base, b, table, c, pairs, counts, first, last, clip, active, live):
        """active[k] = min(max(base[b] + sum over its pairs of (table[c][new] - table[c][old]), 0), clip) for all k from
        `first` up to `last`.

        base: int16[., H]; table: int16[C, tiles, R, size]; pairs: int32[B, N, 2] of which play k uses the first
        counts[k] (int64[B]); b, c, first, last, clip: int64; active: int16[B, H] out; live: int64[B, tiles] out: bit i
        of live[k, t] = one of the units size * t + 2 * i and the next is not zero.
        """
        whole = types.int64
        signature = types.void(base, whole, table, whole, pairs, counts, whole, whole, whole, active, live)

        def codegen(context, builder, sig, args):
            tiles = _size(context, builder, sig.args[2], args[2], 1)
            stride = builder.mul(_size(context, builder, sig.args[2], args[2], 2), _whole(size))
            width = builder.mul(tiles, _whole(size))
            base_p = builder.gep(_data(context, builder, sig.args[0], args[0]), [builder.mul(args[1], width)])
            class_size = builder.mul(tiles, stride)
            table_p = builder.gep(_data(context, builder, sig.args[2], args[2]), [builder.mul(args[3], class_size)])
            pairs_p = _data(context, builder, sig.args[4], args[4])
            counts_p = _data(context, builder, sig.args[5], args[5])
            active_p = _data(context, builder, sig.args[9], args[9])
            live_p = _data(context, builder, sig.args[10], args[10])
            longest = builder.mul(_size(context, builder, sig.args[4], args[4], 1), _whole(2))
            clips = _spread(builder, builder.trunc(args[8], _I16), _ROW)
            zeros = ir.Constant(_ROW, [0] * LANES)
            no_pairs = ir.Constant(_PAIRS, [0] * (LANES // 2))
            sums = [cgutils.alloca_once(builder, _ROW) for _ in range(parts)]
            with cgutils.for_range(builder, tiles) as tile:
                unit = builder.mul(tile.index, _whole(size))
                begin = builder.mul(tile.index, stride)
                parents = [_load_row(builder, base_p, builder.add(unit, _whole(LANES * i))) for i in range(parts)]
                with cgutils.for_range_slice(builder, args[6], args[7], _whole(1), inc=True) as (play, _):
                    for i in range(parts):
                        builder.store(parents[i], sums[i])
                    count = builder.load(builder.gep(counts_p, [play]))
                    start = builder.mul(play, longest)
                    with cgutils.for_range(builder, count) as pair:
                        place = builder.add(start, builder.mul(pair.index, _whole(2)))
                        new = builder.sext(builder.load(builder.gep(pairs_p, [place])), _I64)
                        old = builder.sext(builder.load(builder.gep(pairs_p, [builder.add(place, _whole(1))])), _I64)
                        new = builder.add(begin, builder.mul(new, _whole(size)))
                        old = builder.add(begin, builder.mul(old, _whole(size)))
                        for i in range(parts):
                            plus = _load_row(builder, table_p, builder.add(new, _whole(LANES * i)))
                            minus = _load_row(builder, table_p, builder.add(old, _whole(LANES * i)))
                            builder.store(builder.sub(builder.add(builder.load(sums[i]), plus), minus), sums[i])
                    out = builder.add(builder.mul(play, width), unit)
                    alive = _whole(0)
                    for i in range(parts):
                        value = _within(builder, builder.load(sums[i]), zeros, clips)
                        builder.store(
                            value, _vector_at(builder, active_p, builder.add(out, _whole(LANES * i)), _ROW), align=2
                        )
                        some = builder.icmp_signed("!=", builder.bitcast(value, _PAIRS), no_pairs)
                        bits = builder.zext(builder.bitcast(some, ir.IntType(LANES // 2)), _I64)
                        alive = builder.or_(alive, builder.shl(bits, _whole(LANES // 2 * i)))
                    place = builder.add(builder.mul(play, tiles), tile.index)
                    builder.store(alive, builder.gep(live_p, [place]))
            return context.get_dummy_value()

        return signature, codegen

    return exchange_rows


sum_rows = _make_sum(TILE)
exchange_rows = _make_exchange(TILE)
sum_small_rows = _make_sum(SMALL_TILE)
exchange_small_rows = _make_exchange(SMALL_TILE)


def _make_layer(outputs, pairs):
    """An intrinsic for a layer with `outputs` outputs: over the live pairs of inputs, or (given) over so many."""
    lanes = 16 if outputs >= 16 else outputs
    groups = outputs // lanes
    sums_type = ir.VectorType(_I32, lanes)
    pair_type = ir.VectorType(_I16, 2 * lanes)
    wide_type = ir.VectorType(_I32, 2 * lanes)
    narrow = ir.VectorType(_I16, lanes)
    indices = ir.VectorType(_I32, lanes)
    even = ir.Constant(indices, list(range(0, 2 * lanes, 2)))
    odd = ir.Constant(indices, list(range(1, 2 * lanes, 2)))

    @intrinsic
    def layer(typingctx, values, k, live, weights, bias, c, out, active, shift, clip):
        """out = bias[c] + weights[c] applied to values[k]; active = min(max(out / 2**shift, 0), clip), rounded to the
        nearest.

        values: int16[., n]; live: int64[., tiles], row k says which pairs of inputs are not zero, see `exchange_rows`
        (unused if the number of pairs is given); weights: int16[C, n / 2 + 1, outputs, 2], the last pair's zero; bias:
        int32[C, outputs]; out: int32[outputs] and active: int16[1, outputs], both out. k, c, shift, clip: int64. The
        sums fit 32 bits (see `engine.weights`).
        """
        whole = types.int64
        signature = types.void(values, whole, live, weights, bias, whole, out, active, whole, whole)

        def codegen(context, builder, sig, args):
            width = _size(context, builder, sig.args[0], args[0], 1)
            values_p = builder.gep(_data(context, builder, sig.args[0], args[0]), [builder.mul(args[1], width)])
            rows = _size(context, builder, sig.args[3], args[3], 1)
            class_size = builder.mul(rows, _whole(2 * outputs))
            weights_p = builder.gep(_data(context, builder, sig.args[3], args[3]), [builder.mul(args[5], class_size)])
            bias_at = builder.mul(args[5], _whole(outputs))
            bias_p = builder.gep(_data(context, builder, sig.args[4], args[4]), [bias_at])
            out_p = _data(context, builder, sig.args[6], args[6])
            active_p = _data(context, builder, sig.args[7], args[7])
            shift = builder.trunc(args[8], _I32)
            half = builder.shl(ir.Constant(_I32, 1), builder.sub(shift, ir.Constant(_I32, 1)))
            halves, shifts = _spread(builder, half, sums_type), _spread(builder, shift, sums_type)
            clips = _spread(builder, builder.trunc(args[9], _I32), sums_type)
            largest = builder.shl(clips, shifts)
            zeros = ir.Constant(sums_type, [0] * lanes)
            # Two independent sums hide the latency of the multiply-adds.
            sums = [[cgutils.alloca_once(builder, sums_type) for _ in range(groups)] for _ in range(2)]
            for g in range(groups):
                begin = _vector_at(builder, bias_p, _whole(g * lanes), sums_type)
                builder.store(builder.load(begin, align=4), sums[0][g])
                builder.store(zeros, sums[1][g])

            def add_pair(pair, chain):
                at = builder.gep(values_p, [builder.mul(pair, _whole(2))])
                both = builder.load(builder.bitcast(at, _I32.as_pointer()), align=2)
                a = builder.bitcast(_spread(builder, both, sums_type), pair_type)
                for g in range(groups):
                    offset = builder.add(builder.mul(pair, _whole(2 * outputs)), _whole(2 * lanes * g))
                    w = builder.load(_vector_at(builder, weights_p, offset, pair_type), align=2)
                    # This form (widen, multiply, add neighbours) is what LLVM knows as one multiply-add of pairs.
                    products = builder.mul(builder.sext(a, wide_type), builder.sext(w, wide_type))
                    undefined = ir.Constant(wide_type, ir.Undefined)
                    neighbours = builder.add(
                        builder.shuffle_vector(products, undefined, even),
                        builder.shuffle_vector(products, undefined, odd),
                    )
                    builder.store(builder.add(builder.load(sums[chain][g]), neighbours), sums[chain][g])

            if pairs:
                for pair in range(pairs):
                    add_pair(_whole(pair), pair % 2)
            else:
                none = ir.Constant(ir.IntType(1), 0)
                words = _size(context, builder, sig.args[2], args[2], 1)
                last = builder.sub(rows, _whole(1))
                tile_pairs = builder.udiv(last, words)
                live_p = builder.gep(_data(context, builder, sig.args[2], args[2]), [builder.mul(args[1], words)])
                alive = cgutils.alloca_once(builder, _I64)
                with cgutils.for_range(builder, words) as word:
                    first = builder.mul(word.index, tile_pairs)
                    mask = builder.load(builder.gep(live_p, [word.index]))
                    builder.store(mask, alive)
                    steps = builder.lshr(builder.add(builder.ctpop(mask), _whole(1)), _whole(1))
                    with cgutils.for_range(builder, steps):
                        mask = builder.load(alive)
                        add_pair(builder.add(first, builder.cttz(mask, none)), 0)
                        mask = builder.and_(mask, builder.sub(mask, _whole(1)))
                        # Where the number of pairs is odd, the last step takes the pair without weight.
                        second = builder.add(first, builder.cttz(mask, none))
                        second = builder.select(builder.icmp_signed("!=", mask, _whole(0)), second, last)
                        add_pair(second, 1)
                        builder.store(builder.and_(mask, builder.sub(mask, _whole(1))), alive)
            for g in range(groups):
                total = builder.add(builder.load(sums[0][g]), builder.load(sums[1][g]))
                end = _vector_at(builder, out_p, _whole(g * lanes), sums_type)
                builder.store(total, end, align=4)
                # The sum with half a step added may leave 32 bits only where it is far beyond the clip anyway: clip the
                # sum itself first, at the largest value that the rounding can take.
                value = builder.select(builder.icmp_signed("<", total, largest), total, largest)
                value = _within(builder, builder.ashr(builder.add(value, halves), shifts), zeros, clips)
                place = _vector_at(builder, active_p, _whole(g * lanes), narrow)
                builder.store(builder.trunc(value, narrow), place, align=2)
            return context.get_dummy_value()

        return signature, codegen

    return layer


second_layer = _make_layer(32, None)
last_layer = _make_layer(8, 16)
filter_layer = _make_layer(8, None)


@intrinsic
def differing(typingctx, one, other):
    """Bit i of the int64 result = one[i] != other[i], for two int32[64]."""
    signature = types.int64(one, other)
    part = ir.VectorType(_I32, 16)

    def codegen(context, builder, sig, args):
        pointers = [_data(context, builder, sig.args[i], args[i]) for i in range(2)]
        mask = _whole(0)
        for start in range(0, 64, 16):
            a, b = (builder.load(_vector_at(builder, p, _whole(start), part), align=4) for p in pointers)
            bits = builder.zext(builder.bitcast(builder.icmp_signed("!=", a, b), _I16), _I64)
            mask = builder.or_(mask, builder.shl(bits, _whole(start)))
        return mask

    return signature, codegen
