"""Read a statement as a fact."""

import re
from collections.abc import Sequence

from memories.services.hygiene.replacement.facts import Fact
from memories.services.hygiene.replacement.tokens import read_tokens
from memories.services.hygiene.replacement.vocabulary import ATTRIBUTE_WORDS
from memories.services.hygiene.statements import read_words
from memories.services.hygiene.statements.vocabulary import LANGUAGES, LanguageVocabulary
from memories.services.hygiene.statements.words import Word
from memories.services.text_cache import cached_texts

#: Maximum characters and words of a statement; a longer one replaces nothing.
CHARACTERS_MAX, WORDS_MAX = 600, 80
#: Maximum facts in the cache.
FACTS_CACHED = 512

#: "Ann:" or "[3 May] Ann Bell:" before a statement.
_SPEAKER = re.compile(r"\s*(?:[\[(][^\])]{1,40}[\])]\s*)?([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}):\s+(?=\S)")
#: "Wifi password: heron" names an attribute, not a speaker.
_LABELS = ("now", "attributes", "generic")
_QUOTE = re.compile(r"[\"“„«]\s*\S+(?:\s+\S+){2,}\s*[\"”“»]|(?:^|\s)['‘]\S+(?:\s+\S+){2,}['’]|^\s*>", re.MULTILINE)


@cached_texts(FACTS_CACHED, longest=CHARACTERS_MAX)
def read_fact(text: str, language: LanguageVocabulary | None = None) -> Fact | None:
    """Return the fact that a text states; None for a text that is too long or of an unknown language."""
    if len(text) > CHARACTERS_MAX:
        return None
    speaker, text = _split_speaker(text)
    words, language, is_unsure = read_words(text, language)
    if is_unsure and (likely := _likely_language(words)) is not language:
        words, language, _ = read_words(text, likely)
    name = next((name for name, each in LANGUAGES.items() if each is language), "")
    vocabulary = ATTRIBUTE_WORDS.get(name)
    if vocabulary is None or not 0 < len(words) <= WORDS_MAX:
        return None
    is_question = any(word.text == "?" for word in words)
    words = [word for word in words if word.text != "?"]
    is_quote, tokens = bool(_QUOTE.search(text)), read_tokens(words, language, vocabulary)
    return Fact(speaker, language, vocabulary, tokens, is_question, is_quote=is_quote)


def _likely_language(words: Sequence[Word]) -> LanguageVocabulary:
    """Return the language of which the vocabulary has the most words, English for none."""
    texts = {word.text for word in words}
    counts = {name: len(texts & each.known_words) for name, each in ATTRIBUTE_WORDS.items()}
    return LANGUAGES[max(counts, key=lambda name: counts[name])]


def _split_speaker(text: str) -> tuple[str, str]:
    found = _SPEAKER.match(text)
    if found is None or not all(part[:1].isupper() for part in found[1].split()):
        return "", text
    parts = found[1].casefold().split()
    if any(part in words.cues[cue] for words in ATTRIBUTE_WORDS.values() for cue in _LABELS for part in parts):
        return "", text
    return found[1].casefold(), text[found.end() :]
