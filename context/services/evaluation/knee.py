"""The knee of a curve of diminishing returns: the budget beyond which more tokens gain little.

The rule is Kneedle for a concave, increasing curve (Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'Kneedle' in a
Haystack: Detecting Knee Points in System Behavior", ICDCS workshops 2011): both axes are scaled to 0..1, and the knee
is where the curve is highest above the straight line from its first point to its last. This module takes the highest
point of the whole curve, because all points are known.
"""

from collections.abc import Sequence
from itertools import pairwise

#: A smaller distance above the line, as a share of the scaled axis, is noise.
BEND_MIN = 0.05


def knee_index(xs: Sequence[float], ys: Sequence[float]) -> int | None:
    """Return the index of the knee; None for fewer than three points, a flat or falling curve, or one without a bend.

    The earliest of equal bends counts. Raises `ValueError` if the lengths differ or `xs` do not rise strictly.
    """
    if len(xs) != len(ys) or any(later <= earlier for earlier, later in pairwise(xs)):
        raise ValueError("a curve has rising x and one y for each")
    if len(xs) < 3 or max(ys) <= ys[0]:
        return None
    low, high = min(ys), max(ys)
    bends = [(y - low) / (high - low) - (x - xs[0]) / (xs[-1] - xs[0]) for x, y in zip(xs, ys, strict=True)]
    best = max(range(len(bends)), key=lambda index: bends[index])
    return best if bends[best] >= BEND_MIN and 0 < best < len(xs) - 1 else None
