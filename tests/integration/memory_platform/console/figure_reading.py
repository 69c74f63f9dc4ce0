"""Read the same figure, a number with one meaning, from each place that shows it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import Any
from uuid import UUID

from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import Memory, Tenant
from memory_platform.web.templatetags.figures import milliseconds
from tests.integration.page_helpers import page, text_of

#: The inputs of the pages that assemble the golden question.
EXPECTING = "query=What+does+ERR_4012+mean%3F"
_NUMBER = r"([\d,]+(?:\.\d+)?)"


@dataclass
class FilledTenant:
    """A tenant with varied data: `ids` name the rows whose figures are read. `console` sees two tenants."""

    tenant: Tenant
    console: Client
    api: APIClient
    ids: Mapping[str, UUID]

    def __post_init__(self) -> None:
        self._read: dict[str, Any] = {}

    @cached_property
    def tally(self) -> Any:
        return Memory.objects.tally_by_tenant([self.tenant.pk], timezone.now())[self.tenant.pk]

    def row(self, model: Any) -> Any:
        """Return the row of a model that `ids` names."""
        return model.objects.for_tenant(self.tenant.pk).get(pk=self.ids[model.__name__])

    def count(self, backlogs: Callable[..., Mapping[UUID, Any]], *more: Any, **named: Any) -> int:
        """Return the tenant's count of a backlog."""
        found = backlogs([self.tenant.pk], *more, **named)
        return int(found[self.tenant.pk].count) if self.tenant.pk in found else 0

    def html(self, address: str) -> str:
        if address not in self._read:
            response = self.console.get(address)
            assert response.status_code == 200, address
            self._read[address] = unescape(text_of(response))
        return str(self._read[address])

    def json(self, path: str) -> Any:
        if path not in self._read:
            response = self.api.get(f"/api/v1/{path.format(**self.ids)}")
            assert response.status_code == 200, response.content
            self._read[path] = response.json()
        return self._read[path]


Read = Callable[[FilledTenant], float]


@dataclass(frozen=True)
class Figure:
    """`query` computes it; `shown` reads it from each place."""

    query: Read
    shown: Mapping[str, Read]


def number_of(text: str) -> float:
    return float(text.replace(",", ""))


def _plain(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def on(name: str, pattern: str, *rows: type, query: str = "") -> Read:
    """Read the number at `#` in the text of a page; `rows` are the models of the ids in its address."""

    def read(filled: FilledTenant) -> float:
        ids = [filled.ids[model.__name__] for model in rows]
        address = page(name, filled.tenant, *ids) + "?whole=1" + (f"&{query}" if query else "")
        text = _plain(filled.html(address))
        found = re.search(pattern.replace("#", _NUMBER, 1), text)
        assert found, f"{name} shows no {pattern!r}"
        return number_of(found[1])

    return read


def cell(name: str, label: str, row: type, pattern: str = "#", query: str = "") -> Read:
    """Read the number at `#` in a column of the table row that links to a row of a model; "" is the whole row."""

    def read(filled: FilledTenant) -> float:
        address = "/" if name == "overview" else page(name, filled.tenant)
        html = filled.html(f"{address}?whole=1" + (f"&{query}" if query else ""))
        line = next(each for each in html.split("<tr")[1:] if f"/{filled.ids[row.__name__]}" in each)
        found = re.search(rf'data-label="{label}"[^>]*>(.*?)</td>' if label else "(.*)", line, re.DOTALL)
        assert found, f"{name} has no column {label}"
        number = re.search(pattern.replace("#", _NUMBER, 1), _plain(found[1]))
        assert number, (name, label, _plain(found[1]))
        return number_of(number[1])

    return read


def in_admin(label: str) -> Read:
    """Read a field of the memory in Django admin."""

    def read(filled: FilledTenant) -> float:
        text = _plain(filled.html(reverse("admin:memories_memory_change", args=[filled.ids["Memory"]])))
        found = re.search(rf"{label}: {_NUMBER}", text)
        assert found, f"Django admin shows no {label}"
        return number_of(found[1])

    return read


def of_all_tenants(label: str) -> Read:
    return cell("overview", label, Tenant)


def listed(name: str, mark: str, query: str) -> Read:
    """Count how often `mark` is in a list."""
    return lambda filled: filled.html(f"{page(name, filled.tenant)}?whole=1&{query}").count(mark)


def answered(path: str, read: Callable[[Any], float]) -> Read:
    """Read the number from an answer of the API."""
    return lambda filled: read(filled.json(path))


def measured(name: str) -> Read:
    """Read a gauge of the metrics."""

    def read(filled: FilledTenant) -> float:
        lines = filled.html("/metrics").splitlines()
        return float(next(line for line in lines if line.startswith(name)).rsplit(" ", 1)[1])

    return read


def shown_milliseconds(value: float) -> float:
    """Return a time as pages show it."""
    return number_of(milliseconds(value).removesuffix(" ms"))


def percent(share: float) -> int:
    """Return a share as pages show it."""
    return round(share * 100)


def column(model: Any, name: str) -> Read:
    """Read a stored or derived attribute of the row that `ids` names."""
    return lambda filled: getattr(filled.row(model), name)


def share_of(model: Any, name: str) -> Read:
    """Read such an attribute as a percentage."""
    return lambda filled: percent(getattr(filled.row(model), name))
