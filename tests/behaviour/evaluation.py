"""Two evaluations of a small corpus, for the pages that show evaluations."""

import json
from random import Random

from tests.behaviour.labels import Labels
from tests.behaviour.server import Server

QUESTIONS = 32
_FOOD = ("rye bread", "figs", "miso soup", "plums", "olives", "couscous", "kale", "trout")


def prepare_evaluations(server: Server, labels: Labels, tenant: str) -> None:
    """Evaluate the default profile and a draft on a corpus about invented people."""
    folder = server.data_dir / "small_corpus"
    folder.mkdir(exist_ok=True)
    random = Random(5)
    rows, questions = [], []
    for number in range(QUESTIONS):
        food = random.choice(_FOOD)
        created = f"2019-03-{number % 28 + 1:02}T09:{number:02}:00Z"
        rows.append(
            {"id": f"m{number}", "created_at": created, "content": f"Guest {number} ordered {food} for dinner."}
        )
        question = {"id": f"q{number}", "text": f"What did guest {number} order?", "evidence": [f"m{number}"]}
        questions.append({**question, "answer": food, "category": ("even", "odd")[number % 2]})
    for name, content in (("memories", rows), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in content))
    for profile in ("adr-0040", "relevant"):
        server.manage("evaluate", str(folder), "--tenant", tenant, "--profile", profile, "--budgets", "60,250")
    labels.name_literal(str(folder), "corpus")
