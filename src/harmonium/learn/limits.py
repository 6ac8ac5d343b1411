"""What decides whether something is learned: limits of the scout."""

TOLERANCE = 1e-7
"""Difference up to which two values are the same, as a share of the range of all values seen:
rounding and noise of 1e-9 are below, noise of 1e-3 is far above."""

ORDER_TESTS = 3
"""How often a function must look like one of single bits and pairs, if effects are often the same:
in such functions larger terms are often hidden. (HIFF of 64 bits passes one test in 20 of 100.)"""

MAX_VALUE = 1e100
"""Values beyond which nothing is learned: their squares are too large."""

MIN_LENGTH, MAX_LENGTH = 8, 500
"""Bits for which a function is learned: fewer are soon tried, and pairs of more take too long."""

MIN_PREDICTED = 64
"""Random rows that a function of pairs must predict before it is known, at least."""

MIN_OBSERVED = 10
"""Pairs of effects on which an estimate of the share of interacting bits must rest."""

MAX_SHARE = 0.7
"""Share of pairs that interact, beyond which nothing is probed."""

MAX_PASSES = 40
"""Passes of the walk over all bits that may be expected to be necessary."""

GOOD_GUESS = 0.3
"""Errors of a function whose best row is worth an evaluation, as a share of the spread of all
values."""

GUESSED_SHARE = 0.03
"""Coefficients of a guess, as a share of the largest, below which they are left out."""

MIN_DISTINCT = 0.95
"""Share of bits whose effects must differ from those of all others, for probing."""

MAX_TERMS_PER_BIT, MAX_TERMS = 150, 10_000
"""Terms that the interactions may allow: the normal equations of 10,000 take 1.6 GB."""

WORTH = 0.4
"""What a row of a climb or a probe is worth in random rows, for terms of several bits."""

MAX_PROBES = 2
"""Walks from a row to its complement: another one finds what the first has missed."""

MIN_CONSTANT = 0.6
"""Share of bits whose first and last effect in the climbs must be the same, to look for blocks."""

BLOCK_TESTS, TEST_FLIPS, MAX_ODD = 32, 1.6, 0.6
"""Random changes that are tested before blocks are looked for; how many bits each flips, as a
multiple of the square root of their number; and the share that may be exceptions. (After a climb on
traps mostly 0 to 60 % are exceptions, on HIFF 67 to 97 %.)"""

MAX_BLOCK = 8
"""Bits of a block: all of its settings have to be known."""

MAX_IDLE, IDLE_PER_SETTING, MIN_IDLE = 64, 4, 8
"""Random changes in a row without an exception, after which no more are expected: before the first
block; later, as a multiple of the settings of the largest block; and when all single bits that are
left could be one block."""
