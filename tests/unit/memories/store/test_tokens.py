"""Exact token counts use only the shipped tables."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services import tokens

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
def test_shipped_table_is_byte_exact(encoding):
    tokens.check_table(encoding)


@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
def test_our_hash_is_the_one_tiktoken_expects(encoding):
    # tiktoken loads only a table whose hash it knows; ours loading without a socket says that both agree.
    assert tokens.load_encoding(encoding).name == encoding


def test_missing_table_is_an_error_instead_of_a_download(tmp_path):
    with pytest.raises(tokens.TokenTableError, match="missing"):
        tokens.check_table("o200k_base", tmp_path)


def test_changed_table_is_an_error_and_is_not_deleted(tmp_path):
    name, _ = tokens.TABLES["cl100k_base"]
    changed = tmp_path / name
    shutil.copyfile(tokens.TABLES_FOLDER / name, changed)
    changed.write_bytes(changed.read_bytes()[:-1])
    with pytest.raises(tokens.TokenTableError, match="changed"):
        tokens.check_table("cl100k_base", tmp_path)
    assert changed.exists()


def test_unknown_encoding_is_refused():
    with pytest.raises(ValueError, match="unknown encoding 'p50k_base'"):
        tokens.count_tokens("text", "p50k_base")


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("Alex prefers morning meetings on Tuesdays.", 7, 8),
        ("<|endoftext|>", 7, 7),
        ("Привет, мир", 4, 6),
        ("猫が好きです", 4, 7),
    ],
)
def test_golden_counts(text, o200k, cl100k):
    assert tokens.token_counts(text) == {"o200k_base": o200k, "cl100k_base": cl100k}


def test_text_spelling_a_special_token_is_ordinary_text():
    assert tokens.count_tokens("<|endoftext|>") > 1


@given(st.text())
def test_any_text_can_be_counted(text):
    count = tokens.count_tokens(text)
    assert 0 <= count <= len(text.encode("utf-8", "surrogatepass"))


def test_long_text_counted_in_pieces_is_near_the_whole():
    text = "The quick brown fox jumps over the lazy dog. " * 5_000
    whole = len(tokens.load_encoding("o200k_base").encode_ordinary(text))
    pieces = -(-len(text) // tokens.MAX_PIECE_CHARACTERS)
    assert whole <= tokens.count_tokens(text) <= whole + pieces


@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
@pytest.mark.parametrize(
    "line",
    [
        "The quick brown fox.\n",
        "- item\n",
        "+ 12 34\n\n",
        "<memory>x</memory>\n",
        "a,\n  b\n//c\n/d\n",
        '{"t":"\\u0001"},\n',
    ],
)
def test_long_text_cut_at_the_ends_of_its_lines_is_counted_exactly(line, encoding, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_PIECE_CHARACTERS", 50)
    for shift in range(30):
        text = "x" * shift + line * 30
        assert tokens.count_tokens(text, encoding) == len(tokens.load_encoding(encoding).encode_ordinary(text))


def test_one_long_line_within_a_long_text_is_counted_exactly():
    text = "\n".join(["y " * 40_000, "\\u0001" * 32_768, "z " * 40_000])
    assert tokens.count_tokens(text) == len(tokens.load_encoding("o200k_base").encode_ordinary(text))


def test_counting_works_with_every_socket_blocked():
    program = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise OSError('blocked')\n"
        "socket.socket = refuse\n"
        "from memories.services.tokens import token_counts\n"
        "print(token_counts('hello world'))\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "{'o200k_base': 2, 'cl100k_base': 2}"


_WORDS = st.sampled_from(
    ["the", "cat", "Ünïcode", "don't", "2026", "中文", "'S", "\u0301", "a/b", "end.", "\n", "  ", "-", "x²"]
)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)
_JOINTS = st.sampled_from(["\n- ", "\n", " ", "x", ", ", "</m>"])


@pytest.mark.parametrize("encoding", tokens.ENCODINGS)
@given(parts=st.lists(st.tuples(_JOINTS, _TEXTS, st.booleans()), max_size=5), end=_JOINTS)
def test_tokens_around_known_texts_are_those_of_the_whole(encoding, parts, end):
    text = "".join(joint + (part.upper() if is_changed else part) for joint, part, is_changed in parts) + end
    known = [(part, tokens.count_tokens(part, encoding)) for _, part, _ in parts]
    assert tokens.count_tokens_around(text, known, encoding) == tokens.count_tokens(text, encoding)
