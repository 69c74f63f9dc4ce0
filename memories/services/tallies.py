"""What is told of memories that were counted by kind."""

from collections.abc import Iterable, Mapping

FIGURES = ("live", "pinned", "pending", "failed", "tokens", "archived", "expired")


def summed_tallies(tallies: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """All of them together, zeros where there is none."""
    counted = list(tallies)
    return {name: sum(each[name] for each in counted) for name in FIGURES}


def live_kinds(by_kind: Mapping[str, Mapping[str, int]]) -> list[tuple[str, int]]:
    """How many live memories there are of each kind that has any, in the order given."""
    return [(kind, tally["live"]) for kind, tally in by_kind.items() if tally["live"]]
