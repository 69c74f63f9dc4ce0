"""Blocks, exclusions and candidates as short rows of a receipt, without names and texts (ADR-0063).

Most blocks and exclusions are candidates, so their rows only refer to the candidate's row. All candidates are one
deflated JSON text, column by column, which the database neither parses nor compresses. That is less than a quarter of
the size of rows that repeat everything, and less than half the time to write.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from context.receipts.results import KEPT, MEMORY, Anchor, Block, CandidateOutcome, Exclusion
from context.services.profiles.scoring_profiles import BASE_PARTS

#: Keys of the stored candidates: their columns, the names of a profile's own components, and successors by place.
_COLUMNS, _MORE_PARTS, _SUCCESSORS = "columns", "more_parts", "successors"

_Row = list[Any]
_Identity = tuple[str, str, float | None]


@dataclass(frozen=True)
class ReceiptContents:
    """What a receipt contains; blocks without their texts."""

    blocks: list[Block]
    omitted: list[Exclusion]
    candidates: list[CandidateOutcome]


def encode_receipt(contents: ReceiptContents) -> dict[str, Any]:
    """Return the columns to store; blocks are in the order of the text, `position` being their place."""
    candidates = contents.candidates
    candidate_places: dict[_Identity, int] = {
        (one.anchor.id, one.outcome, one.score): place for place, one in enumerate(candidates)
    }
    has_twins = any(one.twin is not None for one in contents.omitted)
    block_places = {one.anchor: place for place, one in enumerate(contents.blocks)} if has_twins else {}
    return {
        "blocks": [_block_row(one, candidate_places) for one in contents.blocks],
        "omitted": [_exclusion_row(one, candidate_places, candidates, block_places) for one in contents.omitted],
        "candidates": _deflated(candidates),
    }


def decode_receipt(blocks: Sequence[_Row], omitted: Sequence[_Row], candidates: str) -> ReceiptContents:
    """Return the contents of stored columns."""
    known = _inflated(candidates)
    decoded = [_block(row, position, known) for position, row in enumerate(blocks)]
    return ReceiptContents(decoded, [_exclusion(row, known, decoded) for row in omitted], known)


def candidate_outcome(candidates: str, memory_id: str) -> str | None:
    """Return the outcome of a memory in the stored candidates of a receipt; None if it was not a candidate."""
    columns = _columns(candidates)[_COLUMNS]
    if not columns or memory_id not in columns[0]:
        return None
    return str(columns[-1][columns[0].index(memory_id)])


def _columns(stored: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(stored)))
    return found


def _deflated(candidates: Sequence[CandidateOutcome]) -> str:
    names = tuple(candidates[0].score_breakdown) if candidates else BASE_PARTS  # one profile scores all of them
    parts_of = itemgetter(*names)
    rows = [
        (
            one.anchor.id,
            one.anchor.version,
            one.tokens,
            int(one.pinned),
            one.score,
            *parts_of(one.score_breakdown),
            one.vector_rank,
            one.text_rank,
            one.fused_score,
            one.outcome,
        )
        for one in candidates
    ]
    stored: dict[str, Any] = {_COLUMNS: list(zip(*rows, strict=True))}
    if len(names) > len(BASE_PARTS):
        stored[_MORE_PARTS] = names[len(BASE_PARTS) :]
    if successors := {str(place): one.superseded_by for place, one in enumerate(candidates) if one.superseded_by}:
        stored[_SUCCESSORS] = successors
    return base64.b64encode(zlib.compress(orjson.dumps(stored), 1)).decode()


def _inflated(stored: str) -> list[CandidateOutcome]:
    found = _columns(stored)
    names = (*BASE_PARTS, *found.get(_MORE_PARTS, ()))
    successors = found.get(_SUCCESSORS, {})
    read = []
    for place, row in enumerate(zip(*found[_COLUMNS], strict=True)):
        id_, version, tokens, pinned, score, *parts = row[:-4]
        vector_rank, text_rank, fused_score, outcome = row[-4:]
        read.append(
            CandidateOutcome(
                Anchor(MEMORY, id_, version),
                tokens,
                bool(pinned),
                score,
                dict(zip(names, parts, strict=True)),
                vector_rank,
                text_rank,
                fused_score,
                outcome,
                successors.get(str(place)),
            )
        )
    return read


def _block_row(block: Block, places: Mapping[_Identity, int]) -> _Row:
    """Return [kind, candidate], with tokens and cut for a shortened one; a complete row if it was not a candidate."""
    anchor, parts = block.anchor, block.score_breakdown
    place = places.get((anchor.id, KEPT, block.score))
    if place is not None and block.score is not None and anchor.type == MEMORY:
        return [block.kind, place] if block.cut is None else [block.kind, place, block.tokens, block.cut]
    parts = None if parts is None else dict(parts)
    return [block.kind, *anchor, block.tokens, block.position, block.cut, block.score, parts]


def _block(row: _Row, position: int, candidates: Sequence[CandidateOutcome]) -> Block:
    kind, place, *more = row
    if isinstance(place, int):
        one = candidates[place]
        tokens, cut = more or (one.tokens, None)
        return Block(kind, one.anchor, "", tokens, position, one.score, one.score_breakdown, cut)
    id_, version, tokens, position, cut, score, parts = more
    return Block(kind, Anchor(place, id_, version), "", tokens, position, score, parts, cut)


def _exclusion_row(
    omission: Exclusion,
    places: Mapping[_Identity, int],
    candidates: Sequence[CandidateOutcome],
    block_places: Mapping[Anchor, int],
) -> _Row:
    """Return [candidate, missing tokens, near-duplicate block], or a complete row if it was not a candidate."""
    place = places.get((omission.anchor.id, omission.reason, omission.score))
    missing = omission.tokens_missing
    if place is None or candidates[place].tokens != omission.tokens:
        return [*omission.anchor, omission.reason, omission.tokens, omission.score, missing]
    twin = None if omission.twin is None else block_places.get(omission.twin)
    if twin is not None:
        return [place, missing, twin]
    return [place] if missing is None else [place, missing]


def _exclusion(row: _Row, candidates: Sequence[CandidateOutcome], blocks: Sequence[Block]) -> Exclusion:
    if isinstance(row[0], int):
        place, missing, twin = [*row, None, None][:3]
        one = candidates[place]
        anchor = None if twin is None else blocks[twin].anchor
        return Exclusion(one.anchor, one.outcome, one.tokens, one.score, missing, anchor)
    type_, id_, version, *more = row
    return Exclusion(Anchor(type_, id_, version), *more)
