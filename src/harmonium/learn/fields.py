"""Sparse functions of single bits and pairs of thousands of bits, from rows and all of their flips.

With signs s = ±1 of the bits, f(s) = c + Σ h_i·s_i + Σ J_ij·s_i·s_j. Flipping bit i changes it by
−2·s_i·F_i with the local field F_i = h_i + Σ_j J_ij·s_j. A row and all its flips show every field.

If few bits interact with bit i, some pairs of rows differ in one of those alone: then its two
fields differ by 2·J_ij. So the couplings of a bit are among the differences of its fields, and a
coupling is among those of both of its bits. Couplings are real numbers, hence all different: a
difference that two bits have in common is their coupling, if the signs of each differ between the
rows of the other one. Such matches are looked for, and taken off the fields, again and again. A bit
whose fields are the same in all rows then is finished: all of its couplings are known, its flips
need not be evaluated any more, and others have one unknown coupling less.

By chance, two differences are the same but for one sign as often as with the right sign. So the
matches of the wrong sign tell how many matches a pair must have. Where most differences are the
same, as with couplings ±1, nothing is learned that way; then couplings are found by matching
pursuit (Mallat and Zhang 1993): those that correlate best with the fields of both of their bits.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from harmonium.arrays import Bits, Fitness
from harmonium.clock import check_time
from harmonium.jit import jit, one_blas_thread
from harmonium.learn.function import Integers, Numbers, Polynomial

RELATIVE = 1e-10
"""Differences up to which two fields are the same, as a share of the largest field: about a
thousand times the rounding of functions of thousands of terms."""

MAX_MATCHES = 3_000_000
"""Pairs of equal differences that are looked at. The most frequent ones are left out, and those
that are more frequent than pairs of rows: the coupling of two bits seldom is."""

MAX_COMMON = 0.5
"""Share of differences that may be left out, before couplings are found by correlation."""

MAX_WRONG = 0.02
"""Matches of the wrong sign, as a share of those of the right sign, with as many of a pair."""

SPARE = 4
"""Rows beyond the coefficients of a bit that must be explained too when it is finished."""

MIN_PURSUED = 8
"""Rows from which on couplings are found by correlation, after every second row, less the logarithm
of the number of bits to the base 2: with fewer rows other couplings explain the fields as well."""

PURSUITS = 100
"""Steps of the pursuit at most."""

BLOCK = 512
"""Bits whose correlations are computed at a time."""

Signs = NDArray[np.int8]


@dataclass
class Couplings:
    """Pairs of bits and the coefficient of each."""

    one: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    other: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    strength: Numbers = field(default_factory=lambda: np.empty(0))

    def __add__(self, more: "Couplings") -> "Couplings":
        return Couplings(
            np.append(self.one, more.one),
            np.append(self.other, more.other),
            np.append(self.strength, more.strength),
        )

    def pick(self, chosen: NDArray[np.bool_] | Integers) -> "Couplings":
        """Return some of them."""
        return Couplings(self.one[chosen], self.other[chosen], self.strength[chosen])

    def take_off(self, fields: Numbers, signs: Signs) -> None:
        """Subtract what they add to the fields of their bits: (bits, rows), as the signs."""
        _take_off(fields, signs, self.one, self.other, self.strength)


@dataclass
class Fields:
    """Rows of so many bits, the fields of the bits in them, and what follows from them."""

    signs: Signs
    """Of the bits in each row: (rows, bits)."""
    values: Numbers
    """Fields; nan for bits that were finished before: (rows, bits)."""
    singles: Numbers
    """Coefficient of each finished bit, nan for the others: (bits,)."""
    couplings: Couplings = field(default_factory=Couplings)
    """All couplings of finished bits."""

    @classmethod
    def start(cls, bits: int) -> "Fields":
        """Start without any rows."""
        return cls(
            np.empty((0, bits), np.int8), np.empty((0, bits)), np.full(bits, np.nan), Couplings()
        )

    @property
    def open(self) -> Integers:
        """The bits that are not finished."""
        return np.flatnonzero(np.isnan(self.singles))

    def add(self, row: Bits, value: float, flipped: Fitness) -> None:
        """Add a row, its value, and those with each open bit flipped."""
        signs = row.astype(np.int8) * np.int8(2) - np.int8(1)
        values = np.full(len(row), np.nan)
        values[self.open] = signs[self.open] * (value - flipped) / 2
        self.signs = np.vstack([self.signs, signs])
        self.values = np.vstack([self.values, values])

    def decode(self, noise: float) -> None:
        """Finish all bits whose fields can be explained; if the time is up nothing changes.

        Differences of the fields up to `noise` mean nothing.
        """
        singles, couplings = self.singles.copy(), self.couplings
        tolerance = max(noise, RELATIVE * float(np.abs(self.values[:, self.open]).max(initial=0.0)))
        while True:
            bits = np.flatnonzero(np.isnan(singles))
            signs = np.ascontiguousarray(self.signs[:, bits].T)
            left = self._list_fields(bits, couplings)
            found = _explain(left, signs, tolerance)
            if found is None:
                break
            found.take_off(left, signs)
            done = np.asarray(np.ptp(left, axis=1) <= 20 * tolerance)
            singles[bits[done]] = left[done].mean(axis=1)
            kept = found.pick(done[found.one] | done[found.other])
            couplings += Couplings(bits[kept.one], bits[kept.other], kept.strength)
            if not done.any() or done.all():
                break
        self.singles, self.couplings = singles, couplings

    def _list_fields(self, bits: Integers, couplings: Couplings) -> Numbers:
        """Return the fields of open bits without what finished ones add to them: (bits, rows)."""
        fields = np.zeros(self.signs.T.shape)
        fields[bits] = self.values[:, bits].T
        couplings.take_off(fields, self.signs.T)
        return np.ascontiguousarray(fields[bits])

    def make_function(self, free: Integers, row: Bits, value: float) -> Polynomial:
        """Return the function of all bits, of which these are free; its constant from a row."""
        signs = row[free] * 2.0 - 1.0
        pairs = self.couplings
        total = self.singles @ signs + pairs.strength @ (signs[pairs.one] * signs[pairs.other])
        terms: dict[tuple[int, ...], float] = {(): value - float(total)}
        for bit, single in zip(free.tolist(), self.singles.tolist(), strict=True):
            terms[bit,] = single
        ends = np.sort(np.column_stack([free[pairs.one], free[pairs.other]]), axis=1)
        terms |= dict(zip(map(tuple, ends.tolist()), pairs.strength.tolist(), strict=True))
        return Polynomial(len(row), terms)


def _explain(fields: Numbers, signs: Signs, tolerance: float) -> Couplings | None:
    """Return couplings that explain fields, as far as they can: both (bits, rows).

    None if too many couplings are the same for so few rows: fields may be the same by chance then.
    """
    left, found = fields.copy(), Couplings()
    while len(fields):
        check_time()
        more, common = _match(left, signs, tolerance)
        if common > MAX_COMMON:
            rows = signs.shape[1]
            if rows < MIN_PURSUED + np.log2(len(fields)) or rows % 2:
                return None
            with one_blas_thread():
                return _pursue(fields, signs, tolerance)
        if not len(more.one):
            more = _look_up(left, signs, tolerance)
        numbers = len(fields) * found.one + found.other
        more = more.pick(~np.isin(len(fields) * more.one + more.other, numbers))
        if not len(more.one):
            break
        more.take_off(left, signs)
        found += more
    return found


# Couplings are differences that two bits have in common.


def _match(fields: Numbers, signs: Signs, tolerance: float) -> tuple[Couplings, float]:
    """Return couplings by equal differences, and the share of differences too frequent for that."""
    first, second = np.triu_indices(fields.shape[1], 1)
    differences = (fields[:, first] - fields[:, second]) / 2
    bits, places = np.nonzero(np.abs(differences) > 20 * tolerance)
    values = differences[bits, places]
    order = np.argsort(np.abs(values), kind="stable")
    if not len(order):
        return Couplings(), 0.0
    values, bits, places = values[order], bits[order], places[order]
    jumps = np.flatnonzero(np.diff(np.abs(values)) > tolerance) + 1
    starts = np.concatenate([[0], jumps, [len(order)]])
    sizes = np.diff(starts)
    ascending = np.sort(sizes)
    affordable = int(np.searchsorted(np.cumsum(ascending**2), 2 * MAX_MATCHES))
    longest = min(len(first), int(ascending[min(affordable, len(sizes) - 1)]))
    common = float(sizes[sizes > longest].sum()) / len(order)
    if common > MAX_COMMON:
        return Couplings(), common
    short = np.flatnonzero((sizes > 1) & (sizes <= longest))
    entries = (values, bits, first[places], second[places], signs)
    runs = (starts[short], starts[short + 1])
    room = _find_matches(*entries, *runs, np.empty(0, np.int64), np.empty(0))
    keys, strengths = np.empty(room, np.int64), np.empty(room)
    _find_matches(*entries, *runs, keys, strengths)
    right = keys >= 0
    pairs, means, counts = _count(keys[right], strengths[right], tolerance)
    wrong = _count(-1 - keys[~right], strengths[~right], tolerance)[2]
    for least in range(1, int(counts.max(initial=0)) + 1):
        chosen = counts >= least
        if (wrong >= least).sum() <= MAX_WRONG * chosen.sum():
            one, other = np.divmod(pairs[chosen], len(fields))
            return Couplings(one, other, means[chosen]), common
    return Couplings(), common


@jit
def _find_matches(
    values: Numbers,
    bits: Integers,
    first: Integers,
    second: Integers,
    signs: Signs,
    begins: Integers,
    ends: Integers,
    keys: Integers,
    strengths: Numbers,
) -> int:
    """Find pairs of bits with equal differences; return how many there are.

    The key of bits i < j is i·n + j, and −1 less that if the signs of their coupling disagree.
    """
    count = 0
    for run in range(len(begins)):
        for x in range(begins[run], ends[run]):
            i = bits[x]
            for y in range(x + 1, ends[run]):
                j = bits[y]
                if i == j or signs[j, first[x]] == signs[j, second[x]]:
                    continue
                if signs[i, first[y]] == signs[i, second[y]]:
                    continue
                if count < len(keys):
                    mine, yours = values[x] * signs[j, first[x]], values[y] * signs[i, first[y]]
                    key = min(i, j) * len(signs) + max(i, j)
                    keys[count] = key if mine * yours > 0.0 else -1 - key
                    strengths[count] = mine
                count += 1
    return count


def _count(
    keys: Integers, strengths: Numbers, tolerance: float
) -> tuple[Integers, Numbers, Integers]:
    """Return for each pair its most frequent strength, and how often it was found."""
    order = np.lexsort((strengths, keys))
    keys, strengths = keys[order], strengths[order]
    new = (np.diff(keys) > 0) | (np.diff(strengths) > 2 * tolerance)
    starts = np.flatnonzero(np.append(True, new)[: len(keys)])
    counts = np.diff(np.append(starts, len(keys)))
    means = np.add.reduceat(strengths, starts) / counts if len(keys) else strengths
    pairs = keys[starts]
    order = np.lexsort((-counts, pairs))
    best = order[np.append(True, np.diff(pairs[order]) > 0)[: len(order)]]
    return pairs[best], means[best], counts[best]


def _look_up(fields: Numbers, signs: Signs, tolerance: float) -> Couplings:
    """Return couplings of bits that have one left: their fields have two values.

    These are the signs of the other bit; it is known if no other open bit has the same.
    """
    low, high = fields.min(axis=1, keepdims=True), fields.max(axis=1, keepdims=True)
    up = high - fields <= 20 * tolerance
    two = (up | (fields - low <= 20 * tolerance)).all(axis=1) & (high - low > 20 * tolerance)[:, 0]
    places: dict[bytes, list[int]] = {}
    for bit, row in enumerate(signs * signs[:, :1] > 0):
        places.setdefault(row.tobytes(), []).append(bit)
    found: dict[tuple[int, int], float] = {}
    for bit in np.flatnonzero(two).tolist():
        others = places.get((up[bit] == up[bit, 0]).tobytes(), [])
        others = [other for other in others if other != bit]
        if len(others) == 1:
            sign = 1.0 if up[bit, 0] == (signs[others[0], 0] > 0) else -1.0
            pair = (min(bit, others[0]), max(bit, others[0]))
            found[pair] = sign * float(high[bit, 0] - low[bit, 0]) / 2
    one, other = np.array(list(found), dtype=np.int64).reshape(-1, 2).T
    return Couplings(one, other, np.array(list(found.values())))


@jit
def _take_off(
    fields: Numbers, signs: Signs, one: Integers, other: Integers, strength: Numbers
) -> None:
    for number in range(len(one)):
        i, j, value = one[number], other[number], strength[number]
        for row in range(fields.shape[1]):
            fields[i, row] -= value * signs[j, row]
            fields[j, row] -= value * signs[i, row]


# Couplings of few different values are found by correlation.


def _pursue(fields: Numbers, signs: Signs, tolerance: float) -> Couplings:
    """Return couplings of the bits whose fields are explained by matching pursuit."""
    bits, rows = fields.shape
    partners = np.zeros((bits, rows), dtype=np.int64)
    counts, weights = np.zeros(bits, dtype=np.int64), np.zeros((bits, rows))
    left = fields - fields.mean(axis=1, keepdims=True)
    taken = np.eye(bits, dtype=np.bool_)
    for _ in range(PURSUITS):
        check_time()
        active = np.abs(left).max(axis=1) > 10 * tolerance
        if not active.any():
            break
        best, sizes = _correlate(left, signs, taken, active)
        chosen = active & (best[best] == np.arange(bits)) & (sizes > 0)
        chosen &= sizes >= np.median(sizes[active])
        if not chosen.any():
            chosen[sizes.argmax()] = True
        one = np.flatnonzero(chosen)
        other = best[one]
        taken[one, other] = taken[other, one] = True
        touched = np.unique(np.append(one, other))
        _fit(fields, signs, touched, taken, partners, counts, weights, left)
    return _agree(left, partners, counts, weights, tolerance)


def _agree(
    left: Numbers, partners: Integers, counts: Integers, weights: Numbers, tolerance: float
) -> Couplings:
    """Return the couplings of bits that are explained, if all of their partners agree with them."""
    bits, rows = left.shape
    done = (np.abs(left).max(axis=1) <= 10 * tolerance) & (counts + 1 + SPARE <= rows)
    used = np.arange(rows) < counts[:, None]
    one, others = np.nonzero(used)[0], partners[used]
    couplings = csr_array((weights[used], (one, others)), (bits, bits))
    wrong = abs(couplings - couplings.T) > 10 * tolerance
    done &= wrong.sum(axis=1) == 0
    kept = triu(couplings.tocsr(), format="coo")
    ends = np.column_stack(kept.coords).astype(np.int64)
    own = (np.abs(kept.data) > 10 * tolerance) & done[ends].any(axis=1)
    return Couplings(ends[own, 0], ends[own, 1], kept.data[own])


def _correlate(
    left: Numbers, signs: Signs, taken: NDArray[np.bool_], active: NDArray[np.bool_]
) -> tuple[Integers, Numbers]:
    """Return for each bit the other one that explains most of what is left of both, and how much.

    Only active bits that are not taken count.
    """
    best, sizes = np.zeros(len(left), dtype=np.int64), np.zeros(len(left))
    bits = np.flatnonzero(active)
    rest, plain = left[bits].astype(np.float32), signs[bits].astype(np.float32)
    both, swapped = np.hstack([rest, plain]), np.hstack([plain, rest])
    for start in range(0, len(bits), BLOCK):
        forces = both[start : start + BLOCK] @ swapped.T
        _find_largest(forces, bits, start, taken, best, sizes)
    return best, sizes


@jit
def _find_largest(
    forces: NDArray[np.float32],
    bits: Integers,
    start: int,
    taken: NDArray[np.bool_],
    best: Integers,
    sizes: Numbers,
) -> None:
    for row in range(len(forces)):
        bit, largest = bits[start + row], np.float32(0.0)
        for place in range(len(bits)):
            size = abs(forces[row, place])
            if size > largest and not taken[bit, bits[place]]:
                largest, best[bit] = size, bits[place]
        sizes[bit] = largest


@jit
def _fit(
    fields: Numbers,
    signs: Signs,
    touched: Integers,
    taken: NDArray[np.bool_],
    partners: Integers,
    counts: Integers,
    weights: Numbers,
    left: Numbers,
) -> None:
    """Fit some bits to their partners; one with nearly as many as rows keeps its largest third."""
    rows = fields.shape[1]
    for bit in touched:
        for _ in range(2):
            count = 0
            for other in range(len(taken)):
                if taken[bit, other] and other != bit and count < rows - 1:
                    partners[bit, count] = other
                    count += 1
            counts[bit] = count
            _fit_bit(fields[bit], signs, partners[bit, :count], weights[bit], left[bit])
            if count < rows - 2:
                break
            largest = np.argsort(-np.abs(weights[bit, :count]))
            for place in largest[rows // 3 :]:
                taken[bit, partners[bit, place]] = taken[partners[bit, place], bit] = False


@jit
def _fit_bit(
    fields: Numbers, signs: Signs, partners: Integers, weights: Numbers, left: Numbers
) -> None:
    """Fit the fields of a bit to the signs of its partners by least squares: modified Gram-Schmidt.

    Sets the weights of the partners, and what is left of the fields.
    """
    rows, count = len(fields), len(partners)
    columns, triangle = np.empty((count, rows)), np.zeros((count, count))
    left[:] = fields - fields.mean()
    for place in range(count):
        column = columns[place]
        column[:] = signs[partners[place]]
        column -= column.mean()
        for before in range(place):
            triangle[before, place] = (columns[before] * column).sum()
            column -= triangle[before, place] * columns[before]
        size = np.sqrt((column * column).sum())
        known = size > 1e-6  # otherwise these signs follow from those before
        triangle[place, place] = size if known else np.inf
        column *= 1.0 / size if known else 0.0
        weights[place] = (column * left).sum()
        left -= weights[place] * column
    for place in range(count - 1, -1, -1):
        for after in range(place + 1, count):
            weights[place] -= triangle[place, after] * weights[after]
        weights[place] /= triangle[place, place]
