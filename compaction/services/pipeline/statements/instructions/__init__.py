"""Rate each sentence of a message as no, a possible or a certain instruction to the assistant (ADR-0351).

The evidence is a role marker, an address (to any program that reads the text, to the assistant, an order to ignore its
rules, or new rules) or a request (for a permanent behaviour, or to store, hide or pass on something). The cues are in
data files, one per language. Text from others (tool rows, quotations, code) is certain with two kinds of evidence, one
of them a marker or an address. A speaker's own words are certain only with a marker and an address that is unusual in
them: to any program, or an order to ignore the rules.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path

from compaction.services.pipeline.statements.languages import CUE_LANGUAGES
from compaction.services.pipeline.statements.sentences import SentenceRole, SourceSentence
from compaction.services.sessions.drafts import TOOL_ROLE

#: The evidence of this many sentences before a sentence counts for it too: a request often follows its addressee.
SENTENCES_BEFORE = 2
#: Minimum and maximum characters of a quotation in single quotation marks or brackets.
QUOTATION_CHARACTERS_MIN, QUOTATION_CHARACTERS_MAX = 12, 600

_NOT_OWN = frozenset({SentenceRole.QUOTE, SentenceRole.CODE, SentenceRole.TABLE})
_PART = re.compile(r"<([a-z]+)>")
_ROLES = "system|assistant|user|human|sistema|asistente|usuario|assistent|nutzer"
#: Marks of a chat template, a role or a section, with which a text imitates a part of the conversation itself.
_MARKER = re.compile(
    r"<\|[\w ]{2,20}\|>|<</?SYS>>|</(?i:conversation|system|instructions?|transcript|history|chat)>"
    rf"|\{{\{{\s?[#/]?(?i:{_ROLES})|\[/?(?i:inst|sys|{_ROLES})\]"
    rf"|#{{2,4}} ?(?i:instructions?|response|anweisung|instrucción|{_ROLES})\b"
    r"|(?<![\w.])(?:SYSTEM|SISTEMA|ASSISTANT): "
    rf"|[\"'“„«‘‚(]\s?(?i:{_ROLES}):\s"
    r"|(?<![\w\"] )(?<![\w\".])(?:assistant|[Aa]sistente|[Aa]ssistent): "
    r"|\b(?:BEGIN|END|START|FIN|ENDE)\b[A-Z ]{1,20}\b(?:MEMORY|INSTRUCTIONS?|PROMPT|CONVERSATION|TRANSCRIPT|SYSTEM"
    r"|DOCUMENT|HISTORIAL|CONVERSACIÓN|DOCUMENTO|GESPRÄCHS?)\b"
    r"|\"[\w-]{0,20}(?:llm|assistant|agent|prompt|ai)_(?:directive|instruction|note|message|hint)s?\""
)
#: A quotation in any marks, or a long text in brackets.
_QUOTATION = re.compile(
    rf"(?<!\w)['‘‚\"“„«](?=\W?\w)[^\n]{{{QUOTATION_CHARACTERS_MIN},{QUOTATION_CHARACTERS_MAX}}}?[.!?*\w)]['’‘\"”“»](?!\w)"
    rf"|\([^()\n]{{{QUOTATION_CHARACTERS_MIN},{QUOTATION_CHARACTERS_MAX}}}\)"
)


class InstructionStrength(IntEnum):
    """How strong the evidence is that a sentence instructs the assistant."""

    NONE = 0
    POSSIBLE = 1
    CERTAIN = 2


class Evidence(StrEnum):
    """A kind of evidence; all but a marker have cues in the data files.

    `ADDRESSED` text is for any program that reads it. `MENTIONED`: it addresses the assistant or says what a program
    must do, which is ordinary in the own words of people who use or build one. `OVERRIDING`: an order to ignore the
    assistant's own, all or all earlier rules. `CHANGING`: rules or a role change, as people also say to each other.
    """

    MARKER = "marker"
    ADDRESSED = "addressed"
    MENTIONED = "mentioned"
    OVERRIDING = "overriding"
    CHANGING = "changing"
    STANDING = "standing"
    STORING = "storing"


#: What is requested; the other kinds say who is addressed, and two of them are unusual in own words.
_REQUESTS = frozenset({Evidence.STANDING, Evidence.STORING})
_UNUSUAL_IN_OWN_WORDS = frozenset({Evidence.ADDRESSED, Evidence.OVERRIDING})
#: A kind and a weaker one that mostly matches the same words.
_SAME_WORDS = ((Evidence.ADDRESSED, Evidence.MENTIONED), (Evidence.OVERRIDING, Evidence.CHANGING))


def instruction_strengths(
    sentences: Sequence[SourceSentence], content: str, role: str
) -> Sequence[InstructionStrength]:
    """Return the strength for each sentence of a message: the highest in its paragraph.

    A speaker's own sentence beside a quotation with certain evidence is only possible.
    """
    none = InstructionStrength.NONE
    if not sentences or not has_instructions(content):
        return [none] * len(sentences)
    own = _own_words(sentences, content, role)
    evidence = _evidence(sentences, content)
    highest: dict[tuple[int, bool], InstructionStrength] = {}
    for number, (sentence, is_own) in enumerate(zip(sentences, own, strict=True)):
        near = range(max(number - SENTENCES_BEFORE, 0), number + 1)
        found = set[Evidence]().union(*(evidence[one] for one in near if own[one] == is_own))
        key = (sentence.paragraph, is_own)
        highest[key] = max(highest.get(key, none), strength_of(found, is_own=is_own))
    for (paragraph, is_own), strength in list(highest.items()):
        if is_own:
            quoted = highest.get((paragraph, False), none)
            highest[paragraph, True] = max(strength, min(quoted, InstructionStrength.POSSIBLE))
    return [highest[sentence.paragraph, is_own] for sentence, is_own in zip(sentences, own, strict=True)]


def has_instructions(text: str) -> bool:
    """Return whether a text from others with this evidence would contain at least a possible instruction."""
    return strength_of(_cues(text) | _markers(text), is_own=False) != InstructionStrength.NONE


def strength_of(evidence: Collection[Evidence], *, is_own: bool) -> InstructionStrength:
    """Return the strength of the evidence in a speaker's own words or in another's text."""
    found = frozenset(evidence)
    found -= {weaker for kind, weaker in _SAME_WORDS if kind in found}
    has_two = len(found) > 1
    if is_own:
        is_unusual = bool(found & _UNUSUAL_IN_OWN_WORDS)
        has_marker = has_two and Evidence.MARKER in found
        is_certain, is_possible = is_unusual and has_marker, is_unusual or has_marker
    else:
        is_addressed = bool(found - _REQUESTS)
        is_certain, is_possible = is_addressed and has_two, is_addressed or has_two
    if is_certain:
        return InstructionStrength.CERTAIN
    return InstructionStrength.POSSIBLE if is_possible else InstructionStrength.NONE


def _evidence(sentences: Sequence[SourceSentence], content: str) -> Sequence[set[Evidence]]:
    """The kinds of evidence in each sentence; a marker counts for the sentence that it is in or before."""
    evidence = [_cues(sentence.text) for sentence in sentences]
    ends = [sentence.end for sentence in sentences]
    for found in _MARKER.finditer(content):
        evidence[min(bisect_right(ends, found.start()), len(ends) - 1)].add(Evidence.MARKER)
    return evidence


def _cues(text: str) -> set[Evidence]:
    """The kinds of evidence by the cues of all languages, because a request may be in another language.

    A marker ends the text before it, so that its words count only as a marker.
    """
    lower = _MARKER.sub(". ", text).lower().replace("’", "'")
    return {kind for kind, pattern in _patterns().items() if pattern.search(lower)}


def _markers(text: str) -> set[Evidence]:
    return {Evidence.MARKER} if _MARKER.search(text) else set()


def _own_words(sentences: Sequence[SourceSentence], content: str, role: str) -> Sequence[bool]:
    """Whether each sentence is in the speaker's own words."""
    quotations = [found.span() for found in _QUOTATION.finditer(content) if _is_quoted(found[0])]
    ends = [end for _, end in quotations]

    def is_own(sentence: SourceSentence) -> bool:
        if role == TOOL_ROLE or sentence.role in _NOT_OWN:
            return False
        place = bisect_right(ends, sentence.start)
        return place == len(ends) or quotations[place][0] >= sentence.end

    return list(map(is_own, sentences))


def _is_quoted(text: str) -> bool:
    """Whether a match is a quotation: in brackets, only with certain cues, because people write remarks in them."""
    return text[0] != "(" or strength_of(_cues(text), is_own=False) == InstructionStrength.CERTAIN


@cache
def _patterns() -> Mapping[Evidence, re.Pattern[str]]:
    cues: dict[Evidence, list[str]] = {kind: [] for kind in Evidence if kind != Evidence.MARKER}
    for name in CUE_LANGUAGES:
        given = json.loads(Path(__file__).with_name(f"{name}.json").read_text("utf-8"))
        for kind, listed in cues.items():
            listed += [_PART.sub(lambda part: given["parts"][part[1]], cue) for cue in given[kind]]  # noqa: B023
    return {kind: re.compile(rf"(?<!\w)(?:{'|'.join(listed)})(?!\w)") for kind, listed in cues.items()}
