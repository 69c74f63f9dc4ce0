"""Errors with a stable code; entry points translate them, `tenancy.api.problems` maps them to problem+json once."""

from collections.abc import Sequence

from memories.services.store.drafts import FieldProblem


class PlatformError(Exception):
    """Something the caller can act on: `code` for programs, `detail` for people, `field` where one is to blame."""

    status = 400

    def __init__(self, code: str, detail: str, field: str = "", status: int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.field = field
        self.status = status or type(self).status
        self.problems: tuple[FieldProblem, ...] = (FieldProblem(field, code, detail),)


class InvalidInput(PlatformError):
    """A value that cannot be stored or asked for; `problems` names every field."""

    def __init__(self, code: str, detail: str, field: str = "", problems: Sequence[FieldProblem] = ()) -> None:
        super().__init__(code, detail, field)
        self.problems = tuple(problems) or self.problems


class Forbidden(PlatformError):
    """The credential does not reach that far."""

    status = 403


class NotFound(PlatformError):
    """Absent, or another tenant's: the answer is the same."""

    status = 404


class Conflict(PlatformError):
    """The row's state does not allow it, e.g. code `duplicate`; `problems` names whatever else stands in the way."""

    status = 409

    def __init__(self, code: str, detail: str, field: str = "", problems: Sequence[FieldProblem] = ()) -> None:
        super().__init__(code, detail, field)
        self.problems = tuple(problems) or self.problems


class StaleVersion(PlatformError):
    """The caller edited an older version than the current one."""

    status = 412


def invalid(problems: Sequence[FieldProblem]) -> InvalidInput:
    """One error for all `problems` (at least one) of a row; code and field are the first one's."""
    first = problems[0]
    return InvalidInput(first.code, first.detail, first.field, problems)
