"""A summariser that calls an OpenAI-compatible `/v1/chat/completions` endpoint, hosted or local."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import openai
from openai.types.chat import ChatCompletion

from compaction.pipeline.summarisers.protocol import SummariserError, SummaryResult, SummaryTask
from compaction.services.pipeline import prompts
from compaction.services.pipeline.chunking import divide_budget, split_turns_to_fit
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn
from context.profiles.token_counters import budget_calculator

_T = TypeVar("_T")

#: The share of the budget that is requested, because models exceed the requested length.
REQUESTED_BUDGET_SHARE = 0.8
#: The share of a window for prompt, messages and response; the rest is for estimation errors.
_WINDOW_SHARE = 0.8
#: Status codes that blame the texts: too long, not acceptable, refused.
BLAMES_TEXT = frozenset({400, 413, 422})
RETRY_AFTER_SECONDS_MAX = 300.0
#: Less time than this is not worth a call.
TIME_SECONDS_MIN = 0.2


class OpenAIChatSummariser:
    """One HTTP call for each part, without retries: the caller decides when to try again."""

    name = "openai"
    is_local = False

    def __init__(self, *, base_url: str, api_key: str, timeout_seconds: float) -> None:
        self._timeout = timeout_seconds
        self._client = openai.OpenAI(
            base_url=base_url or None, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0
        )
        #: Whether the endpoint accepts a JSON schema; the first refusal clears it.
        self._takes_schema = True

    def close(self) -> None:
        """Close the connections; the summariser cannot be used afterwards."""
        self._client.close()

    def summarise(self, task: SummaryTask) -> SummaryResult:
        """See `Summariser`."""
        text = prompts.complete_prompt(task.prompt or prompts.PROMPT)
        prompt = partial(prompts.summary_prompt, text=text)
        statements, dropped = self._request_all(
            task, lambda budget: prompt(int(budget * REQUESTED_BUDGET_SHARE)), prompts.SUMMARY_SCHEMA
        )
        if not statements:
            raise SummariserError("empty", "The model's answer contains no statement.")
        summary = SummaryResult("\n".join(one.text for one in statements), tuple(statements), dropped=dropped)
        if task.count_tokens(summary.text) > task.budget_tokens:
            raise SummariserError("over_budget", "The model exceeded the budget.")
        return summary

    def journal(self, task: SummaryTask) -> list[CitedStatement]:
        """See `Summariser`."""
        entries, left = [], task.budget_tokens
        journal_task = replace(task, earlier=())
        for entry in self._request_all(journal_task, lambda _: prompts.JOURNAL_PROMPT, prompts.JOURNAL_SCHEMA)[0]:
            left -= task.count_tokens(entry.text)
            if left >= 0:
                entries.append(entry)
        return entries

    def _request_all(
        self, task: SummaryTask, prompt: Callable[[int], str], schema: Mapping[str, Any]
    ) -> tuple[list[CitedStatement], int]:
        """Return the results of all parts, requested one after the other, and the number of dropped items.

        These cite nothing that was sent. The first part includes the earlier statements.
        """
        (list_name,), started = schema["required"], time.monotonic()
        parts = self._parts(task)
        sizes = [sum(turn.tokens + 1 for turn in part) for part in parts]
        statements: list[CitedStatement] = []
        dropped = 0
        for number, (part, budget) in enumerate(zip(parts, divide_budget(task.budget_tokens, sizes), strict=True)):
            earlier = task.earlier if number == 0 else ()
            messages = [
                {"role": "system", "content": prompt(budget)},
                {"role": "user", "content": prompts.number_prompt_lines(part, [one.text for one in earlier])},
            ]
            json_schema = {"name": list_name, "schema": schema}
            answer = self._answer(task.model, messages, json_schema, self._time_left(task, started))
            items, unusable = _read_statements(answer, list_name, earlier, part)
            statements, dropped = statements + items, dropped + unusable
        return statements, dropped

    def _parts(self, task: SummaryTask) -> list[list[SessionTurn]]:
        """Return the messages in parts that fit the model's window with prompt, earlier statements and response."""
        calculator = budget_calculator()

        def count(text: str) -> int:
            return calculator.count_tokens(text, task.model)

        earlier = prompts.number_prompt_lines((), [one.text for one in task.earlier])
        prompt = prompts.complete_prompt(task.prompt or prompts.PROMPT)
        available = int(calculator.context_window(task.model) * _WINDOW_SHARE)
        available -= count(earlier) + count(prompt) + task.budget_tokens
        try:
            return split_turns_to_fit(task.messages, available, lambda turn: count(prompts.number_prompt_lines([turn])))
        except ValueError as error:
            detail = "The model's window is too small for the messages."
            raise SummariserError("window_too_small", detail, is_permanent=True, blames_task=True) from error

    def _time_left(self, task: SummaryTask, started: float) -> float:
        if task.time_limit_seconds is None:
            return self._timeout
        left = task.time_limit_seconds - (time.monotonic() - started)
        if left < TIME_SECONDS_MIN:
            raise SummariserError("timeout", "The model did not answer in time.")
        return min(left, self._timeout)

    def _answer(self, model: str, messages: Sequence[Any], schema: Mapping[str, Any], seconds: float) -> str:
        """Return the text of the model's response; an endpoint without schemas is asked only for JSON."""
        if self._takes_schema:
            try:
                return self._call(model, messages, {"type": "json_schema", "json_schema": schema}, seconds)
            except SummariserError as error:
                if error.code != "refused_400":
                    raise
        answer = self._call(model, messages, {"type": "json_object"}, seconds)
        self._takes_schema = False
        return answer

    def _call(self, model: str, messages: Sequence[Any], response_format: Any, seconds: float) -> str:
        create = partial(self._client.with_options(timeout=seconds).chat.completions.create, model=model)
        try:
            answer: ChatCompletion = _in_time(
                partial(create, messages=messages, response_format=response_format), seconds
            )
            content = answer.choices[0].message.content
        except openai.APIStatusError as error:
            raise _refused(error) from error
        except (openai.APITimeoutError, TimeoutError) as error:
            raise SummariserError("timeout", "The model did not answer in time.") from error
        except openai.APIConnectionError as error:
            raise SummariserError("unreachable", "The model's endpoint cannot be reached.") from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError, IndexError) as error:
            raise SummariserError("unreadable", "The model's answer cannot be read.") from error
        if not isinstance(content, str) or not content.strip():
            raise SummariserError("empty", "The model's answer is empty.")
        return content


def _in_time(call: Callable[[], _T], seconds: float) -> _T:
    """Return the result of the call or raise `TimeoutError`: an endpoint that keeps sending spaces never ends."""
    done: Future[_T] = Future()

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - `result` raises it
            done.set_exception(error)

    threading.Thread(target=work, name="chat completion", daemon=True).start()
    return done.result(timeout=seconds)


def _refused(error: openai.APIStatusError) -> SummariserError:
    status = error.status_code
    detail = f"The model's endpoint answered {status}."
    if status < 500 and status not in (408, 409, 429):
        return SummariserError(f"refused_{status}", detail, is_permanent=True, blames_task=status in BLAMES_TEXT)
    try:
        wait = min(max(float(error.response.headers.get("Retry-After") or 0), 0.0), RETRY_AFTER_SECONDS_MAX)
    except ValueError:  # a date, or nonsense
        wait = 0.0
    return SummariserError("rate_limited" if status == 429 else "provider_error", detail, retry_after_seconds=wait)


def _read_statements(
    answer: str, list_name: str, earlier: Sequence[CitedStatement], part: Sequence[SessionTurn]
) -> tuple[list[CitedStatement], int]:
    try:
        items, dropped = prompts.parse_cited_items(answer, list_name, len(earlier) + len(part))
    except prompts.CitationError as error:
        raise SummariserError(error.code, error.detail) from error
    sources = [*(one.message_ids for one in earlier), *((str(turn.id),) for turn in part)]
    statements = []
    for item in items:
        cited = dict.fromkeys(source for number in item.numbers for source in sources[number - 1])
        is_old = all(number <= len(earlier) for number in item.numbers)
        statements.append(CitedStatement(item.text, tuple(cited), item.kind, is_from_earlier=is_old))
    return statements, dropped
