"""The states of the facts in a journal."""

from compaction.services.pipeline.journal_entries import (
    is_under_review,
    is_waiting,
    reset_entries,
    stored_count,
    strike_entry,
)


def test_struck_fact_is_kept_again_as_what_it_was() -> None:
    for kept, entry in (("new", {"status": "new"}), ("replaces", {"status": "replaces", "replaced_memory_ids": ["1"]})):
        strike_entry(entry, is_struck=True)
        assert entry["status"] == "struck"
        assert is_under_review([entry])
        strike_entry(entry, is_struck=False)
        assert entry["status"] == kept


def test_stored_facts_wait_again_after_a_roll_back_and_others_stay() -> None:
    journal = [
        {"status": "stored", "memory_id": "1"},
        {"status": "replaces", "memory_id": "2", "replaced_memory_ids": ["9"], "replacement_act_ids": ["8"]},
        {"status": "struck", "memory_id": None},
        {"status": "duplicate", "memory_id": "3"},
    ]
    assert stored_count(journal) == 2
    reset_entries(journal)
    assert journal == [
        {"status": "new", "memory_id": None},
        {"status": "replaces", "memory_id": None, "replaced_memory_ids": ["9"]},
        {"status": "struck", "memory_id": None},
        {"status": "duplicate", "memory_id": "3"},
    ]


def test_stored_entries_of_an_applied_compaction_do_not_wait() -> None:
    assert is_waiting({"status": "new", "memory_id": None})
    assert not is_waiting({"status": "replaces", "memory_id": "1"})
    assert not is_under_review([{"status": "replaces", "memory_id": "1"}, {"status": "stored", "memory_id": "2"}])
