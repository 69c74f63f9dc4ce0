"""`manage.py evaluate_compaction`: measure a summariser on conversations or labelled sessions (ADR-0102)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import track

from compaction.evaluation import report
from compaction.evaluation.conversations import Evaluation, evaluate_conversation
from compaction.evaluation.labelled_sessions import EvaluatedSession, evaluate_labelled_session, sample_statements
from compaction.pipeline.drafting_input import DraftingError
from compaction.pipeline.fallback import ProviderUnavailableError
from compaction.pipeline.summarisers import SummariserError, configured_summariser, fallback_summariser
from compaction.services.evaluation.labels import LabelledSession, LabelledSessionError, is_labelled_session
from memories.management.command import PlatformCommand, json_files
from memories.services.store.locomo import LocomoError

#: The corpus included with the project, and its name.
LABELLED_SESSIONS = "labelled-sessions"
LABELLED_SESSIONS_PATH = Path(__file__).resolve().parents[2] / "services" / "evaluation" / "labelled_sessions"


class Command(PlatformCommand):
    help = (
        "Measure what summaries of conversations keep. Nothing is stored.\n\n"
        "Labelled sessions (docs/corpus.md; `labelled-sessions` are included) are compacted as the pipeline compacts\n"
        "a session, and the table counts the labels in summary and facts. This needs the database.\n"
        "Of LoCoMo's JSON, each session is summarised in as many tokens as the data set's own summary of it, and the\n"
        "table shows the mean share of the words of each answer that are in the summary.\n\n"
        "Example: manage.py evaluate_compaction labelled-sessions --sample 30\n"
        "         manage.py evaluate_compaction data/locomo --summaries /tmp/summaries"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", help=f"a .json file, a folder of them, or `{LABELLED_SESSIONS}`")
        parser.add_argument(
            "--summariser",
            choices=("extractive", "configured"),
            default="extractive",
            help="by rules alone (default), or the one that LLM_BASE_URL, LLM_API_KEY and LLM_MODEL name",
        )
        parser.add_argument(
            "--summaries", type=Path, help="a folder for the summaries: a file for each conversation, session -> text"
        )
        parser.add_argument(
            "--sample",
            type=int,
            default=0,
            help="print this many statements and facts with their messages, for manual review",
        )
        parser.add_argument("--seed", type=int, default=1, help="which statements are in the sample (default: 1)")
        parser.add_argument("--json", action="store_true", help="print the results as JSON, with all statements")

    def handle(self, **options: Any) -> None:
        is_by_rules = options["summariser"] == "extractive"
        if not is_by_rules and configured_summariser().is_local:
            raise CommandError("No model is configured: set LLM_BASE_URL or LLM_API_KEY, and LLM_MODEL.")
        place = LABELLED_SESSIONS_PATH if options["path"] == LABELLED_SESSIONS else Path(options["path"])
        progress = track(json_files(place), "summarising", console=Console(stderr=True), transient=True)
        results = {file.stem: _evaluate(file, is_by_rules=is_by_rules) for file in progress}
        conversations = {stem: result for stem, result in results.items() if isinstance(result, Evaluation)}
        sessions = [result for result in results.values() if isinstance(result, EvaluatedSession)]
        if options["json"]:
            records = [report.conversation_record(stem, one) for stem, one in conversations.items()]
            records += [report.session_record(one) for one in sessions]
            self.stdout.write(json.dumps(records, ensure_ascii=False, indent=1))
        else:
            sample = sample_statements(sessions, options["sample"], seed=options["seed"])
            for line in (
                *(report.conversation_lines(conversations) if conversations else ()),
                *(report.session_lines(sessions) if sessions else ()),
                *report.sample_lines(sample),
            ):
                self.stdout.write(line)
        if options["summaries"]:
            _write(options["summaries"], results)


def _evaluate(path: Path, *, is_by_rules: bool) -> Evaluation | EvaluatedSession:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if is_labelled_session(data):
            session = LabelledSession.of(data)
            return evaluate_labelled_session(session, is_by_rules=is_by_rules, now=timezone.now())
        summariser = fallback_summariser() if is_by_rules else configured_summariser()
        return evaluate_conversation(data, summariser, model=settings.LLM_MODEL)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except LabelledSessionError as error:
        raise CommandError(f"{path} is not a labelled session: {error}.") from error
    except LocomoError as error:
        raise CommandError(f"{path} is not a LoCoMo conversation: {error}.") from error
    except (SummariserError, DraftingError) as error:
        raise CommandError(f"{path} cannot be summarised: {error.detail}") from error
    except ProviderUnavailableError as error:
        raise CommandError(f"{path} cannot be summarised: the model fails at present ({error.code}).") from error
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}.") from error


def _write(folder: Path, results: Mapping[str, Evaluation | EvaluatedSession]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stem, result in results.items():
            text = json.dumps(_texts(result), ensure_ascii=False, indent=1)
            (folder / f"{stem}.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error


def _texts(result: Evaluation | EvaluatedSession) -> dict[str, str]:
    """Return the text of each summary by its session."""
    if isinstance(result, EvaluatedSession):
        return {result.session.id: result.draft.summary.text}
    return {str(summary.session): summary.text for summary in result.summaries}
