"""Messages into statements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from compaction.services.pipeline.statements.checks import unfit_opening
from compaction.services.pipeline.statements.dates import GLUE
from compaction.services.pipeline.statements.kinds import classify_clause
from compaction.services.pipeline.statements.model import Statement, StatementKind, StatementMessage, StatementPart
from compaction.services.pipeline.statements.people import ASSISTANT_NAME, SpeakerTurn
from compaction.services.pipeline.statements.reading import StatementDraft, StatementReader
from compaction.services.pipeline.statements.weighting import is_name, word_weights
from compaction.services.pipeline.statements.words import content_words, join_tokens

#: Weighs statements of a kind against others.
KIND_FACTORS = {
    StatementKind.FACT: 1.0,
    StatementKind.EVENT: 1.1,
    StatementKind.PREFERENCE: 1.1,
    StatementKind.PLAN: 1.0,
    StatementKind.DECISION: 1.2,
    StatementKind.CONSTRAINT: 1.2,
    StatementKind.OPINION: 0.8,
    StatementKind.VERBATIM: 0.5,
}
#: What people say of the one spoken to is mostly encouragement; not what is said of one named by a role alone.
LISTENER_FACTOR = 0.7
#: A clause told in the speaker's words ("Caroline: ...") says less of anybody than one with a subject of its own.
TOLD_FACTOR = 0.85
_PARTIES = ("", ASSISTANT_NAME, "User")
#: Roles that nobody speaks to.
_TOOL = "tool"
_SILENT_ROLES = (_TOOL, "system", "")
#: A name and a colon before what was said.
_WRITTEN_SPEAKER = re.compile(r"([A-Z][\w'-]+(?: [A-Z][\w'-]+)?): +(?=\S)")
_GREETING = re.compile(r"good (?:morning|afternoon|evening|night|day)(?:,? [^\W\d_]+){0,2}", re.IGNORECASE)
#: Nicknames are the start of a name, from so many letters.
_MIN_NICKNAME_LETTERS = 2


def extract_statements(messages: Sequence[StatementMessage]) -> list[Statement]:
    """All statements of the messages, in the order of their sequence. See `choose_statements` for the best of them."""
    ordered = _with_speakers(sorted(messages, key=lambda message: message.sequence))
    names = frozenset(word for message in ordered for word in message.speaker.lower().split())
    reader = StatementReader(names, names | _nicknames(names))
    talkers = dict.fromkeys(message.speaker for message in ordered if _talks(message))
    for message in ordered:
        reader.read(message, SpeakerTurn(message.speaker, _listener(message, tuple(talkers))))
    counts = Counter(word for message in ordered for word in content_words(message.content))
    statements = (_statement(draft, counts, names) for draft in reader.drafts)
    return [made for made in statements if made.parts and not unfit_opening(made.lead, made.body) and not _is_nod(made)]


def _is_nod(statement: Statement) -> bool:
    """Whether it only keeps the conversation going: a single word such as "noted", or a greeting."""
    is_told = statement.lead.endswith(":") and statement.kind != StatementKind.VERBATIM
    body = statement.body
    return is_told and ((body.isalpha() and body.islower()) or _GREETING.fullmatch(body) is not None)


def _with_speakers(messages: Sequence[StatementMessage]) -> list[StatementMessage]:
    """The messages, with a speaker written into the text ("Caroline: I ran.") as their name.

    In messages of a role a name counts that opens at least two of them.
    """
    written = [_WRITTEN_SPEAKER.match(message.content) if not message.name else None for message in messages]
    counts = Counter(match[1] for match in written if match)
    return [
        replace(message, name=match[1], content=message.content[match.end() :])
        if match and (not message.role or counts[match[1]] > 1) and all(map(is_name, match[1].split(" ")))
        else message
        for message, match in zip(messages, written, strict=True)
    ]


def _talks(message: StatementMessage) -> bool:
    """Whether others may speak to whoever said it; a tool's name is no one's."""
    return message.role not in _SILENT_ROLES or (bool(message.name) and message.role != _TOOL)


def _listener(message: StatementMessage, talkers: Sequence[str]) -> str:
    """Whom a message speaks to: the other one of two, for the system the assistant; "" for a group."""
    if message.role == "system":
        return ASSISTANT_NAME
    others = [name for name in talkers if name != message.speaker]
    return others[0] if len(talkers) == 2 and len(others) == 1 else ""


def _nicknames(names: Collection[str]) -> frozenset[str]:
    """The ways a name may be called: "mel" for "melanie", "johnny" is not guessed."""
    return frozenset(name[:size] for name in names for size in range(_MIN_NICKNAME_LETTERS, len(name)))


def _statement(draft: StatementDraft, counts: Counter[str], names: Collection[str]) -> Statement:
    opening = draft.opening
    texts = ((tokens, join_tokens(tokens).replace(GLUE, " ")) for tokens in draft.parts)
    if draft.is_verbatim:
        texts = ((tokens, " ".join(tokens)) for tokens in draft.parts)
    parts = tuple(StatementPart(text, word_weights(tokens, counts, names)) for tokens, text in texts if text)
    kind = (
        StatementKind.VERBATIM
        if draft.is_verbatim
        else classify_clause(" ".join((opening.lead, *(part.text for part in parts))))
    )
    return Statement(
        opening.subject,
        opening.lead,
        parts,
        draft.message_ids,
        kind,
        draft.stated_on,
        _factor(draft, kind),
    )


def _factor(draft: StatementDraft, kind: StatementKind) -> float:
    factor = KIND_FACTORS[kind]
    if draft.talk.listener not in _PARTIES and draft.opening.subject == draft.talk.listener:
        factor *= LISTENER_FACTOR
    is_told = draft.opening.lead.endswith(":") and not draft.opening.of_speaker
    return factor * TOLD_FACTOR if is_told else factor
