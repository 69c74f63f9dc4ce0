"""From a message's text to sentences: quotes and spaces made plain, code and other languages told from English."""

import re
from collections.abc import Iterator
from itertools import pairwise

from compaction.services.pipeline.statements.lexicon import FOREIGN_WORDS, STATEMENT_STOP_WORDS
from compaction.services.pipeline.statements.words import bare_word

#: Longer runs without an end of sentence are cut into pieces of this many characters.
MAX_SENTENCE_CHARACTERS = 600
#: English prose has at least this share of plain letters, digits, spaces and everyday punctuation.
MIN_PLAIN_SHARE = 0.8
#: So much of a line is looked at to tell what it is.
SAMPLE_CHARACTERS = 2000

_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "\u00a0": " ", "–": "-", "—": " - ", "\x00": " "}
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6}|>)\s+")
_SYMBOLS = re.compile(" ?[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
#: Marks around words; between two letters or digits they hold no word together that was two before.
_BOLD = re.compile(r"(?<!\w)(?:\*\*|__)|(?:\*\*|__)(?!\w)")
_DASHES = re.compile(r"--+")
_SPACES = re.compile(r"\s+")
_END = re.compile(r"""(?<=[.!?])["')\]]*\s+(?=["'(\[]?[A-Z0-9])|(?<=[!?])\s+""")
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|approx|No|Inc|Ltd|Co)|\b[A-Z])\.$")
#: So far before its end a sentence is searched for an abbreviation: the longest with what precedes it.
_ABBREVIATION_CHARACTERS = 10
_CODE = re.compile(
    r"[{};]\s*$|^\s*(?:[\]})<@$]|def |class |import |from \w+ import|return\b|function |const |let \w+ =|var |SELECT )"
    r"|\w\((?!s\))[^()]*\)\s*(?::|$)|^\s*\S+\s*=\s*\S+|^\s*\"?\w+\"?\s*:\s*[\[{\"]|^\s*at \S+\(|\|.*\|"
    r"|^\d{4}-\d\d-\d\d[T ]\d\d:|^\[?(?:ERROR|WARN|INFO|DEBUG)"
)


def prose_lines(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the lines of `text` with a word, each with whether it reads as English prose."""
    in_fence = False
    for line in text.translate(_PLAIN).split("\n"):
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
            continue
        is_code = in_fence or bool(_CODE.search(line[:SAMPLE_CHARACTERS]))
        plain = _SPACES.sub(" ", line).strip()
        if not is_code:
            plain = _BOLD.sub("", _SYMBOLS.sub(". ", _BULLET.sub("", plain)))
            plain = _SPACES.sub(" ", _DASHES.sub(" - ", plain)).strip()
        if any(character.isalnum() for character in plain):
            yield not is_code and is_english(plain), plain


def is_english(text: str) -> bool:
    """Return whether `text` is English prose: plain letters, and as many small words of English as of others."""
    sample = text[:SAMPLE_CHARACTERS]
    plain = sum(character.isascii() and (character.isalnum() or character in " ,.!?'-") for character in sample)
    if plain < MIN_PLAIN_SHARE * len(sample):
        return False
    words = [*map(bare_word, sample.split(" "))]
    return sum(word in FOREIGN_WORDS for word in words) <= sum(word in STATEMENT_STOP_WORDS for word in words)


def split_sentences(line: str) -> list[str]:
    """Return the sentences of one line in order, very long ones in pieces."""
    ends, start = [0], 0
    for match in _END.finditer(line):
        if not _ABBREVIATION.search(line, max(start, match.start() - _ABBREVIATION_CHARACTERS), match.start()):
            start = match.end()
            ends.append(start)
    sentences = (line[start:end].strip() for start, end in pairwise([*ends, len(line)]))
    return [piece for sentence in sentences for piece in split_long_text(sentence, MAX_SENTENCE_CHARACTERS) if piece]


def split_long_text(text: str, size: int) -> Iterator[str]:
    """Yield `text` in pieces of at most `size` characters, cut at spaces where there are any."""
    while len(text) > size:
        cut = text.rfind(" ", 1, size)
        cut = cut if cut > 0 else size
        yield text[:cut].strip()
        text = text[cut:].strip()
    yield text
