"""Messages into statements."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from compaction.services.pipeline.statements import lexicon
from compaction.services.pipeline.statements.dates import GLUE, RESOLVED_DATE
from compaction.services.pipeline.statements.model import Statement, StatementKind, StatementMessage, StatementPart
from compaction.services.pipeline.statements.people import ASSISTANT_NAME, SpeakerTurn
from compaction.services.pipeline.statements.reading import StatementDraft, StatementReader
from compaction.services.pipeline.statements.weighting import is_name, word_weights
from compaction.services.pipeline.statements.words import bare_word, content_words, is_past, join_tokens
from compaction.services.sessions.drafts import INSTRUCTING_ROLES

#: Weighs statements of a kind against others, whose factor is 1.
KIND_FACTORS = {"event": 1.1, "preference": 1.1, "decision": 1.2, "constraint": 1.2, "opinion": 0.8, "verbatim": 0.5}
#: What people say of the one spoken to is mostly encouragement; not what is said of one named by a role alone.
LISTENER_FACTOR = 0.7
#: A clause told in the speaker's words ("Caroline: ...") says less of anybody than one with a subject of its own.
TOLD_FACTOR = 0.85
_PARTIES = ("", ASSISTANT_NAME, "User")
#: A name and a colon before what was said.
_WRITTEN_SPEAKER = re.compile(r"([A-Z][\w'-]+(?: [A-Z][\w'-]+)?): +(?=\S)")
_GREETING = re.compile(r"good (?:morning|afternoon|evening|night|day)(?:,? [^\W\d_]+){0,2}", re.IGNORECASE)
#: Nicknames are the start of a name, from so many letters.
_MIN_NICKNAME_LETTERS = 2
#: The verb of a clause is among its first words.
_VERB_REACH_WORDS = 4
#: The first pattern that matches decides the kind.
_KIND_PATTERNS = {
    StatementKind.DECISION: r"\b(?:decided|decides|chose|chosen|agreed|agrees|settled|went with|going with|suggests"
    r"|picked|signed up|confirmed|denied|accepts?|accepted|approves?|approved)\b",
    StatementKind.PREFERENCE: r"\b(?:loves?|likes|enjoys?|prefers?|favou?rites?|hates?|dislikes?"
    r"|(?:fan|fond|tired) of|is into|keen|adores?|allergic)\b",
    StatementKind.CONSTRAINT: r"\b(?:must(?! be| have|'ve)|never|ha(?:ve|s) to|needs? to|not allowed"
    r"|only (?:if|when|use)|requires?|required|(?<=: )(?:always|only|use|avoid)|cannot|do not|don't|make sure"
    r"|should not|shouldn't)\b",
    StatementKind.PLAN: r"\b(?:will|going to|plans?|planning|hopes?|hoping|wants?|would love|would like"
    r"|looking forward|thinking of|thinking about|considering|can't wait|intends?|aims?|next)\b",
    StatementKind.OPINION: r"^\S+ (?:is|was|are|were)? ?(?:great|awesome|amazing|cool|nice|proud|happy|glad|sure)\b",
}
_KINDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KIND_PATTERNS.items())


def extract_statements(messages: Sequence[StatementMessage]) -> list[Statement]:
    """Return all statements of the messages in the order of their sequence. `choose_statements` takes the best."""
    ordered = _with_speakers(sorted(messages, key=lambda message: message.sequence))
    names = frozenset(word for message in ordered for word in message.speaker.lower().split())
    nicknames = {name[:size] for name in names for size in range(_MIN_NICKNAME_LETTERS, len(name))}
    reader = StatementReader(names, names | nicknames)
    # systems and texts without a role talk only by a name, and a tool's name is no one's
    talkers = (
        one for one in ordered if one.role not in ("tool", *INSTRUCTING_ROLES, "") or (one.name and one.role != "tool")
    )
    speakers = list(dict.fromkeys(one.speaker for one in talkers))
    for message in ordered:
        reader.read(message, SpeakerTurn(message.speaker, _listener(message, speakers)))
    counts = Counter(word for message in ordered for word in content_words(message.content))
    statements = (_statement(draft, counts, names) for draft in reader.drafts)
    return [made for made in statements if made.parts and not unfit_opening(made.lead, made.body) and not _is_nod(made)]


def unfit_opening(lead: str, body: str) -> str:
    """Return the pronoun or bare yes or no that a statement opens with; "" when it opens well or with a quotation."""
    told = body if lead.endswith(":") or not lead else lead
    first = "" if told.startswith('"') else bare_word(told.split(" ", 1)[0])
    return first if first in lexicon.PRONOUNS | lexicon.YES_WORDS | lexicon.NO_WORDS else ""


def _is_nod(statement: Statement) -> bool:
    """Whether it only keeps the conversation going: a single word such as "noted", or a greeting."""
    is_told = statement.lead.endswith(":") and statement.kind != StatementKind.VERBATIM
    body = statement.body
    return is_told and ((body.isalpha() and body.islower()) or _GREETING.fullmatch(body) is not None)


def _with_speakers(messages: Sequence[StatementMessage]) -> list[StatementMessage]:
    """Speakers written into the text ("Caroline: I ran.") become names; with a role, if two messages have it."""
    written = [_WRITTEN_SPEAKER.match(message.content) if not message.name else None for message in messages]
    counts = Counter(match[1] for match in written if match)
    return [
        replace(message, name=match[1], content=message.content[match.end() :])
        if match and (not message.role or counts[match[1]] > 1) and all(map(is_name, match[1].split(" ")))
        else message
        for message, match in zip(messages, written, strict=True)
    ]


def _listener(message: StatementMessage, talkers: Sequence[str]) -> str:
    """Whom a message speaks to: the other one of two, for the system the assistant; "" for a group."""
    if message.role in INSTRUCTING_ROLES:
        return ASSISTANT_NAME
    others = [name for name in talkers if name != message.speaker]
    return others[0] if len(talkers) == 2 and len(others) == 1 else ""


def _statement(draft: StatementDraft, counts: Counter[str], names: Collection[str]) -> Statement:
    opening, listener = draft.opening, draft.talk.listener
    texts = ((tokens, " ".join(tokens)) for tokens in draft.parts)
    if not draft.is_verbatim:
        texts = ((tokens, join_tokens(tokens).replace(GLUE, " ")) for tokens in draft.parts)
    parts = tuple(StatementPart(text, word_weights(tokens, counts, names)) for tokens, text in texts if text)
    kind = StatementKind.VERBATIM
    if not draft.is_verbatim:
        kind = _kind(" ".join((opening.lead, *(part.text for part in parts))))
    factor = KIND_FACTORS.get(kind, 1.0)
    if listener not in _PARTIES and opening.subject == listener:
        factor *= LISTENER_FACTOR
    if opening.lead.endswith(":") and not opening.of_speaker:
        factor *= TOLD_FACTOR
    stated_on = draft.message.stated_on
    return Statement(opening.subject, opening.lead, parts, draft.message_ids, kind, stated_on, factor)


def _kind(text: str) -> StatementKind:
    for kind, pattern in _KINDS:
        if pattern.search(text):
            return kind
    verbs = text.lower().split(" ")[1:_VERB_REACH_WORDS]
    return StatementKind.EVENT if RESOLVED_DATE.search(text) or any(map(is_past, verbs)) else StatementKind.FACT
