"""Errors with a stable code; entry points translate them, `tenancy.api.problems` maps them to problem+json once."""

from collections.abc import Sequence

from memories.services.store.drafts import FieldProblem


class PlatformError(Exception):
    """An error that the caller can correct: `code` for programs, `detail` for people, `field` if one caused it.

    `retry_after` is the number of seconds after which the same request may succeed, 0 if it never will.
    """

    status = 400

    def __init__(
        self, code: str, detail: str, field: str = "", problems: Sequence[FieldProblem] = (), *, retry_after: int = 0
    ) -> None:
        super().__init__(detail)
        self.retry_after = retry_after
        self.code = code
        self.detail = detail
        self.field = field
        self.problems = tuple(problems) or (FieldProblem(field, code, detail),)


class InvalidInput(PlatformError):
    """An invalid value; `problems` has one entry per field."""


class Forbidden(PlatformError):
    """The credential does not permit the request."""

    status = 403


class NotFound(PlatformError):
    """The row is absent or belongs to another tenant."""

    status = 404


class Conflict(PlatformError):
    """The state of the row does not permit the action, e.g. code `duplicate`."""

    status = 409


class StaleVersion(PlatformError):
    """The caller edited an older version than the current one."""

    status = 412


def invalid(problems: Sequence[FieldProblem]) -> InvalidInput:
    """Return one error for all `problems` (at least one) of a row, with the first one's code and field."""
    first = problems[0]
    return InvalidInput(first.code, first.detail, first.field, problems)
