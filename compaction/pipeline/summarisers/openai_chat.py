"""Any endpoint that speaks OpenAI's `/v1/chat/completions`, hosted or local."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import openai
from openai.types.chat import ChatCompletion

from compaction.pipeline.summarisers.protocol import SummariserError, SummaryResult, SummaryTask
from compaction.services.pipeline.chunking import divide_budget, split_turns_to_fit
from compaction.services.pipeline.citations import CitationError, parse_cited_items
from compaction.services.pipeline.prompts import (
    JOURNAL_PROMPT,
    JOURNAL_SCHEMA,
    PROMPT,
    SUMMARY_SCHEMA,
    complete_prompt,
    number_prompt_lines,
    summary_prompt,
)
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn
from context.profiles.token_counters import budget_calculator

_T = TypeVar("_T")

#: Models overshoot what they are asked for, so they are asked for less than they may write.
ASKED_SHARE = 0.8
#: The part of a window that prompt, answer and the edges of messages are kept out of.
_WINDOW_SHARE = 0.8
#: Of the texts to be blamed: too long, not acceptable, refused.
BLAMES_TEXT = frozenset({400, 413, 422})
RETRY_AFTER_SECONDS_MAX = 300.0
#: Less time than this is not worth a call.
TIME_SECONDS_MIN = 0.2


@dataclass(frozen=True)
class _Question:
    """What is asked of every part: the system text for a budget, the JSON schema and the list's name in it."""

    text: Callable[[int], str]
    schema: Mapping[str, Any]
    list_name: str
    may_be_empty: bool


class OpenAIChatSummariser:
    """One HTTP call for each part, no retries of its own: who calls decides when to try again."""

    name = "openai"
    is_local = False

    def __init__(self, *, base_url: str, api_key: str, timeout_seconds: float) -> None:
        self._timeout = timeout_seconds
        self._client = openai.OpenAI(
            base_url=base_url or None, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0
        )
        #: Whether the endpoint takes a JSON schema; found out by asking.
        self._takes_schema = True

    def close(self) -> None:
        """Give the connections back; the summariser is of no use afterwards."""
        self._client.close()

    def summarise(self, task: SummaryTask) -> SummaryResult:
        """See `Summariser`."""

        def text(budget: int) -> str:
            return summary_prompt(int(budget * ASKED_SHARE), complete_prompt(task.prompt or PROMPT))

        question = _Question(text, SUMMARY_SCHEMA, "statements", may_be_empty=False)
        statements = self._asked(task, question)
        summary = SummaryResult("\n".join(one.text for one in statements), tuple(statements))
        if task.count_tokens(summary.text) > task.budget_tokens:
            raise SummariserError("over_budget", "The model wrote more than it may.", is_permanent=False)
        return summary

    def journal(self, task: SummaryTask) -> list[CitedStatement]:
        """See `Summariser`."""
        question = _Question(lambda _: JOURNAL_PROMPT, JOURNAL_SCHEMA, "entries", may_be_empty=True)
        entries, left = [], task.budget_tokens
        for entry in self._asked(replace(task, earlier=()), question):
            left -= task.count_tokens(entry.text)
            if left >= 0:
                entries.append(entry)
        return entries

    def _asked(self, task: SummaryTask, question: _Question) -> list[CitedStatement]:
        """The answers about all parts, one after the other; the earlier statements stand in the first one."""
        started = time.monotonic()
        parts = self._parts(task)
        sizes = [sum(turn.tokens + 1 for turn in part) for part in parts]
        told: list[CitedStatement] = []
        for number, (part, budget) in enumerate(zip(parts, divide_budget(task.budget_tokens, sizes), strict=True)):
            earlier = task.earlier if number == 0 else ()
            lines = number_prompt_lines(part, [one.text for one in earlier])
            answer = self._answer(task, question, question.text(budget), lines, self._time_left(task, started))
            told += _told(answer, question, earlier, part)
        if not told and not question.may_be_empty:
            raise SummariserError("empty", "The model's answer contains no statement.", is_permanent=False)
        return told

    def _parts(self, task: SummaryTask) -> list[list[SessionTurn]]:
        """The messages in parts that fit the model's window beside prompt, earlier statements and answer."""
        calculator = budget_calculator()

        def count(turn: SessionTurn) -> int:
            return calculator.count_tokens(number_prompt_lines([turn]), task.model)

        fixed = calculator.count_tokens(number_prompt_lines((), [one.text for one in task.earlier]), task.model)
        fixed += calculator.count_tokens(complete_prompt(task.prompt or PROMPT), task.model) + task.budget_tokens
        room = int(calculator.context_window(task.model) * _WINDOW_SHARE) - fixed
        try:
            return split_turns_to_fit(task.messages, room, count)
        except ValueError as error:
            detail = "The model's window is too small for what it would have to read."
            raise SummariserError("window_too_small", detail, is_permanent=True, blames_task=True) from error

    def _time_left(self, task: SummaryTask, started: float) -> float:
        if task.time_limit_seconds is None:
            return self._timeout
        left = task.time_limit_seconds - (time.monotonic() - started)
        if left < TIME_SECONDS_MIN:
            raise SummariserError("timeout", "The model did not answer in time.", is_permanent=False)
        return min(left, self._timeout)

    def _answer(self, task: SummaryTask, question: _Question, system: str, lines: str, seconds: float) -> str:
        """The text of the model's answer; an endpoint that knows no schema is asked for JSON alone."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": lines}]
        if self._takes_schema:
            schema = {"name": question.list_name, "schema": question.schema}
            try:
                return self._call(task.model, messages, {"type": "json_schema", "json_schema": schema}, seconds)
            except SummariserError as error:
                if error.code != "refused_400":
                    raise
            answer = self._call(task.model, messages, {"type": "json_object"}, seconds)
            self._takes_schema = False
            return answer
        return self._call(task.model, messages, {"type": "json_object"}, seconds)

    def _call(self, model: str, messages: Sequence[Any], response_format: Any, seconds: float) -> str:
        client = self._client.with_options(timeout=seconds)
        create = partial(client.chat.completions.create, model=model, messages=messages)
        try:
            answer: ChatCompletion = _in_time(partial(create, response_format=response_format), seconds)
        except openai.APIStatusError as error:
            raise _refused(error) from error
        except (openai.APITimeoutError, TimeoutError) as error:
            raise SummariserError("timeout", "The model did not answer in time.", is_permanent=False) from error
        except openai.APIConnectionError as error:
            raise SummariserError(
                "unreachable", "The model's endpoint cannot be reached.", is_permanent=False
            ) from error
        except (openai.OpenAIError, ValueError, TypeError) as error:
            raise _unreadable() from error
        return _content(answer)


def _in_time(call: Callable[[], _T], seconds: float) -> _T:
    """What the call returns. Raises `TimeoutError`.

    The time limit of a connection begins anew with every byte; an endpoint that keeps sending spaces has no end.
    """
    done: Future[_T] = Future()

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            done.set_exception(error)

    threading.Thread(target=work, name="chat completion", daemon=True).start()
    return done.result(timeout=seconds)


def _refused(error: openai.APIStatusError) -> SummariserError:
    status = error.status_code
    detail = f"The model's endpoint answered {status}."
    if status == 429:
        wait = _seconds(error.response.headers.get("Retry-After"))
        return SummariserError("rate_limited", detail, is_permanent=False, retry_after_seconds=wait)
    if status >= 500 or status in (408, 409):
        wait = _seconds(error.response.headers.get("Retry-After"))
        return SummariserError("provider_error", detail, is_permanent=False, retry_after_seconds=wait)
    return SummariserError(f"refused_{status}", detail, is_permanent=True, blames_task=status in BLAMES_TEXT)


def _seconds(header: str | None) -> float:
    """What Retry-After asks for in seconds; 0 for anything but a number in bounds."""
    try:
        return min(max(float(header or 0), 0.0), RETRY_AFTER_SECONDS_MAX)
    except ValueError:
        return 0.0


def _unreadable() -> SummariserError:
    return SummariserError("unreadable", "The model's answer cannot be read.", is_permanent=False)


def _content(answer: ChatCompletion) -> str:
    try:
        content = answer.choices[0].message.content
    except (AttributeError, IndexError, TypeError) as error:
        raise _unreadable() from error
    if not isinstance(content, str) or not content.strip():
        raise SummariserError("empty", "The model's answer is empty.", is_permanent=False)
    return content


def _told(
    answer: str, question: _Question, earlier: Sequence[CitedStatement], part: Sequence[SessionTurn]
) -> list[CitedStatement]:
    """The items of an answer with the messages behind their numbers."""
    try:
        items = parse_cited_items(answer, question.list_name, len(earlier) + len(part))
    except CitationError as error:
        raise SummariserError(error.code, error.detail, is_permanent=False) from error
    sources = [*(one.message_ids for one in earlier), *((str(turn.id),) for turn in part)]
    told = []
    for item in items:
        cited = dict.fromkeys(source for number in item.numbers for source in sources[number - 1])
        is_old = all(number <= len(earlier) for number in item.numbers)
        told.append(CitedStatement(item.text, tuple(cited), item.kind, is_from_earlier=is_old))
    return told
