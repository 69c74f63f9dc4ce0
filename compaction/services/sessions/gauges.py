"""How full a session is: the thresholds of its policy, and the level that its pressure reaches."""

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
    """Return the highest level of the policy that the pressure reaches."""
    reached = [name for name, share in (*policy_thresholds(policy), (FULL, 1.000001)) if pressure >= share]
    return max(reached, key=list(LEVEL_WORDS).index, default=CALM)


def policy_thresholds(policy: CompactionPolicy) -> tuple[tuple[str, float], ...]:
    """Return the policy's thresholds by name, without those that are switched off."""
    sleep = ((SLEEP, policy.sleep_threshold),) if policy.has_scheduled else ()
    emergency = ((EMERGENCY_LEVEL, policy.emergency_threshold),) if policy.has_emergency else ()
    return (*sleep, *emergency, (WARNING, policy.warning_threshold))
