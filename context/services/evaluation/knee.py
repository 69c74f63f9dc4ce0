"""Where a curve of diminishing returns bends: the budget beyond which more tokens bring little more.

The rule is Kneedle for a concave, increasing curve (Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'Kneedle' in a
Haystack: Detecting Knee Points in System Behavior", ICDCS workshops 2011): both axes are scaled to 0..1, and the knee
is where the curve stands highest above the straight line from its first point to its last. We take the highest point
of the whole curve, for our curves are complete when they are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

#: Less than this above the line, in shares of the scaled axis, is no bend but a wobble.
BEND_MIN = 0.05


def knee_index(xs: Sequence[float], ys: Sequence[float]) -> int | None:
    """The index of the knee; None for fewer than three points, a flat or falling curve, or one without a bend.

    `xs` rise strictly. Of equal bends the earliest counts. Raises `ValueError` where the lengths differ or `xs` do not
    rise.
    """
    if len(xs) != len(ys) or any(later <= earlier for earlier, later in pairwise(xs)):
        raise ValueError("a curve has rising x and one y for each")
    if len(xs) < 3 or max(ys) <= ys[0]:
        return None
    low, high = min(ys), max(ys)
    bends = [(y - low) / (high - low) - (x - xs[0]) / (xs[-1] - xs[0]) for x, y in zip(xs, ys, strict=True)]
    best = max(range(len(bends)), key=lambda index: bends[index])
    return best if bends[best] >= BEND_MIN and 0 < best < len(xs) - 1 else None
