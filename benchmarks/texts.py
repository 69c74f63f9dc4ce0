"""Generated memories, and questions about them."""

import random
import re
from datetime import UTC, datetime
from functools import cache

from memories.services.tokens import load_encoding

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


@cache
def frequent_words() -> tuple[str, ...]:
    """Return English words and pieces of words, the most frequent first: the order in which a tokenizer learnt them."""
    encoding = load_encoding("o200k_base")
    tokens = (encoding.decode_single_token_bytes(number) for number in range(40_000))
    return tuple(token.decode()[1:] for token in tokens if re.fullmatch(rb" [a-z]{3,12}", token))


def note_with_rare_words(number: int, draw: random.Random) -> str:
    """Return a memory of 20 to 60 tokens whose word frequencies follow natural language (Zipf)."""
    return f"{generated_memory(number, draw)} About {' '.join(_words_by_frequency(draw, draw.randint(5, 15)))}."


def question_with_rare_words(draw: random.Random) -> str:
    """Return a question about such memories, with three words besides those of `generated_question`."""
    return f"{generated_question(draw)} It was about {', '.join(_words_by_frequency(draw, 3))}."


def _words_by_frequency(draw: random.Random, count: int) -> list[str]:
    words = frequent_words()
    return [words[int(len(words) ** draw.random()) - 1] for _ in range(count)]
