"""`manage.py fit_profile`: fit a calibrated scoring profile to questions with known evidence (ADR-0081)."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from context.evaluation.calibration import calibrate_profile
from context.evaluation.corpora import (
    EvaluationCorpus,
    evaluation_corpus_from_corpus,
    evaluation_corpus_from_golden_questions,
    read_corpus_path,
)
from context.management.evaluations import BAD_INPUT, progress_bars
from context.models import ScoringProfileVersion
from context.profiles.actions.scoring_profiles import create_scoring_profile, edit_scoring_profile
from context.profiles.scoring_profiles import resolve_scoring_profile, scoring_profile_versions
from context.profiles.versions import PROFILE_NAME_PATTERN
from context.services.evaluation.calibration import Calibration
from context.services.profiles.scoring_profiles import CONVERSATION_RECALL, SHIPPED_PROFILES, ScoringProfile
from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.models import Tenant
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.numerals import counted, versioned_name


class Command(PlatformCommand):
    help = (
        "Fit the probability that a memory is evidence to questions with known evidence, by a logistic model on the\n"
        "score components. The coefficients are saved as a new draft of a scoring profile, which is evaluated and\n"
        "published like any other; the report uses held-out questions. Without CORPUS the tenant's golden questions\n"
        "are used. A corpus is a folder with memories.jsonl and questions.jsonl, or conversations in LoCoMo's JSON;\n"
        "it is loaded into a hidden tenant, which is dropped afterwards. Exit code 2 is for invalid input, for\n"
        "example too little of it, 1 for a failure.\n\n"
        "Example: manage.py fit_profile data/locomo --tenant acme --name acme-calibrated\n"
        "         manage.py fit_profile --tenant acme --name acme-calibrated --base support"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", nargs="?", default="", help="a folder or a .json file; none: golden questions")
        parser.add_argument("--tenant", required=True, help="the tenant of the profile")
        parser.add_argument("--name", required=True, help="name of the profile; an existing profile gets a new draft")
        parser.add_argument(
            "--base",
            default=CONVERSATION_RECALL.name,
            help="profile whose candidates and other numbers are used (default: %(default)s)",
        )

    def handle(self, **options: Any) -> None:
        if not PROFILE_NAME_PATTERN.fullmatch(options["name"]) or options["name"] in SHIPPED_PROFILES:
            detail = "The profile needs a name of its own: a lower-case word, such as acme-calibrated."
            raise CommandError(detail, returncode=BAD_INPUT)
        tenant = get_tenant_or_fail(options["tenant"], returncode=BAD_INPUT)
        try:
            with tenant_scope(tenant.pk):
                base = resolve_scoring_profile(tenant.pk, options["base"], "", None, allow_drafts=True)
            corpus = self._corpus(tenant, options["corpus"])
            with progress_bars() as show:
                calibration = calibrate_profile(tenant.pk, corpus, base, now=timezone.now(), progress=show)
            with tenant_scope(tenant.pk):
                row = self._saved(tenant, options["name"], base, calibration)
        except PlatformError as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        self._print(corpus, base, calibration)
        self.stdout.write(f"\n{row} is a draft; evaluate it, then publish it.")

    def _corpus(self, tenant: Tenant, path: str) -> EvaluationCorpus:
        if path:
            return evaluation_corpus_from_corpus(read_corpus_path(Path(path)))
        with tenant_scope(tenant.pk):
            return evaluation_corpus_from_golden_questions(tenant.pk, now=timezone.now())

    def _saved(self, tenant: Tenant, name: str, base: ScoringProfile, fitted: Calibration) -> ScoringProfileVersion:
        same: dict[str, Any] = {
            "tenant_id": tenant.pk,
            "name": name,
            "changes": base.to_numbers() | fitted.as_numbers(),
            "report": fitted.as_record(),
            "by": self.actor,
            "now": timezone.now(),
        }
        try:
            newest = scoring_profile_versions(tenant.pk, name)[0].version
        except NotFound:
            return create_scoring_profile(**same, based_on=base.name)
        return edit_scoring_profile(**same, edited_from=newest)

    def _print(self, corpus: EvaluationCorpus, base: ScoringProfile, calibration: Calibration) -> None:
        report = calibration.report
        questions = counted(len(corpus.all_questions), "question", "questions")
        self.stdout.write(f"{corpus.name}, {questions}, candidates of {versioned_name(base.name, base.version)}")
        numbers = calibration.as_numbers()
        self.stdout.write(f"\nlog-odds = {numbers['intercept']:+.4f}")
        for name, value in numbers["coefficients"].items():
            self.stdout.write(f"  {value:+10.4f} x {name}")
        self.stdout.write(
            f"\nheld out: {counted(report.rows, 'candidate', 'candidates')}, {report.positives:,} of them evidence"
        )
        self.stdout.write(f"  log loss {report.log_loss:.4f} (always the mean: {report.base_log_loss:.4f})")
        self.stdout.write(f"  Brier    {report.brier:.4f} (always the mean: {report.base_brier:.4f})")
        self.stdout.write(f"  AUC      {'-' if report.auc is None else f'{report.auc:.4f}'}")
        self.stdout.write("\n  predicted  candidates     mean  observed")
        for each in report.bins:
            self.stdout.write(
                f"  {each.low:.1f} to {each.high:.1f} {each.rows:>11,}   {each.predicted:.4f}    {each.observed:.4f}"
            )
        self.stdout.write(f"\n  tokens  {base.name:>20}  calibrated, greedy  calibrated, optimal")
        for row in calibration.recalls:
            self.stdout.write(f"  {row.budget:>6,}  {row.before:>20.4f}  {row.greedy:>18.4f}  {row.optimal:>19.4f}")
