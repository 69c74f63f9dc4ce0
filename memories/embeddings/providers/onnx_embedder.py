"""Any sentence encoder in the ONNX format, from files that the operator provides (ADR-0181)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from memories.embeddings.providers import EmbeddingError, EmbeddingVectors, check_vectors, unit_rows

#: Longer texts are cut; sentence encoders are trained with at most this many tokens.
MAX_TOKENS = 256
#: Inputs that an encoder may require, by name.
_TOKENS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"


class OnnxEmbedder:
    """An encoder such as all-MiniLM-L6-v2 (mean of its token vectors) or bge-small (vector of the first token)."""

    batch_size = 32

    def __init__(self, *, model: str, dimension: int, folder: str, pooling: str) -> None:
        self.name, self.dimension, self._pooling = model, dimension, pooling
        try:
            self._tokenizer = Tokenizer.from_file(str(Path(folder, "tokenizer.json")))
            self._session = onnxruntime.InferenceSession(
                str(Path(folder, "model.onnx")), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise their own exception classes
            detail = f"The model {model} cannot be loaded: {folder} must contain model.onnx and tokenizer.json."
            raise EmbeddingError(detail, is_permanent=False) from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        self._inputs = {each.name for each in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        # texts of similar length share a batch, because a batch is padded to its longest text
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), self.batch_size):
            places = order[start : start + self.batch_size]
            made = self._encode([texts[place] for place in places])
            vectors[places] = check_vectors(self, made, len(places))
        return unit_rows(vectors)

    def _encode(self, texts: list[str]) -> EmbeddingVectors:
        encoded = self._tokenizer.encode_batch(texts)
        tokens = np.array([each.ids for each in encoded], dtype=np.int64)
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        if not tokens.shape[1]:
            return np.zeros((len(texts), self.dimension), dtype=np.float32)
        given = {_TOKENS: tokens, _MASK: mask, _TYPES: np.zeros_like(tokens)}
        (states, *_) = self._session.run(None, {name: given[name] for name in self._inputs})
        if self._pooling == "first":
            first: EmbeddingVectors = states[:, 0]
            return first
        mean: EmbeddingVectors = (states * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)[:, None]
        return mean
