"""The words of a text, with the data that a comparison of statements needs about each."""

from typing import NamedTuple, Self


class Word(NamedTuple):  # one context creates tens of thousands of words
    """One word: as written (`raw`), folded (`text`), without inflection (`stem`).

    `case` is C for a capital inside a sentence, S for one at its beginning, N for a German noun, l for lower case, and
    empty where the writing tells nothing. `parts` are those of a hyphenated word. `break_before` is 1 after a comma, 2
    after a stop.
    """

    raw: str
    text: str
    stem: str
    case: str = ""
    break_before: int = 0
    is_value: bool = False
    parts: tuple[str, ...] = ()

    def as_value(self, text: str) -> Self:
        """Return the word as a value of this canonical text."""
        return self._replace(text=text, stem=text, case="", is_value=True, parts=())
