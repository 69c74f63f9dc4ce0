"""Share of the evidence that a packed context holds: `python -m benchmarks.bench_evidence FOLDER [--sample 0]`.

FOLDER holds conversations in the format of the LoCoMo data set (which is not part of this project). Each turn becomes
one memory; each question with evidence is asked through the real retrieval and assembly, as a preview, at several
budgets; counted is the share of its evidence turns that the context holds, averaged over all questions. Ages are
reckoned from the end of each conversation, so that recency counts as it does for an agent in the middle of its work.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.database import analyse, new_tenant, throwaway_database

BUDGETS_TOKENS = (250, 500, 1000, 2000, 4000)
#: Questions whose right answer is that there is none.
UNANSWERABLE = 5
TURN_ID = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Question:
    """What is asked in which conversation, and the ids of the turns that hold the answer."""

    conversation: str
    text: str
    evidence: frozenset[str]


def questions_of(path: Path, known: set[str]) -> Iterator[Question]:
    """The answerable questions of one file whose evidence names turns that exist."""
    for row in json.loads(path.read_text(encoding="utf-8"))["qa"]:
        if row.get("category") == UNANSWERABLE:
            continue
        evidence = frozenset(TURN_ID.findall(" ".join(row.get("evidence") or []))) & known
        if evidence:
            yield Question(path.stem, str(row["question"]), evidence)


def load(tenant: Any, paths: list[Path]) -> tuple[list[Question], dict[str, datetime]]:
    """Import the conversations; the questions, and when each conversation ended."""
    from django.core.management import call_command

    from memories.models import Memory
    from memories.scopes import tenant_scope

    questions: list[Question] = []
    ends: dict[str, datetime] = {}
    for path in paths:
        call_command("import_locomo", str(path), tenant=tenant.name)
        with tenant_scope(tenant.pk):
            rows = Memory.objects.for_tenant(tenant.pk).within(f"conversation={path.stem}")
            turns = dict(rows.values_list("source_id", "created_at"))
        ends[path.stem] = max(turns.values())
        questions += questions_of(path, set(turns))
    analyse()
    return questions, ends


def evidence_found(tenant: Any, question: Question, now: datetime, max_tokens: int, source_of: dict[str, str]) -> float:
    """The share of the question's evidence that its context holds."""
    from context.assembly import assemble_context
    from context.results import ContextRequest
    from memories.audit import Actor

    request = ContextRequest(
        query=question.text, partition=f"conversation={question.conversation}", max_tokens=max_tokens, preview=True
    )
    context = assemble_context(request, tenant_id=tenant.pk, reach="", actor=Actor.system("benchmark"), now=now)
    if context.budget.used > max_tokens:
        raise RuntimeError(f"{context.budget.used} tokens in a budget of {max_tokens}")
    held = {source_of[block.anchor.id] for block in context.blocks if block.anchor.type == "memory"}
    return len(question.evidence & held) / len(question.evidence)


def sources(tenant: Any) -> dict[str, str]:
    """The turn's own id by the memory's id."""
    from memories.models import Memory
    from memories.scopes import tenant_scope

    with tenant_scope(tenant.pk):
        return {str(pk): source for pk, source in Memory.objects.for_tenant(tenant.pk).values_list("pk", "source_id")}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="conversations as .json files")
    parser.add_argument("--sample", type=int, default=0, help="ask only so many questions, drawn at random (0: all)")
    wanted = parser.parse_args()
    if wanted.folder is None:
        print("bench_evidence: skipped, it needs a folder of conversations (see --help)")
        return
    paths = sorted(wanted.folder.glob("*.json"))
    if not paths:
        parser.error(f"there is no .json file in {wanted.folder}")
    with throwaway_database():
        tenant = new_tenant("benchmark")
        questions, ends = load(tenant, paths)
        if wanted.sample:
            questions = random.Random(7).sample(questions, min(wanted.sample, len(questions)))
        source_of = sources(tenant)
        print(f"{len(source_of):,} turns of {len(paths)} conversations, {len(questions):,} questions with evidence")
        for budget in BUDGETS_TOKENS:
            shares = [
                evidence_found(tenant, question, ends[question.conversation], budget, source_of)
                for question in questions
            ]
            print(f"{budget:>6,} tokens  {fmean(shares):.3f}")


if __name__ == "__main__":
    main()
