"""A sentence encoder for a few words, as files: each word has a random vector, independent of its context."""

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

ONNX_DIMENSION = 32
_WORDS = (
    "[PAD]",
    "[UNK]",
    "alex",
    "tea",
    "green",
    "prefers",
    "prefer",
    "which",
    "the",
    "gate",
    "printer",
    "is",
    "text",
)
_FLOAT, _INT64 = 1, 7


def write_onnx_encoder(folder: Path) -> None:
    """Write `model.onnx` and `tokenizer.json`."""
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(_WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(3).normal(size=(len(_WORDS), ONNX_DIMENSION)).astype(np.float32)
    table[_WORDS.index("[UNK]")] *= 0.1
    initializer = b"".join(_field(1, size) for size in table.shape)
    initializer += _field(2, _FLOAT) + _field(8, "table") + _field(9, table.tobytes())
    node = _field(1, "table") + _field(1, "input_ids") + _field(2, "last_hidden_state") + _field(4, "Gather")
    graph = _field(1, node) + _field(2, "encoder") + _field(5, initializer)
    graph += _field(11, _value("input_ids", _INT64, "batch", "length"))
    graph += _field(12, _value("last_hidden_state", _FLOAT, "batch", "length", ONNX_DIMENSION))
    model = _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))
    (folder / "model.onnx").write_bytes(model)


def _value(name: str, kind: int, *sizes: str | int) -> bytes:
    shape = b"".join(_field(1, _field(2 if isinstance(size, str) else 1, size)) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return a field of a protocol buffer."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
