"""Every stage with an input of any size stops between two steps when its time is up."""

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from compaction.pipeline.fitting import SummaryFitting
from compaction.pipeline.orchestrator import (
    COMPACTION_LEASE,
    EMERGENCY_TIME_LIMIT,
    RUN_TIME_LIMIT,
    WAITING_TIME_LIMIT,
    WORK_TIME_LIMIT,
)
from compaction.pipeline.summarisers import SummaryResult
from compaction.services.erasure.quotes import QuotedTexts
from compaction.services.pipeline.faithfulness import check_statements
from compaction.services.pipeline.retention.check import RetainedFact, check_retention, extract_facts
from compaction.services.pipeline.retention.stated import stated_turns
from compaction.services.pipeline.retention.weights import weigh_facts
from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import Statement, StatementMessage
from compaction.services.pipeline.statements.selection import choose_statements
from compaction.services.pipeline.stored_once import without_stored
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.rollups.choice import StoredText, choose_texts
from compaction.services.sessions.turns import SessionTurn
from compaction.tasks import COMPACTION_TIME_LIMIT_SECONDS, ROLL_UP_TIME_LIMIT_SECONDS
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.signals import SIGNALS
from context.services.assembly.superseded import find_rivals
from context.services.packer import ElasticPacker, GreedyKnapsackPacker, OptimalPacker
from context.services.packer.knapsack import solve_knapsack
from context.services.rendering import render_context
from memories.services.search.excerpts import candidate_match_words
from memories.services.store.text_diff import diff_words
from memories.services.time_limits import TimeIsUpError, in_time, while_in_time, work_until
from memory_platform.console.time_limits import REQUEST_SECONDS
from tests.timing import seconds_of
from tests.unit.test_growth import BUDGET, Block, pool, scored
from tests.unit.test_growth import STAGES as GROWING_STAGES

#: Three times what the slowest stage without a limit takes.
SHORT_SECONDS = 1.0
TEXT = "Ann keeps 5 boxes on shelf 7."
TURN = SessionTurn("m1", "user", TEXT, 9)
UNIT = np.array([1.0, 0.0], dtype=np.float32)
#: Profits that the search has to choose between.
HARD_KNAPSACK = ([weight + 10 for weight in range(50, 90)], list(range(50, 90)), 1_003)
CITED = CitedStatement(TEXT, ("m1",))
FACT = RetainedFact("number", "5", "5", ("m1",))

STAGES: dict[str, Callable[[], object]] = {
    "statements": lambda: extract_statements([StatementMessage("m1", "user", f"{TEXT} Once.")]),
    "choice": lambda: choose_statements([Statement(TEXT, ("m1",))], token_budget=50, count_tokens=len),
    "facts": lambda: extract_facts([TURN]),
    "what is said": lambda: stated_turns([TURN]),
    "weights": lambda: weigh_facts([FACT], []),
    "retention": lambda: check_retention([FACT], [TEXT]),
    "support": lambda: check_statements([CITED], [TURN]),
    "stored already": lambda: without_stored([CITED], ["Other."]),
    "fitting": lambda: SummaryFitting(["m1"], 50, len).fit(SummaryResult("", ()), [CITED]),
    "greedy packing": lambda: GreedyKnapsackPacker(BUDGET).pack(scored(3), 20),
    "elastic packing": lambda: ElasticPacker(BUDGET).pack(scored(3), 20),
    "optimal packing": lambda: OptimalPacker(BUDGET).pack(scored(3), 20),
    "optimum": lambda: solve_knapsack(*HARD_KNAPSACK),
    "rendering": lambda: render_context([Block(TEXT)], secret=b"s", tenant_id="t"),
    "near duplicates": lambda: NearDuplicates({TEXT: UNIT, f"{TEXT} Again.": UNIT}, 0.9),
    "signals": lambda: SIGNALS["informativeness"](pool(3)),
    "superseded": lambda: find_rivals(pool(3)),
    "words of results": lambda: candidate_match_words([TEXT], {"ann"}),
    "differences": lambda: diff_words(TEXT, f"{TEXT} Again."),
    "erased texts": lambda: QuotedTexts([TEXT]),
    "roll-up": lambda: choose_texts([StoredText("1", TEXT)], token_budget=50, count_tokens=len),
}


@pytest.mark.parametrize("stage", STAGES)
def test_work_ends_when_its_time_is_up(stage: str) -> None:
    with pytest.raises(TimeIsUpError), work_until(lambda: True):
        STAGES[stage]()
    STAGES[stage]()  # without a limit


@pytest.mark.parametrize("stage", GROWING_STAGES)
def test_growing_stage_ends_when_its_time_is_up_or_is_short(stage: str) -> None:
    """So a stage that is added to the growth test needs a time limit, unless ten times its input takes no time."""
    work, size = GROWING_STAGES[stage]
    with work_until(lambda: True), suppress(TimeIsUpError):
        assert seconds_of(lambda: work(10 * size)) < SHORT_SECONDS


def test_limit_is_checked_before_each_item_and_ends_with_its_block() -> None:
    answers = iter([False, False, True])
    with work_until(lambda: next(answers)):
        items = in_time(range(9))
        assert [next(items), next(items)] == [0, 1]
        with pytest.raises(TimeIsUpError):
            next(items)
    assert list(in_time(range(9))) == list(range(9))


def test_sweep_gets_what_there_is_time_for() -> None:
    answers = iter([False, False, True])
    with work_until(lambda: next(answers)):
        assert list(while_in_time(range(9))) == [0, 1]
    assert list(while_in_time(range(9))) == list(range(9))


def test_request_ends_its_work_after_its_compaction_and_before_a_proxy_gives_up() -> None:
    assert EMERGENCY_TIME_LIMIT < WAITING_TIME_LIMIT
    assert WAITING_TIME_LIMIT.total_seconds() < REQUEST_SECONDS < 60


def test_worker_ends_its_work_before_its_process_is_killed_and_its_lease_lapses() -> None:
    limits = [RUN_TIME_LIMIT, WORK_TIME_LIMIT]
    assert [one.total_seconds() < COMPACTION_TIME_LIMIT_SECONDS for one in limits] == [True, True]
    assert ROLL_UP_TIME_LIMIT_SECONDS == COMPACTION_TIME_LIMIT_SECONDS
    assert COMPACTION_LEASE.total_seconds() > COMPACTION_TIME_LIMIT_SECONDS
