"""Generated memories and the questions about them."""

import random
from datetime import UTC, datetime

BENCHMARK_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_SUBJECTS = (
    *("Alex", "Mina", "Sam", "Kim", "Noor", "Petra", "Ivo", "Lena", "Omar", "Yuki", "Rosa", "Finn", "Ada", "Hugo"),
    *("the warehouse", "the oven", "our supplier", "the Lisbon team", "the landlord", "the new intern", "the choir"),
)
_VERBS = (
    *("prefers", "moved", "bought", "sold", "lost", "found", "painted", "repaired", "cancelled", "praised", "forgot"),
    *("borrowed", "ordered", "measured", "read", "planned", "signed", "broke", "asked about", "is allergic to"),
)
_THINGS = (
    *("rye flour", "the invoice", "a motorcycle", "the meeting", "blue paint", "a train ticket", "the contract"),
    *("green tea", "the password", "a violin", "the boiler", "winter tyres", "the tax form", "a passport", "a laptop"),
    *("the server room", "the backup", "a database index", "an old photograph", "a birthday cake", "a knee injury"),
    *("the marathon", "the ski pass", "the release notes", "a job offer", "the salary", "a tent", "the telescope"),
)
_TIMES = (
    *("on Monday", "in March", "last week", "at noon", "again", "yesterday", "in 2019", "by mistake", "twice a year"),
)


def generated_memory(number: int, draw: random.Random) -> str:
    """Return a memory of 10 to 40 tokens."""
    parts = [
        f"{draw.choice(_SUBJECTS)} {draw.choice(_VERBS)} {draw.choice(_THINGS)} {draw.choice(_TIMES)}"
        for _ in range(draw.randint(1, 3))
    ]
    return f"{'; '.join(parts)} (note {number})."


def generated_question(draw: random.Random) -> str:
    """Return a question that an agent could ask about generated memories."""
    return f"What did {draw.choice(_SUBJECTS)} do with {draw.choice(_THINGS)} {draw.choice(_TIMES)}?"
