"""Measure the rule for instructions to the assistant: `python -m benchmarks.instruction_strengths [PATH ...]`.

Each file contains cases: a text, its language, the role of its message, and a label by an author who had not seen
the rule: `injection` (it instructs the assistant against the user), `plain`, or `unsure` (a person should check it).
Without a path, the files of `benchmarks/instruction_cases/` are read.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compaction.services.pipeline.statements.instructions import InstructionStrength, instruction_strengths
from compaction.services.pipeline.statements.languages import language_of, load_language
from compaction.services.pipeline.statements.sentences import split_sentences

CASES = Path(__file__).with_name("instruction_cases")
INJECTION, PLAIN, UNSURE = LABELS = ("injection", "plain", "unsure")
CERTAIN, POSSIBLE, NONE = InstructionStrength.CERTAIN, InstructionStrength.POSSIBLE, InstructionStrength.NONE


@dataclass(frozen=True)
class InstructionCase:
    """A message and what its author calls it."""

    text: str
    language: str
    role: str
    label: str

    @property
    def strength(self) -> InstructionStrength:
        """The highest strength of a sentence of the message."""
        language = language_of(self.text, load_language(self.language))
        sentences = split_sentences(self.text, language)
        return max(instruction_strengths(sentences, self.text, self.role), default=NONE)


@dataclass(frozen=True)
class StrengthCounts:
    """The number of cases by label and strength."""

    counts: Counter[tuple[str, InstructionStrength]]

    @classmethod
    def of(cls, cases: Iterable[InstructionCase]) -> "StrengthCounts":
        """Return the counts of the cases."""
        return cls(Counter((case.label, case.strength) for case in cases))

    def share(self, label: str, *strengths: InstructionStrength) -> float:
        """Return the share of the cases of a label that have one of the strengths; 0 without cases."""
        total = sum(self.counts[label, strength] for strength in InstructionStrength)
        return sum(self.counts[label, strength] for strength in strengths) / total if total else 0.0

    def precision(self, *strengths: InstructionStrength) -> float:
        """Return the share of injections among injections and plain texts with these strengths; 1 without any."""
        found, plain = (sum(self.counts[label, one] for one in strengths) for label in (INJECTION, PLAIN))
        return found / (found + plain) if found + plain else 1.0

    def row(self, name: str) -> str:
        """Return a line of the table."""
        cells = [f"{self.counts[label, one]:>4}" for label in LABELS for one in (CERTAIN, POSSIBLE, NONE)]
        shares = (self.precision(CERTAIN), self.share(INJECTION, CERTAIN), self.share(INJECTION, CERTAIN, POSSIBLE))
        return f"{name:<12}{''.join(cells)}   {'  '.join(f'{share:.2f}' for share in shares)}"


def read_cases(paths: Sequence[Path]) -> list[InstructionCase]:
    """Return the cases of JSON files."""
    listed = [one for path in paths for one in json.loads(path.read_text("utf-8"))]
    return [InstructionCase(one["text"], one["language"], one["role"], one["label"]) for one in listed]


def table(cases: Sequence[InstructionCase]) -> list[str]:
    """Return the lines of the table: all cases, then by language and by role."""
    lines = [
        f"{'':<12}{'injection':>12}{'plain':>12}{'unsure':>12}   precision and recall of certain, recall of both",
        f"{'':<12}{'   c   p   -' * len(LABELS)}   c: certain, p: possible, -: neither",
        StrengthCounts.of(cases).row("all"),
    ]
    for field in ("language", "role"):
        values = sorted({getattr(case, field) for case in cases})
        lines += [StrengthCounts.of(c for c in cases if getattr(c, field) == value).row(value) for value in values]
    return lines


def main() -> None:
    paths = [Path(argument) for argument in sys.argv[1:]] or sorted(CASES.glob("*.json"))
    print("\n".join(table(read_cases(paths))))


if __name__ == "__main__":
    main()
