"""Blocks, omissions and candidates as short rows of a receipt: lists without names and without texts."""

from collections.abc import Mapping
from typing import Any

from context.results import Anchor, Block, Consideration, Omission

SCORE_PARTS = ("relevance", "recency", "usefulness", "confidence", "frequency")

Row = list[Any]


def _anchor_row(anchor: Anchor) -> Row:
    return [anchor.type, anchor.id, anchor.version]


def _part_row(breakdown: Mapping[str, float] | None) -> Row | None:
    return None if breakdown is None else [breakdown[name] for name in SCORE_PARTS]


def _parts(row: Row | None) -> dict[str, float] | None:
    return None if row is None else dict(zip(SCORE_PARTS, row, strict=True))


def block_row(block: Block) -> Row:
    """As it is stored; of a shortened text only the place of the cut."""
    parts = _part_row(block.score_breakdown)
    return [block.kind, *_anchor_row(block.anchor), block.tokens, block.position, block.cut, block.score, parts]


def block(row: Row) -> Block:
    """The block of a row, without its text."""
    kind, type_, id_, version, tokens, position, cut, score, parts = row
    # receipts of the first version say `false` where nothing was cut
    cut = None if cut is False else cut
    return Block(kind, Anchor(type_, id_, version), "", tokens, position, score, _parts(parts), cut)


def omission_row(omission: Omission) -> Row:
    """As it is stored."""
    return [
        *_anchor_row(omission.anchor),
        omission.reason,
        omission.tokens,
        omission.score,
        omission.tokens_missing,
    ]


def omission(row: Row) -> Omission:
    """The omission of a row."""
    type_, id_, version, reason, tokens, score, missing = row
    return Omission(Anchor(type_, id_, version), reason, tokens, score, missing)


def candidate_row(candidate: Consideration) -> Row:
    """As it is stored."""
    return [
        *_anchor_row(candidate.anchor),
        candidate.tokens,
        int(candidate.pinned),
        candidate.score,
        _part_row(candidate.score_breakdown),
        candidate.vector_rank,
        candidate.text_rank,
        candidate.fused_score,
        candidate.outcome,
    ]


def candidate(row: Row) -> Consideration:
    """The candidate of a row."""
    type_, id_, version, tokens, is_pinned, score, parts, vector_rank, text_rank, fused, outcome = row
    return Consideration(
        anchor=Anchor(type_, id_, version),
        tokens=tokens,
        pinned=bool(is_pinned),
        score=score,
        score_breakdown=_parts(parts) or {},
        vector_rank=vector_rank,
        text_rank=text_rank,
        fused_score=fused,
        outcome=outcome,
    )
