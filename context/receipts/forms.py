"""The filter form of the context log."""

from datetime import datetime
from typing import Any

from django import forms

from context.receipts.agents import AgentGroup
from context.receipts.queries import NEARLY_FULL_SHARE, SLOW_MS
from memories.services.store.import_export_files import FILE_TYPES
from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm
from memory_platform.web.time_ranges import RECENT_RANGE_CHOICES, SPANS, range_start

#: The states of `RECEIPT_STATES`, with their labels.
STATES = [
    ("full", f"Nearly full (≥ {100 * NEARLY_FULL_SHARE:.0f} %)"),
    ("empty", "Empty"),
    ("slow", f"Slow (≥ {SLOW_MS:.0f} ms)"),
    ("failed", "Errors"),
]


class ReceiptFilterForm(PlatformForm):
    """The filters of the context log; all are optional and in the URL."""

    q = forms.CharField(label="Question", required=False, max_length=200)
    partition = PartitionField()
    key = forms.CharField(required=False, max_length=20)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)
    range = forms.ChoiceField(required=False, choices=RECENT_RANGE_CHOICES)
    state = forms.ChoiceField(required=False, choices=STATES)
    exact = forms.BooleanField(required=False)
    live = forms.BooleanField(required=False)
    #: When the newest context of a live list was created, in its requests for newer ones.
    seen = forms.DateTimeField(required=False)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(value for name, value in self.cleaned_data.items() if name not in ("live", "seen"))

    def filters(self, now: datetime) -> dict[str, Any]:
        """Return the valid filters as `ReceiptQuerySet.listed` takes them; a range ends now and replaces `after`."""
        fields = self.cleaned_data
        return {
            "partition": fields["partition"],
            "exact": fields["exact"],
            "key_prefix": fields["key"],
            "after": range_start(fields["range"], now) or fields["after"],
            "before": fields["before"],
            "asking": fields["q"],
            "state": fields["state"],
        }


class AgentForm(PlatformForm):
    """The range, the grouping and the selected agent of the agents page."""

    range = forms.ChoiceField(required=False, choices=[(span.name, span.label) for span in SPANS])
    by = forms.ChoiceField(required=False, choices=[(group.value, group.value) for group in AgentGroup])
    agent = forms.CharField(required=False, max_length=2_500)


class ReceiptExportForm(ReceiptFilterForm):
    """The filters of the context log, and the type of the file."""

    type = forms.ChoiceField(required=False, choices=[(name, name) for name in FILE_TYPES])
