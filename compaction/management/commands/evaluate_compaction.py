"""`manage.py evaluate_compaction`."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import track

from compaction.pipeline.evaluation import Evaluation, evaluate_conversation
from compaction.pipeline.summarisers import Summariser, SummariserError, configured_summariser, fallback_summariser
from memories.management.command import PlatformCommand
from memories.services.store.locomo import LocomoError

ROW = "{:<16}{:>9}{:>11}{:>9}{:>9}{:>10}{:>10}"
_HEADINGS = ("conversation", "sessions", "questions", "tokens", "allowed", "too long", "kept")


class Command(PlatformCommand):
    help = (
        "Measure what summaries of conversations keep: the mean share of the words of each answer that are in the\n"
        "summary of the session that answers it, at as many tokens as the data set's own summary of that session.\n"
        "Reads LoCoMo's JSON; stores nothing and needs no database.\n\n"
        "Example: manage.py evaluate_compaction data/locomo --summaries /tmp/summaries"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a .json file, or a folder of them")
        parser.add_argument(
            "--summariser",
            choices=("extractive", "configured"),
            default="extractive",
            help="by rules alone (default), or the one that LLM_BASE_URL, LLM_API_KEY and LLM_MODEL name",
        )
        parser.add_argument(
            "--summaries", type=Path, help="a folder for the summaries: a file for each conversation, session -> text"
        )

    def handle(self, **options: Any) -> None:
        summariser = fallback_summariser() if options["summariser"] == "extractive" else configured_summariser()
        if options["summariser"] == "configured" and summariser.is_local:
            raise CommandError("No model is configured: set LLM_BASE_URL or LLM_API_KEY, and LLM_MODEL.")
        path: Path = options["path"]
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise CommandError(f"There is no .json file in {path}.")
        progress = track(files, "summarising", console=Console(stderr=True), transient=True)
        evaluations = {file.stem: _evaluate(file, summariser) for file in progress}
        self.stdout.write(ROW.format(*_HEADINGS))
        for stem, evaluation in evaluations.items():
            self.stdout.write(ROW.format(stem[:15], *_figures([evaluation])))
        if len(evaluations) > 1:
            self.stdout.write(ROW.format("all questions", *_figures(list(evaluations.values()))))
        if options["summaries"]:
            _write(options["summaries"], evaluations)


def _evaluate(path: Path, summariser: Summariser) -> Evaluation:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return evaluate_conversation(data, summariser, model=settings.LLM_MODEL)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except LocomoError as error:
        raise CommandError(f"{path} is not a LoCoMo conversation: {error}.") from error
    except SummariserError as error:
        raise CommandError(f"{path} cannot be summarised: {error.detail}") from error
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}.") from error


def _figures(evaluations: list[Evaluation]) -> tuple[str, ...]:
    """Return sessions, questions, tokens, allowed tokens, too long summaries, and the share over all questions."""
    summaries = [summary for evaluation in evaluations for summary in evaluation.summaries]
    questions = sum(evaluation.questions for evaluation in evaluations)
    kept = sum((evaluation.share or 0.0) * evaluation.questions for evaluation in evaluations)
    counts = (
        len(summaries),
        questions,
        sum(summary.tokens for summary in summaries),
        sum(summary.allowed_tokens for summary in summaries),
        sum(evaluation.too_long for evaluation in evaluations),
    )
    return (*(f"{count:,}" for count in counts), f"{kept / questions:.3f}" if questions else "-")


def _write(folder: Path, evaluations: dict[str, Evaluation]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stem, evaluation in evaluations.items():
            texts = {str(summary.session): summary.text for summary in evaluation.summaries}
            (folder / f"{stem}.json").write_text(json.dumps(texts, ensure_ascii=False, indent=1), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
