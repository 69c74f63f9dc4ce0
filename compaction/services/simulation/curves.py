"""Which points of a simulated session are drawn."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.services.simulation.simulator import APPENDED, SimulationPoint

#: Of more points, those between compactions are thinned out evenly.
POINTS_MAX = 200


def thin_point_indices(points: Sequence[SimulationPoint]) -> list[int]:
    """Indices of the first, the last, every compaction with the point before it, and others, `POINTS_MAX` in all."""
    kept = {0, len(points) - 1} if points else set()
    for index, point in enumerate(points):
        if point.event != APPENDED:
            kept |= {max(index - 1, 0), index}
    step = max(len(points) // max(POINTS_MAX - len(kept), 1), 1)
    return sorted(kept | set(range(0, len(points), step)) if len(points) > POINTS_MAX else set(range(len(points))))
