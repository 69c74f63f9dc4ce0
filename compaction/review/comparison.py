"""A proposal that was made anew beside the one before it: their texts word by word, their facts and tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.models import Compaction
from compaction.pipeline.drafting import recorded_facts
from compaction.services.pipeline.retention import RetainedFact
from memories.services.store.text_diff import DiffPiece, diff_words


@dataclass(frozen=True)
class ComparedProposal:
    """One of the two, and the facts that it alone keeps."""

    compaction: Compaction
    kept: int
    facts: int
    only: Sequence[RetainedFact]


@dataclass(frozen=True)
class ProposalComparison:
    """The earlier one and the later one; `pieces` lead from one text to the other."""

    earlier: ComparedProposal
    later: ComparedProposal
    pieces: Sequence[DiffPiece]


def compare_proposals(compaction: Compaction) -> ProposalComparison | None:
    """With what it was made instead of, else with what was made instead of it; None where there is neither.

    Inside a scope. At most two queries.
    """
    rows = Compaction.objects.for_tenant(compaction.tenant_id)
    earlier: Compaction | None
    later: Compaction | None
    if compaction.replaces_id is not None:
        earlier, later = rows.with_id(compaction.replaces_id).first(), compaction
    else:
        earlier, later = compaction, rows.replacing(compaction.pk).first()
    if earlier is None or later is None or later.state == Compaction.State.PENDING:
        return None
    pieces = diff_words(earlier.summary_text, later.summary_text)
    return ProposalComparison(_side(earlier, later), _side(later, earlier), pieces)


def _side(own: Compaction, other: Compaction) -> ComparedProposal:
    kept, missing = recorded_facts(own.retention, "kept"), recorded_facts(own.retention, "missing")
    others = {(fact.kind, fact.normalised) for fact in recorded_facts(other.retention, "kept")}
    only = [fact for fact in kept if (fact.kind, fact.normalised) not in others]
    return ComparedProposal(own, len(kept), len(kept) + len(missing), only)
