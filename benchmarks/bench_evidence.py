"""Measure the evidence in contexts: `python -m benchmarks.bench_evidence [CORPUS] [--profile NAME] [--today]`.

CORPUS is a folder as described in docs/corpus.md, or conversations in the format of the LoCoMo data set (which is not
part of this project); the default is the corpus of updated facts. Runs `manage.py evaluate` on a temporary database:
each question is asked at several budgets, at the time stored with it. With `--today`, all questions are asked at the
current time, as for an old conversation. `--switch` measures again with another value of a switch of the budget
profile and prints the differences, question by question.
"""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.database import throwaway_database
from benchmarks.timing import argument_parser
from context.services.evaluation.corpus import CorpusError, read_corpus, write_corpus

UPDATED_FACTS = Path(__file__).parent.parent / "context" / "services" / "evaluation" / "updated_facts"


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", default=UPDATED_FACTS, help="a folder, or a .json file")
    parser.add_argument("--sample", type=int, default=0, help="only this many questions, drawn at random (0: all)")
    parser.add_argument("--profile", default="adr-0040", help="a shipped scoring profile (adr-0040)")
    parser.add_argument("--budgets", default="250,500,1000,2000,4000", help="tokens, with commas between")
    parser.add_argument("--packer", default="", help="greedy, elastic or optimal (greedy)")
    parser.add_argument("--switch", default="", help="such as include_memory_days or elastic_fills_budget")
    parser.add_argument("--today", action="store_true", help="assemble every question now instead of at its own time")
    options = parser.parse_args()
    try:
        corpus = read_corpus(options.corpus)
    except CorpusError as error:
        parser.error("\n".join(map(str, error.problems[:20])))
    questions = list(corpus.questions)
    if 0 < options.sample < len(questions):
        drawn = np.random.default_rng(7).choice(len(questions), options.sample, replace=False)
        questions = [questions[place] for place in sorted(drawn)]
    if options.today:
        questions = [replace(question, asked_at=datetime.now(UTC)) for question in questions]
    with throwaway_database(), TemporaryDirectory() as parent:
        from django.core.management import call_command

        from context.models import BudgetProfile

        folder = Path(parent, corpus.name)
        write_corpus(replace(corpus, questions=questions), folder)
        command = ["evaluate", str(folder), "--profile", options.profile, "--budgets", options.budgets]
        command += ["--packer", options.packer] if options.packer else []
        printed = StringIO()
        call_command(*command, stdout=printed)
        sys.stdout.write(printed.getvalue())
        if options.switch:
            field: Any = BudgetProfile._meta.get_field(options.switch)
            field.default = not field.default
            field.__dict__.pop("_get_default", None)  # Django caches the settings that it has read
            call_command(*command, "--compare", printed.getvalue().split()[-1])


if __name__ == "__main__":
    main()
