r"""Characters that people cannot see but models read: controls, bidirectional overrides, zero-width and tag characters.

They can hide instructions from a reader (ADR-0112). Rendered text shows each as its code point, such as `[U+202E]`.
"""

import re

#: Tab, line feed and the carriage return of a CRLF are not hidden characters.
_ALWAYS = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
#: Kana and CJK punctuation, which are between these ranges, join with nothing.
_EMOJI = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55\u3030"
    r"\u303d\u3297\u3299\U0001f000-\U0001faff"
)
#: Arabic, Syriac, the scripts of India and South-East Asia: in these, a joiner between letters changes how they look.
_JOINING = r"\u0600-\u077f\u08a0-\u109f\u1780-\u17ff"
_JOINER = r"[\u200c\u200d]"
HIDDEN = (
    rf"(?:[{_ALWAYS}]|\r(?!\n)"
    rf"|(?<![{_JOINING}{_EMOJI}\ufe0f]){_JOINER}|{_JOINER}(?![{_JOINING}{_EMOJI}])"
    rf"|(?<![#*0-9{_EMOJI}])[\ufe0e\ufe0f]"
    r"|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
    r"|(?<![\u1820-\u18aa])[\u180b-\u180f])"
)
HIDDEN_CHARACTER = re.compile(HIDDEN)
#: Every hidden character is one of these; a single class is searched ten times as fast.
_CANDIDATE = re.compile(rf"[{_ALWAYS}\r\u200c\u200d\ufe0e\ufe0f\u180b-\u180f\U000e0100-\U000e01ef]")
_CODE_POINT = r"\[U\+[0-9A-F]{4,6}\]"
# A run of backslashes is read once, from its beginning: reading it again from each of them takes quadratic time.
_HIDDEN_OR_CODE_POINT = re.compile(rf"(?<!\\)(\\*+)(?:({HIDDEN})|({_CODE_POINT}))")


def code_point(character: str) -> str:
    """Return the name of a character in Unicode's notation: U+202E."""
    return f"U+{ord(character):04X}"


def has_hidden(text: str) -> bool:
    """Whether the text contains a hidden character."""
    return _CANDIDATE.search(text) is not None and HIDDEN_CHARACTER.search(text) is not None


def show_hidden(text: str) -> str:
    r"""Return the text with each hidden character as `[U+202E]`, so that exactly one text is shown in this way.

    Backslashes before such a mark are doubled; one more precedes a mark that is in the text itself.
    """
    # most texts are plain; a check of each character takes ten times as long
    is_plain = text.isascii() and text.isprintable()
    if (is_plain or _CANDIDATE.search(text) is None) and "[U+" not in text:
        return text
    return _HIDDEN_OR_CODE_POINT.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    backslashes, hidden, written = match.groups()
    return backslashes * 2 + (f"[{code_point(hidden)}]" if hidden else f"\\{written}")
