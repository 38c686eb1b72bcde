"""Bit counting that LLVM lowers to the hardware instruction, vectorised where there is one."""

import numpy as np
from numba import types
from numba.extending import intrinsic, overload


def popcount(word):
    """Number of ones in an unsigned integer."""
    return np.bitwise_count(word)


@intrinsic
def _ctpop(typingctx, word):
    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return word(word), generate


@overload(popcount, jit_options={"nogil": True})
def _popcount(word):
    if isinstance(word, types.Integer):
        return lambda word: _ctpop(word)
    return None
