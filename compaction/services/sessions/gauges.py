"""How full a session is: the thresholds of its policy, and the level that its pressure reaches."""

from __future__ import annotations

from context.services.profiles.compaction_policy import CompactionPolicy

CALM, SLEEP, EMERGENCY_LEVEL, WARNING, FULL = "calm", "sleep", "emergency", "warning", "full"

LEVEL_WORDS = {
    CALM: "",
    SLEEP: "compacted when idle",
    EMERGENCY_LEVEL: "compacted at the next context",
    WARNING: "over the warning",
    FULL: "over the window",
}


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
