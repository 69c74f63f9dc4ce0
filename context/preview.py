"""A context to look at: assembled as an agent would get it, joined with the rows it came from. Nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from context.assembly import assemble_context
from context.models import Receipt
from context.results import MEMORY, AssembledContext, Block, Consideration, ContextRequest, Omission
from memories.audit import Actor
from memories.models import Memory
from memories.scopes import tenant_scope
from memories.services.demo import questions_for

QUESTIONS_MAX = 6


@dataclass(frozen=True)
class KeptRow:
    """A packed block with its memory (None for a memo) and how the search found it."""

    block: Block
    memory: Memory | None
    found: Consideration | None

    @property
    def place(self) -> int:
        return self.block.position + 1


@dataclass(frozen=True)
class LeftOutRow:
    """An item left out, with its memory and how the search found it."""

    omission: Omission
    memory: Memory | None
    found: Consideration | None


@dataclass(frozen=True)
class PlanFact:
    """One step of the search in words."""

    name: str
    text: str


@dataclass(frozen=True)
class Preview:
    """An assembled context and the rows a page shows of it."""

    context: AssembledContext
    kept: list[KeptRow]
    left_out: list[LeftOutRow]

    @property
    def sections(self) -> list[tuple[str, int]]:
        """Kind and tokens of each block, as the budget bar draws them."""
        return [(row.block.kind, row.block.tokens) for row in self.kept]

    @property
    def milliseconds(self) -> float:
        """How long the whole assembly took."""
        return self.context.timings.get("total", sum(self.context.timings.values()))

    @property
    def plan(self) -> list[PlanFact]:
        """What the search did, one line a step."""
        return [PlanFact(_words(name), _in_words(value)) for name, value in self.context.plan.items()]


@dataclass(frozen=True)
class PreviewChange:
    """What another budget would change: rows that come in, rows that fall out."""

    added: list[KeptRow]
    removed: list[KeptRow]


def preview_context(wish: ContextRequest, *, tenant_id: UUID, actor: Actor, now: datetime) -> Preview:
    """Assemble `wish`, which must be a preview, with the tenant's whole reach. Called with no scope open."""
    if not wish.preview:
        raise ValueError("a page only previews")
    context = assemble_context(wish, tenant_id=tenant_id, reach="", actor=actor, now=now)
    memories = _memories_of(context, tenant_id)
    found = {candidate.anchor.id: candidate for candidate in context.candidates}
    kept = [KeptRow(block, memories.get(block.anchor.id), found.get(block.anchor.id)) for block in context.blocks]
    left_out = [LeftOutRow(row, memories.get(row.anchor.id), found.get(row.anchor.id)) for row in context.omitted]
    return Preview(context, sorted(kept, key=lambda row: row.block.position), left_out)


def compare_previews(before: Preview, after: Preview) -> PreviewChange:
    """What `after` holds that `before` does not, and the other way round, each in its own order."""
    had, has = ({row.block.anchor for row in preview.kept} for preview in (before, after))
    return PreviewChange(
        added=[row for row in after.kept if row.block.anchor not in had],
        removed=[row for row in before.kept if row.block.anchor not in has],
    )


def _in_words(value: Any) -> str:
    """`{"search": "exact", "rows": 54}` -> `search exact, rows 54`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(name)} {part}" for name, part in value.items())
    return str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _memories_of(context: AssembledContext, tenant_id: UUID) -> Mapping[str, Memory]:
    anchors = [block.anchor for block in context.blocks] + [omission.anchor for omission in context.omitted]
    with tenant_scope(tenant_id):
        rows = Memory.objects.for_tenant(tenant_id).with_ids([anchor.id for anchor in anchors if anchor.type == MEMORY])
        return {str(memory.id): memory for memory in rows}


@dataclass(frozen=True)
class Question:
    """Something that was asked, and where."""

    query: str
    partition: str

    @property
    def query_string(self) -> str:
        """As the preview page's address takes it."""
        return urlencode({"query": self.query, "partition": self.partition})


def recent_questions(tenant_id: UUID) -> list[Question]:
    """The latest different questions that agents asked, newest first; inside a scope."""
    rows = Receipt.objects.for_tenant(tenant_id).recent_questions(QUESTIONS_MAX)
    return [Question(query, partition) for query, partition in rows]


def demo_questions(tenant_name: str) -> list[Question]:
    """What is worth asking of the demo tenant, for as long as nobody has asked; nothing for any other tenant."""
    return [Question(suggested.query, suggested.partition) for suggested in questions_for(tenant_name)]
