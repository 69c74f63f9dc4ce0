"""Refusals at the fields that they name."""

from collections.abc import Mapping

from django.forms import Form

from memories.tenancy.exceptions import PlatformError


def add_error_to_form(form: Form, error: PlatformError, names: Mapping[str, str] | None = None) -> None:
    """Show a refusal at the field it names (`names` renames fields), or above the form."""
    for problem in error.problems:
        name = (names or {}).get(problem.field, problem.field)
        form.add_error(name if name in form.fields else None, problem.detail)
