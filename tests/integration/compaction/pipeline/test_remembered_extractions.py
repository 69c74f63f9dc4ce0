"""The statements that `tests/integration/conftest.py` caches equal those of the product, also under other ids."""

from dataclasses import replace
from datetime import UTC, datetime

from compaction.services.pipeline.statements.extraction import _Extraction, extract_statements
from compaction.services.pipeline.statements.model import ReplacedStatement, Statement, StatementMessage
from compaction.services.pipeline.statements.parsing import parse_messages

SAID = (
    ("user", "I live in Porto. Send the invoice to ann@example.com before 3 May."),
    ("assistant", "I will send the invoice to ann@example.com on 2 May 2026."),
    ("user", "I moved: I live in Lisbon now. The budget is 900 EUR."),
    ("user", "Actually, the budget is 1,200 EUR."),
)


def extracted(messages: list[StatementMessage], earlier: list[Statement]) -> list[Statement]:
    return _Extraction(parse_messages(messages), earlier).statements()


def test_remembered_statements_have_the_ids_and_days_of_their_messages() -> None:
    for prefix, at in (("a", datetime(2026, 5, 1, 8, tzinfo=UTC)), ("b", datetime(2026, 5, 1, 20, tzinfo=UTC))):
        messages = [
            StatementMessage(f"{prefix}{number}", role, text, created_at=at, sequence=number)
            for number, (role, text) in enumerate(SAID)
        ]
        before, after = messages[:2], messages[2:]
        earlier = extract_statements(before)
        assert earlier == extracted(before, [])
        earlier[0] = replace(earlier[0], replaces=(ReplacedStatement("User: I live in Faro.", (f"{prefix}9",)),))
        found = extract_statements(after, earlier)
        assert found == extracted(after, earlier)
        assert {id_[0] for statement in found for id_ in statement.message_ids} == {prefix}
        assert [replaced.message_ids for statement in found for replaced in statement.replaces] == [(f"{prefix}9",)]
