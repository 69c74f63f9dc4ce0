"""Superseded memories: candidates that another one replaces at the time that a query is about (ADR-0119)."""

from context.services.assembly.superseded.ranking import put_superseded_behind
from context.services.assembly.superseded.rivals import Rivals, find_rivals

__all__ = ["Rivals", "find_rivals", "put_superseded_behind"]
