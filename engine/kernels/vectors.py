"""The two inner loops of the integer network, written as vector code that LLVM lowers to whatever the CPU has.

Numba's own loop vectoriser handles neither well: it reloads the running sums for every row, and it adds up each
output of a layer across lanes. All arithmetic is on integers, so the way it is grouped cannot change a result.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32
TILE = 128
"""Sums of this many units are held in registers at a time. Widths are multiples of LANES; multiples of TILE are
fastest.
"""

_I16 = ir.IntType(16)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_ROW = ir.VectorType(_I16, LANES)


def _data(context, builder, array_type, value):
    return context.make_array(array_type)(context, builder, value).data


def _spread(builder, value, vector):
    """A scalar in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count))


def _at_most(builder, value, shifts, clips):
    """min(value, clip << shift), lane by lane."""
    largest = builder.shl(clips, shifts)
    return builder.select(builder.icmp_signed("<", value, largest), value, largest)


def _vector_at(builder, pointer, offset, vector):
    """Pointer to a vector of int16 that starts `offset` elements after `pointer`."""
    return builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())


@intrinsic
def exchange_rows(typingctx, base, table, pairs, count, clip, active):
    """active = min(max(base + sum over pairs of (table[new] - table[old]), 0), clip).

    base, active: int16[H]; table: int16[R, H]; pairs: int64[N, 2] of which the first `count` are used; clip: int64.
    """
    signature = types.void(base, table, pairs, types.int64, types.int64, active)

    def codegen(context, builder, sig, args):
        base_p = _data(context, builder, sig.args[0], args[0])
        table_p = _data(context, builder, sig.args[1], args[1])
        pairs_p = _data(context, builder, sig.args[2], args[2])
        out_p = _data(context, builder, sig.args[5], args[5])
        shape = context.make_array(sig.args[0])(context, builder, args[0]).shape
        width = builder.extract_value(shape, 0)
        clip16 = builder.trunc(args[4], _I16)
        clips = _spread(builder, clip16, _ROW)
        zeros = ir.Constant(_ROW, [0] * LANES)
        tiles = builder.udiv(width, ir.Constant(_I64, TILE))
        tiled = builder.mul(tiles, ir.Constant(_I64, TILE))
        rest = builder.udiv(builder.sub(width, tiled), ir.Constant(_I64, LANES))
        start = ir.Constant(_I64, 0)
        for first, times, parts in ((start, tiles, TILE // LANES), (tiled, rest, 1)):
            sums = [cgutils.alloca_once(builder, _ROW) for _ in range(parts)]
            with cgutils.for_range(builder, times) as tile:
                at = builder.add(first, builder.mul(tile.index, ir.Constant(_I64, parts * LANES)))
                offsets = [builder.add(at, ir.Constant(_I64, LANES * i)) for i in range(parts)]
                for i in range(parts):
                    builder.store(builder.load(_vector_at(builder, base_p, offsets[i], _ROW), align=2), sums[i])
                with cgutils.for_range(builder, args[3]) as pair:
                    place = builder.mul(pair.index, ir.Constant(_I64, 2))
                    new = builder.load(builder.gep(pairs_p, [place]))
                    old = builder.load(builder.gep(pairs_p, [builder.add(place, ir.Constant(_I64, 1))]))
                    new = builder.mul(new, width)
                    old = builder.mul(old, width)
                    for i in range(parts):
                        plus = builder.load(_vector_at(builder, table_p, builder.add(new, offsets[i]), _ROW), align=2)
                        minus = builder.load(_vector_at(builder, table_p, builder.add(old, offsets[i]), _ROW), align=2)
                        builder.store(builder.sub(builder.add(builder.load(sums[i]), plus), minus), sums[i])
                for i in range(parts):
                    value = builder.load(sums[i])
                    value = builder.select(builder.icmp_signed(">", value, zeros), value, zeros)
                    value = builder.select(builder.icmp_signed("<", value, clips), value, clips)
                    builder.store(value, _vector_at(builder, out_p, offsets[i], _ROW), align=2)
        return context.get_dummy_value()

    return signature, codegen


def _make_layer(outputs, chains):
    """An intrinsic for a layer with `outputs` outputs; `chains` independent sums hide the latency of the
    multiply-adds.
    """
    sums_type = ir.VectorType(_I32, 16 if outputs >= 16 else outputs)
    lanes = 16 if outputs >= 16 else outputs
    groups = outputs // lanes
    pair_type = ir.VectorType(_I16, 2 * lanes)
    wide_type = ir.VectorType(_I32, 2 * lanes)
    indices = ir.VectorType(_I32, lanes)
    even = ir.Constant(indices, list(range(0, 2 * lanes, 2)))
    odd = ir.Constant(indices, list(range(1, 2 * lanes, 2)))

    @intrinsic
    def layer(typingctx, values, weights, bias, out, active, shift, clip):
        """out = bias + weights applied to values; active = min(max(out / 2**shift, 0), clip), rounded to the nearest.

        See `engine.weights` for the layout of the weights. `shift` and `clip`: int64.
        """
        signature = types.void(values, weights, bias, out, active, types.int64, types.int64)

        def codegen(context, builder, sig, args):
            values_p = _data(context, builder, sig.args[0], args[0])
            weights_p = _data(context, builder, sig.args[1], args[1])
            bias_p = _data(context, builder, sig.args[2], args[2])
            out_p = _data(context, builder, sig.args[3], args[3])
            active_p = _data(context, builder, sig.args[4], args[4])
            shift = builder.trunc(args[5], _I32)
            half = builder.shl(ir.Constant(_I32, 1), builder.sub(shift, ir.Constant(_I32, 1)))
            halves, shifts = _spread(builder, half, sums_type), _spread(builder, shift, sums_type)
            clips = _spread(builder, builder.trunc(args[6], _I32), sums_type)
            zeros = ir.Constant(sums_type, [0] * lanes)
            shape = context.make_array(sig.args[0])(context, builder, args[0]).shape
            inputs = builder.extract_value(shape, 0)
            sums = [[cgutils.alloca_once(builder, sums_type) for _ in range(groups)] for _ in range(chains)]
            for c in range(chains):
                for g in range(groups):
                    if c == 0:
                        start = builder.gep(bias_p, [ir.Constant(_I64, g * lanes)])
                        first = builder.load(builder.bitcast(start, sums_type.as_pointer()), align=4)
                    else:
                        first = ir.Constant(sums_type, [0] * lanes)
                    builder.store(first, sums[c][g])
            steps = builder.udiv(inputs, ir.Constant(_I64, 2 * chains))
            with cgutils.for_range(builder, steps) as step:
                for c in range(chains):
                    pair = builder.add(builder.mul(step.index, ir.Constant(_I64, chains)), ir.Constant(_I64, c))
                    at = builder.gep(values_p, [builder.mul(pair, ir.Constant(_I64, 2))])
                    both = builder.load(builder.bitcast(at, _I32.as_pointer()), align=2)
                    a = builder.bitcast(_spread(builder, both, sums_type), pair_type)
                    for g in range(groups):
                        offset = builder.mul(pair, ir.Constant(_I64, 2 * outputs))
                        offset = builder.add(offset, ir.Constant(_I64, 2 * lanes * g))
                        w = builder.load(_vector_at(builder, weights_p, offset, pair_type), align=2)
                        # This form (widen, multiply, add neighbours) is what LLVM knows as one multiply-add of pairs.
                        products = builder.mul(builder.sext(a, wide_type), builder.sext(w, wide_type))
                        undefined = ir.Constant(wide_type, ir.Undefined)
                        both_products = builder.add(
                            builder.shuffle_vector(products, undefined, even),
                            builder.shuffle_vector(products, undefined, odd),
                        )
                        builder.store(builder.add(builder.load(sums[c][g]), both_products), sums[c][g])
            for g in range(groups):
                total = builder.load(sums[0][g])
                for c in range(1, chains):
                    total = builder.add(total, builder.load(sums[c][g]))
                end = builder.gep(out_p, [ir.Constant(_I64, g * lanes)])
                builder.store(total, builder.bitcast(end, sums_type.as_pointer()), align=4)
                # The sum with half a step added may leave 32 bits only where it is far beyond the clip anyway: clip the
                # sum itself first, at the largest value that the rounding can take.
                value = builder.ashr(builder.add(_at_most(builder, total, shifts, clips), halves), shifts)
                value = builder.select(builder.icmp_signed(">", value, zeros), value, zeros)
                value = builder.select(builder.icmp_signed("<", value, clips), value, clips)
                narrow = ir.VectorType(_I16, lanes)
                place = _vector_at(builder, active_p, ir.Constant(_I64, g * lanes), narrow)
                builder.store(builder.trunc(value, narrow), place, align=2)
            return context.get_dummy_value()

        return signature, codegen

    return layer


second_layer = _make_layer(32, 4)
"""(values int16[H], weights int16[H / 2, 32, 2], bias int32[32], out int32[32], active int16[32], shift, clip)."""

last_layer = _make_layer(8, 2)
"""(values int16[n], weights int16[n / 2, 8, 2], bias int32[8], out int32[8], active int16[8], shift, clip)."""
