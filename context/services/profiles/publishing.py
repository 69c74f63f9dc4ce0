"""The conditions for publishing a version of a scoring profile (ADR-0084)."""

import re
from dataclasses import dataclass

from memories.services.store.drafts import FieldProblem

NOT_EVALUATED = "not_evaluated"
_DECISION = re.compile(r"ADR-[0-9]{4}")


@dataclass(frozen=True)
class PublishingCondition(FieldProblem):
    """A condition, as the problem that it is where it is not met."""

    is_met: bool


def publishing_conditions(*, has_proof: bool, adr_reference: str) -> list[PublishingCondition]:
    """Return both conditions in order: a finished evaluation of exactly these numbers, and a decision."""
    code, detail = "bad_adr_reference", "A decision is named as in ADR-0078."
    if not adr_reference:
        code, detail = "adr_missing", "The decision that justifies these numbers is needed, such as ADR-0078."
    unproven = "No finished evaluation of exactly these numbers is stored. Run one first."
    return [
        PublishingCondition("version", NOT_EVALUATED, unproven, has_proof),
        PublishingCondition("adr_reference", code, detail, bool(_DECISION.fullmatch(adr_reference))),
    ]
