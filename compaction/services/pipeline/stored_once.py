"""The part of a summary that is stored as a memory: statements that are not stored separately (ADR-0104)."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from compaction.services.pipeline.retention.matches import normalised_words
from compaction.services.pipeline.statements.model import Statement, StatementKind, render_statements
from compaction.services.pipeline.stored_statements import CitedStatement, share_in, shared_stems
from memories.services.hygiene.statements import states_the_same
from memories.services.time_limits import in_time

#: Only texts that share this many content words are compared as statements.
COMPARED_SHARE_MIN = 0.8
#: A statement is compared with texts that contain its rarest words: the number of words, and texts per word.
STEMS_COMPARED_MAX, COMPARED_PER_STEM_MAX = 3, 10


def text_without_stored(
    summary: str, statements: Sequence[CitedStatement], stored: Collection[str], withheld: Collection[str] = ()
) -> str:
    """Return the summary without statements that repeat a stored text or are `withheld`; "" if none remains."""
    left = [one for one in without_stored(statements, stored) if one.text not in withheld]
    if len(left) == len(statements):
        return summary
    return render_statements(
        [Statement(one.text, one.message_ids, StatementKind.of(one.kind), one.subject, one.stated_on) for one in left]
    )


def without_stored(statements: Sequence[CitedStatement], stored: Collection[str]) -> list[CitedStatement]:
    """Return the statements that none of the stored texts contains."""
    words = {normalised_words(text) for text in stored}
    stems_of = {text: shared_stems(text) for text in in_time(stored)}
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for text, stems in stems_of.items():
        for stem in stems:
            by_stem[stem].append(text)

    def is_stored(statement: CitedStatement) -> bool:
        if normalised_words(statement.text) in words:
            return True
        stems = shared_stems(statement.text)
        rarest = sorted(stems, key=lambda stem: (len(by_stem.get(stem, ())), stem))[:STEMS_COMPARED_MAX]
        texts = dict.fromkeys(text for stem in rarest for text in by_stem.get(stem, ())[:COMPARED_PER_STEM_MAX])
        near = (text for text in texts if share_in(stems, stems_of[text]) >= COMPARED_SHARE_MIN)
        return any(states_the_same(statement.text, text) for text in near)

    return [statement for statement in in_time(statements) if not is_stored(statement)]
