"""Bit tricks on masks of places (bit p = place p, 0..25, kept in int64)."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.kernels.compiled import inlined


@intrinsic
def trailing_zeros(typingctx, value):
    """Index of the lowest set bit of an int64 (64 for zero)."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@intrinsic
def leading_zeros(typingctx, value):
    """Number of clear bits above the highest set bit of an int64 (64 for zero)."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@intrinsic
def count_bits(typingctx, value):
    """Number of set bits of an integer, in its own type."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return value(value), codegen


@intrinsic
def reverse_bits(typingctx, value):
    """The 64 bits of an int64 in reverse order."""

    def codegen(context, builder, signature, args):
        return builder.bitreverse(args[0])

    return types.int64(types.int64), codegen


@inlined
def lowest(mask):
    """Place of the lowest set bit."""
    return trailing_zeros(mask)


@inlined
def highest(mask):
    """Place of the highest set bit (-1 for an empty mask)."""
    return 63 - leading_zeros(mask)


@inlined
def other_view(mask):
    """A mask of places in the other player's numbering: bit p becomes bit 25 - p."""
    return (reverse_bits(mask) >> 38) & 0x3FFFFFF
