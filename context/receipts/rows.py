"""Blocks, omissions and candidates as short rows of a receipt: lists without names and without texts.

Most blocks and omissions are candidates, so their rows only point to the candidate's; and all candidates are one
deflated JSON text, column by column, which the database neither has to parse nor to compress, nor is ever asked about.
That is less than a quarter of the size of rows that each say everything, and less than half the time to write
(ADR-0063).
"""

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from context.receipts.results import KEPT, MEMORY, Anchor, Block, CandidateOutcome, Exclusion

#: The parts that every score has, in the order they are stored in; a scoring profile's own ones follow them.
SCORE_PARTS = ("relevance", "recency", "usefulness", "confidence", "frequency")

#: Length of a candidate's row in receipts of the first version, which nest the parts and name the anchor's type.
FIRST_CANDIDATE_COLUMNS = 11

#: What deflated candidates call themselves where they are stored by column, and the names of a profile's own parts.
_COLUMNS = "columns"
MORE_PARTS = "more_parts"

_Row = list[Any]

_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)


@dataclass(frozen=True)
class ReceiptColumns:
    """The columns of a receipt that tell what was considered."""

    blocks: list[_Row]
    omitted: list[_Row]
    candidates: str | list[_Row]


@dataclass(frozen=True)
class ReceiptContents:
    """The same as shapes; blocks without their texts."""

    blocks: list[Block]
    omitted: list[Exclusion]
    candidates: list[CandidateOutcome]


def encode_receipt(
    blocks: Sequence[Block], omitted: Sequence[Exclusion], candidates: Sequence[CandidateOutcome]
) -> ReceiptColumns:
    """What is stored; `blocks` in the order of the text, `position` being their place."""
    places = {_identity(one.anchor, one.outcome, one.score): place for place, one in enumerate(candidates)}
    standing = {one.anchor: place for place, one in enumerate(blocks)}
    return ReceiptColumns(
        [_packed_block(one, places) for one in blocks],
        [_packed_omission(one, places, candidates, standing) for one in omitted],
        _deflated(candidates),
    )


def decode_receipt(packed: ReceiptColumns) -> ReceiptContents:
    """What was packed. Receipts of the first version hold whole rows in every column; they are read as well."""
    stored = packed.candidates
    candidates = _inflated(stored) if isinstance(stored, str) else [decode_candidate(row) for row in stored]
    blocks = [_unpacked_block(row, place, candidates) for place, row in enumerate(packed.blocks)]
    return ReceiptContents(blocks, [_unpacked_omission(row, candidates, blocks) for row in packed.omitted], candidates)


def _deflated(candidates: Sequence[CandidateOutcome]) -> str:
    names = _part_names(candidates)
    parts_of = itemgetter(*names)
    rows = [encode_candidate(one, parts_of) for one in candidates]
    stored: dict[str, Any] = {_COLUMNS: list(zip(*rows, strict=True))}
    if len(names) > len(SCORE_PARTS):
        stored[MORE_PARTS] = names[len(SCORE_PARTS) :]
    return base64.b64encode(zlib.compress(_ENCODER.encode(stored).encode(), 1)).decode()


def _part_names(candidates: Sequence[CandidateOutcome]) -> tuple[str, ...]:
    """The parts of all these scores, which one profile gave."""
    return tuple(candidates[0].score_breakdown) if candidates else SCORE_PARTS


def _inflated(stored: str) -> list[CandidateOutcome]:
    """What was deflated, and the rows that the first ones deflated were."""
    found = json.loads(zlib.decompress(base64.b64decode(stored)))
    if isinstance(found, list):
        return [decode_candidate(row) for row in found]
    names = (*SCORE_PARTS, *found.get(MORE_PARTS, ()))
    return [decode_candidate(list(row), names) for row in zip(*found[_COLUMNS], strict=True)]


def _identity(anchor: Anchor, outcome: str, score: float | None) -> tuple[Any, ...]:
    return anchor.id, outcome, score


def _packed_block(block: Block, places: Mapping[tuple[Any, ...], int]) -> _Row:
    """[kind, candidate], with tokens and cut for a shortened one; a whole row for what was no candidate."""
    place = places.get(_identity(block.anchor, KEPT, block.score))
    if place is None or block.score is None or block.anchor.type != MEMORY:
        return encode_block(block)
    return [block.kind, place] if block.cut is None else [block.kind, place, block.tokens, block.cut]


def _unpacked_block(row: _Row, position: int, candidates: Sequence[CandidateOutcome]) -> Block:
    kind, place, *shortened = row
    if not isinstance(place, int):
        return decode_block(row)
    one = candidates[place]
    tokens, cut = shortened or (one.tokens, None)
    return Block(kind, one.anchor, "", tokens, position, one.score, one.score_breakdown, cut)


def _packed_omission(
    omission: Exclusion,
    places: Mapping[tuple[Any, ...], int],
    candidates: Sequence[CandidateOutcome],
    standing: Mapping[Anchor, int],
) -> _Row:
    """[candidate], with the tokens that are missing or, after null, the block that says the same, where there are any.

    A whole row for what was no candidate.
    """
    place = places.get(_identity(omission.anchor, omission.reason, omission.score))
    if place is None or candidates[place].tokens != omission.tokens:
        return encode_omission(omission)
    twin = None if omission.twin is None else standing.get(omission.twin)
    if twin is not None:
        return [place, omission.tokens_missing, twin]
    return [place] if omission.tokens_missing is None else [place, omission.tokens_missing]


def _unpacked_omission(row: _Row, candidates: Sequence[CandidateOutcome], blocks: Sequence[Block]) -> Exclusion:
    place, *more = row
    if not isinstance(place, int):
        return decode_omission(row)
    one = candidates[place]
    missing, twin = [*more, None, None][:2]
    anchor = None if twin is None else blocks[twin].anchor
    return Exclusion(one.anchor, one.outcome, one.tokens, one.score, missing, anchor)


def _anchor_row(anchor: Anchor) -> _Row:
    return [anchor.type, anchor.id, anchor.version]


def _part_row(breakdown: Mapping[str, float] | None) -> _Row | dict[str, float] | None:
    """The values of the five parts; with their names where a profile has parts of its own."""
    if breakdown is None:
        return None
    return list(breakdown.values()) if tuple(breakdown) == SCORE_PARTS else dict(breakdown)


def _parts(row: _Row | dict[str, float] | None) -> dict[str, float] | None:
    return dict(zip(SCORE_PARTS, row, strict=True)) if isinstance(row, list) else row


def encode_block(block: Block) -> _Row:
    """As it is stored; of a shortened text only the place of the cut."""
    parts = _part_row(block.score_breakdown)
    return [block.kind, *_anchor_row(block.anchor), block.tokens, block.position, block.cut, block.score, parts]


def decode_block(row: _Row) -> Block:
    """The block of a row, without its text."""
    kind, type_, id_, version, tokens, position, cut, score, parts = row
    # receipts of the first version say `false` where nothing was cut
    cut = None if cut is False else cut
    return Block(kind, Anchor(type_, id_, version), "", tokens, position, score, _parts(parts), cut)


def encode_omission(omission: Exclusion) -> _Row:
    """As it is stored."""
    return [
        *_anchor_row(omission.anchor),
        omission.reason,
        omission.tokens,
        omission.score,
        omission.tokens_missing,
    ]


def decode_omission(row: _Row) -> Exclusion:
    """The omission of a row."""
    type_, id_, version, reason, tokens, score, missing = row
    return Exclusion(Anchor(type_, id_, version), reason, tokens, score, missing)


def encode_candidate(candidate: CandidateOutcome, parts_of: Callable[[Mapping[str, float]], Iterable[float]]) -> _Row:
    """As it is stored, `parts_of` giving the parts of its score in their order. All candidates are memories."""
    anchor = candidate.anchor
    return [
        anchor.id,
        anchor.version,
        candidate.tokens,
        1 if candidate.pinned else 0,
        candidate.score,
        *parts_of(candidate.score_breakdown),
        candidate.vector_rank,
        candidate.text_rank,
        candidate.fused_score,
        candidate.outcome,
    ]


def decode_candidate(row: _Row, names: Sequence[str] = SCORE_PARTS) -> CandidateOutcome:
    """The candidate of a row whose parts have these names."""
    if len(row) == FIRST_CANDIDATE_COLUMNS:
        _, id_, version, tokens, pinned, score, parts, vector_rank, text_rank, fused, outcome = row
    else:
        id_, version, tokens, pinned, score, *parts, vector_rank, text_rank, fused, outcome = row
    return CandidateOutcome(
        anchor=Anchor(MEMORY, id_, version),
        tokens=tokens,
        pinned=bool(pinned),
        score=score,
        score_breakdown=dict(zip(names, parts, strict=True)),
        vector_rank=vector_rank,
        text_rank=text_rank,
        fused_score=fused,
        outcome=outcome,
    )
