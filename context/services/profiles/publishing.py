"""What a version of a scoring profile needs before agents may name it (ADR-0084)."""

from __future__ import annotations

import re
from dataclasses import dataclass

NOT_EVALUATED, ADR_MISSING, BAD_ADR = "not_evaluated", "adr_missing", "bad_adr_reference"
DECISION = "adr_reference"
_DECISION = re.compile(r"ADR-[0-9]{4}")


@dataclass(frozen=True)
class PublishingCondition:
    """A condition with the `code` and `detail` of its absence, and the `field` of the form that fulfils it."""

    code: str
    detail: str
    is_met: bool
    field: str


def publishing_conditions(*, has_proof: bool, adr_reference: str) -> list[PublishingCondition]:
    """Return both conditions in order: a finished evaluation of exactly these numbers, and a decision."""
    return [
        PublishingCondition(
            NOT_EVALUATED,
            "No finished evaluation of exactly these numbers is stored. Run one first.",
            has_proof,
            "version",
        ),
        _decision(adr_reference),
    ]


def _decision(reference: str) -> PublishingCondition:
    if not reference:
        return PublishingCondition(
            ADR_MISSING, "The decision that argues these numbers is needed, such as ADR-0078.", False, DECISION
        )
    return PublishingCondition(
        BAD_ADR, "A decision is named as in ADR-0078.", bool(_DECISION.fullmatch(reference)), DECISION
    )
