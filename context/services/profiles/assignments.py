"""Choose the profile of a request from the assignments of its key, its partition and the tenant (ADR-0064)."""

from collections.abc import Iterable
from dataclasses import dataclass

from memories.services.partitions.paths import is_within


@dataclass(frozen=True)
class AssignmentTarget:
    """The target of an assignment: an agent's key (`partition_path` None), or a partition with all below it."""

    profile_name: str
    partition_path: str | None


def assigned_profile(targets: Iterable[AssignmentTarget], partition_path: str) -> str | None:
    """Return the name of the profile that applies to `partition_path`: the key's, else the longest partition's.

    `targets` are those of the requesting key and of any partitions; each target has at most one profile. None if no
    target applies: the default profile.
    """
    own = [target for target in targets if is_within(partition_path, target.partition_path or "")]
    of_key = [target for target in own if target.partition_path is None]
    best = max(of_key or own, key=lambda target: len(target.partition_path or ""), default=None)
    return best.profile_name if best else None
