"""`manage.py evaluate`: measure a corpus with one profile and print the tables."""

import json
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from context.evaluation.actions.evaluations import request_evaluation, retry_evaluation
from context.evaluation.corpora import read_corpus_path
from context.evaluation.report import ReportTable, evaluation_report, run_comparison_table
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS, run_evaluation
from context.management.evaluations import BAD_INPUT, evaluation_tenant, find_run, progress_bars
from context.models import BudgetProfile, EvaluationRun
from context.services.evaluation.corpus import Corpus
from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.web.numerals import counted, versioned_name

#: Names of corpora that are not paths.
NAMED = {"golden": EvaluationRun.Corpus.GOLDEN, "updated-facts": EvaluationRun.Corpus.UPDATED_FACTS}
FILE = EvaluationRun.Corpus.FILE


class Command(PlatformCommand):
    help = (
        "Assemble a context for every question of a corpus and measure how much of the evidence the contexts include\n"
        "at several budgets. The run is stored; --resume continues it. A corpus is a folder with memories.jsonl and\n"
        "questions.jsonl, conversations in LoCoMo's JSON, `updated-facts` (built in) or `golden`, the tenant's own\n"
        "questions. It is loaded into a hidden tenant, which is dropped afterwards; no counter of any tenant changes.\n"
        "Exit code 2 is for invalid input, 1 for a failure.\n\n"
        "Example: manage.py evaluate data/locomo --profile conversation-recall --budgets 250,1000\n"
        "         manage.py evaluate golden --tenant acme --compare 3f0c9a52-55a1-4a53-9d0e-0d7c2f7f6c11"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", help="a folder, a .json file, `updated-facts` or `golden`")
        parser.add_argument("--tenant", default="", help="tenant that owns the run; its drafts and questions are used")
        parser.add_argument("--profile", default="", help="scoring profile, published or a draft (default: adr-0040)")
        parser.add_argument("--packer", default="", help=", ".join(BudgetProfile.Packer.values) + " (default: greedy)")
        parser.add_argument("--ordering", default="", help="order of the blocks (default: top_down)")
        parser.add_argument(
            "--budgets",
            type=_budgets,
            default=DEFAULT_EVALUATION_BUDGETS,
            help="tokens, with commas (default: 250,...,4000)",
        )
        parser.add_argument("--resume", type=UUID, metavar="RUN", help="continue an interrupted run")
        parser.add_argument("--compare", type=UUID, metavar="RUN", help="print the differences from another run")
        parser.add_argument("--json", action="store_true", help="print the results as JSON")

    def handle(self, **options: Any) -> None:
        try:
            corpus = None if options["corpus"] in NAMED else read_corpus_path(Path(options["corpus"]))
            other = find_run(options["compare"]) if options["compare"] else None
            run = self._resumed(options) if options["resume"] else self._requested(options, corpus)
            run = self._run(run, corpus)
            with admin_write_scope():
                comparison = run_comparison_table(run, other) if other else None
        except PlatformError as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        if options["json"]:
            self.stdout.write(json.dumps(_plain(run, comparison), indent=1))
        else:
            self._print(run, comparison)

    def _requested(self, options: dict[str, Any], corpus: Corpus | None) -> EvaluationRun:
        if options["corpus"] == "golden" and not options["tenant"]:
            raise CommandError("Golden questions are a tenant's: name it with --tenant.", returncode=BAD_INPUT)
        now = timezone.now()
        if options["tenant"]:
            tenant = get_tenant_or_fail(options["tenant"], returncode=BAD_INPUT)
        else:
            tenant = evaluation_tenant(by=self.actor, now=now)
        with tenant_scope(tenant.pk):
            return request_evaluation(
                tenant_id=tenant.pk,
                corpus_kind=NAMED.get(options["corpus"], FILE),
                corpus_name=corpus.name if corpus else "",
                profile=options["profile"],
                packer=options["packer"],
                ordering=options["ordering"],
                budgets=options["budgets"],
                is_enqueued=False,
                by=self.actor,
                now=now,
            )

    def _resumed(self, options: dict[str, Any]) -> EvaluationRun:
        """Return the run, open again; end the claim of a killed command."""
        run = find_run(options["resume"])
        if run.corpus_kind != NAMED.get(options["corpus"], FILE):
            raise CommandError("That run used another kind of corpus.", returncode=BAD_INPUT)
        with tenant_scope(run.tenant_id):
            if run.is_open:
                EvaluationRun.objects.for_tenant(run.tenant_id).with_id(run.pk).open().release()
                return run
            return retry_evaluation(run=run, is_enqueued=False, by=self.actor, now=timezone.now())

    def _run(self, run: EvaluationRun, corpus: Corpus | None) -> EvaluationRun:
        self.stderr.write(f"run {run.pk}")
        with progress_bars() as show:
            outcome = run_evaluation(run.tenant_id, run.pk, now=timezone.now(), corpus=corpus, progress=show)
        if outcome.state != EvaluationRun.State.DONE:
            detail = outcome.detail or "It was cancelled, or another process runs it."
            raise CommandError(f"{detail} --resume {run.pk} continues it.")
        return find_run(run.pk)

    def _print(self, run: EvaluationRun, comparison: ReportTable | None) -> None:
        report = evaluation_report(run)
        profile = f"{versioned_name(run.profile_name, run.profile_version)}, packer {run.packer}, order {run.ordering}"
        self.stdout.write(f"{run.corpus_name}, scored by {profile}, embedded by {run.embedder_model}")
        for table in report.tables if report else ():
            self._print_table(table, f"{table.name} ({table.questions:,})")
        if comparison:
            questions = counted(comparison.questions, "question", "questions")
            self._print_table(comparison, f"Less the other run ({questions} of both)")
        self.stdout.write(f"\nrun {run.pk}")

    def _print_table(self, table: ReportTable, title: str) -> None:
        """Print a line for each budget, with the 95 % intervals below."""
        widths = [max(len(heading) + 2, 18) for heading in table.headings]
        self.stdout.write(f"\n{title}")
        self.stdout.write(_line("tokens", table.headings, widths))
        for row in table.rows:
            self.stdout.write(_line(f"{row.budget:,}", [cell.text for cell in row.cells], widths))
            if any(cell.range for cell in row.cells):
                self.stdout.write(_line("", [cell.range for cell in row.cells], widths))


def _line(first: str, texts: Sequence[str], widths: Sequence[int]) -> str:
    columns = (f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))
    return f"{first:>8}{''.join(columns)}".rstrip()


def _plain(run: EvaluationRun, comparison: ReportTable | None) -> dict[str, Any]:
    return {
        "run": str(run.pk),
        "corpus": {"name": run.corpus_name, "sha256": run.corpus_sha256, "questions": run.total},
        "profile": {"name": run.profile_name, "version": run.profile_version, "numbers": run.profile_numbers},
        "packer": run.packer,
        "ordering": run.ordering,
        "embedder": run.embedder_model,
        "results": run.results,
        "comparison": comparison
        and [
            {"budget": row.budget, **{cell.name: [cell.text, cell.range] for cell in row.cells}}
            for row in comparison.rows
        ],
    }


def _budgets(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise ArgumentTypeError("enter whole numbers separated by commas, such as 250,1000") from error
