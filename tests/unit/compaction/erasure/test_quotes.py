"""Which texts quote an erased one, and what remains of them."""

from uuid import uuid4

import pytest

from compaction.services.erasure.quotes import ERASED, QuotedTexts, ids_in
from compaction.services.erasure.receipts import FIRST_DIGEST, is_signed, next_digest, sign_receipt, target_hash
from tests.timing import timed_result

FACT = "Alex moved to Lisbon in March with two cats and a cello. She works nights."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "Summary:\n- Alex moved to LISBON in March, with two cats and a cello.\n- Other.",
            f"Summary:\n{ERASED}\n- Other.",
        ),
        ("First. Alex moved to Lisbon in March with two dogs. Last.", f"First. {ERASED} Last."),
        ("Alex moved to Lisbon in April.", None),
        ("Nothing of it.", None),
        ("", None),
    ],
)
def test_quoting_sentence_is_replaced_and_others_stay(text: str, left: str | None) -> None:
    quoted = QuotedTexts([FACT])
    assert quoted.redact(text) == (text if left is None else left)
    assert quoted.is_quoted_in(text) == (left is not None)


def test_whole_short_sentence_is_a_quotation_but_three_words_are_not() -> None:
    quoted = QuotedTexts(["I live in Berlin. Really.", "Yes I do"])
    assert quoted.redact("So: I live in Berlin! Fine.") == f"{ERASED} Fine."
    assert not quoted.is_quoted_in("He said yes, I do.")
    assert quoted.redact("yes i do") == ERASED


def test_json_is_redacted_at_every_depth_and_keeps_its_keys() -> None:
    quoted = QuotedTexts([FACT])
    value = {FACT: [{"text": FACT, "n": 3, "ok": True}, None], "ids": ["a"]}
    left = {FACT: [{"text": f"{ERASED} {ERASED}", "n": 3, "ok": True}, None], "ids": ["a"]}
    assert quoted.redact(value) == left


def test_redacting_twice_changes_nothing_and_no_texts_quote_nothing() -> None:
    quoted = QuotedTexts([FACT])
    once = quoted.redact(f"A. {FACT} B.")
    assert quoted.redact(once) == once
    assert not QuotedTexts([])
    assert QuotedTexts(["", "..."]).redact(FACT) == FACT


def test_ids_are_found_in_texts_lists_and_as_ids() -> None:
    first, second, third = uuid4(), uuid4(), uuid4()
    assert ids_in([{"memory_id": str(first)}, [second], f"/api/v1/memories/{third}", 7, None]) == {first, second, third}


def test_search_for_quotations_is_linear() -> None:
    def seconds(words: int) -> float:
        text = " ".join(f"w{number}" for number in range(words))
        is_found, taken = timed_result(lambda: QuotedTexts([text]).is_quoted_in(text))
        assert is_found
        return taken

    seconds(1_000)
    small = min(seconds(20_000) for _ in range(3))
    assert min(seconds(80_000) for _ in range(3)) < 12 * small


def test_receipt_is_valid_only_unchanged_and_by_one_of_the_keys() -> None:
    receipt = {"rows": {"memories": 3}, "ids_sha256": {"memories": next_digest(FIRST_DIGEST, [1, 2, 3])}}
    signature = sign_receipt(receipt, b"key")
    assert is_signed(receipt, signature, [b"new", b"key"])
    assert not is_signed(receipt, signature, [b"new"])
    assert not is_signed({**receipt, "rows": {"memories": 4}}, signature, [b"key"])
    assert not is_signed({}, "", [b"key"])


def test_target_is_recognised_only_with_the_key() -> None:
    assert target_hash("user=alex", b"key") == target_hash("user=alex", b"key")
    assert target_hash("user=alex", b"key") != target_hash("user=alex", b"other")


def test_digest_depends_on_every_id_and_on_the_batches_before() -> None:
    first = next_digest(FIRST_DIGEST, ["a", "b"])
    assert len({first, next_digest(FIRST_DIGEST, ["a", "c"]), next_digest(first, []), FIRST_DIGEST}) == 4
