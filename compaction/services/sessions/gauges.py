"""How full a session is, as a bar with its thresholds: places in percent of the bar's length, the template draws."""

from __future__ import annotations

from dataclasses import dataclass

from context.services.profiles.compaction_policy import CompactionPolicy

CALM, SLEEP, EMERGENCY_LEVEL, WARNING, FULL = "calm", "sleep", "emergency", "warning", "full"

LEVEL_WORDS = {
    CALM: "",
    SLEEP: "compacted when idle",
    EMERGENCY_LEVEL: "compacted at the next context",
    WARNING: "over the warning",
    FULL: "over the window",
}


@dataclass(frozen=True)
class GaugeMark:
    """A threshold: its name, its share of the window, its place in the bar."""

    name: str
    share: float
    at_percent: float


@dataclass(frozen=True)
class PressureGauge:
    """A bar as long as the window, or as the context where that is longer."""

    tokens: int
    window: int
    pressure: float
    fill_percent: float
    level: str
    marks: tuple[GaugeMark, ...]

    @property
    def words(self) -> str:
        """What the level means; "" below every threshold."""
        return LEVEL_WORDS[self.level]


def pressure_gauge(tokens: int, window: int, policy: CompactionPolicy) -> PressureGauge:
    """The bar of a session of so many tokens. Raises `ValueError` for a window of nothing."""
    if window <= 0:
        raise ValueError("a window is above 0")
    pressure = tokens / window
    longest = max(pressure, 1.0)
    marks = policy_thresholds(policy) + (((FULL, 1.0),) if pressure > 1 else ())
    return PressureGauge(
        tokens=tokens,
        window=window,
        pressure=pressure,
        fill_percent=round(100 * pressure / longest, 2),
        level=pressure_level(pressure, policy),
        marks=tuple(GaugeMark(name, share, round(100 * share / longest, 2)) for name, share in marks),
    )


def pressure_level(pressure: float, policy: CompactionPolicy) -> str:
    """What the policy says about so much pressure: the gravest that applies."""
    reached = [name for name, share in (*policy_thresholds(policy), (FULL, 1.000001)) if pressure >= share]
    ranks = list(LEVEL_WORDS)
    return max(reached, key=ranks.index, default=CALM)


def policy_thresholds(policy: CompactionPolicy) -> tuple[tuple[str, float], ...]:
    """The policy's thresholds by name; one that is switched off is none."""
    marks = []
    if policy.has_scheduled:
        marks.append((SLEEP, policy.sleep_threshold))
    if policy.has_emergency:
        marks.append((EMERGENCY_LEVEL, policy.emergency_threshold))
    return (*marks, (WARNING, policy.warning_threshold))
