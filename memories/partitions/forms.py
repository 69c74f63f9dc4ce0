"""Forms of partitions, the tenant memo, partition summaries and snapshots."""

from typing import Any

from django import forms

from memories.models import PartitionSummary
from memories.services.partitions.paths import PartitionPath, parse_partition
from memories.tenancy.forms import PartitionField, with_unix_line_ends
from memory_platform.web.forms import PlatformForm


class PartitionForm(PlatformForm):
    """A partition in a URL."""

    partition = PartitionField()


class PartitionsForm(PartitionForm):
    """The shown part of the tree: the levels down to a partition, or search results, from the path `after` on."""

    q = forms.CharField(label="Search", required=False, max_length=200)
    after = PartitionField()

    def place(self) -> PartitionPath:
        """Return the valid partition."""
        return parse_partition(self.cleaned_data["partition"])


class VersionedTextForm(PlatformForm):
    """A versioned text, which may be empty; `seen_version` is the version the editor saw, 0 for none."""

    seen_version = forms.IntegerField(min_value=0)
    content = forms.CharField(label="Text", required=False, strip=False)
    #: The earlier version whose text is restored.
    restores = forms.IntegerField(required=False, min_value=1)

    def result_text(self, version: int) -> str:
        """Return a sentence about the result of saving the text as `version`."""
        if version == self.cleaned_data["seen_version"]:
            return "No changes made."
        restored = self.cleaned_data["restores"]
        return f"Version {restored} restored as version {version}." if restored else f"Version {version} is active."

    def clean_content(self) -> str:
        return with_unix_line_ends(self.cleaned_data["content"])


class SummaryForm(VersionedTextForm):
    """The text of a partition's summary in one style, which is not empty."""

    style = forms.ChoiceField(choices=PartitionSummary.Style.choices)


class SnapshotForm(PlatformForm):
    """A name for a recorded time (UTC); without a time, for the current one."""

    name = forms.CharField(max_length=100)
    recorded_at = forms.DateTimeField(label="Recorded time", required=False)


class ComparisonForm(PartitionForm):
    """The other side of a comparison, and the position in a list of changes."""

    kind = forms.ChoiceField(required=False, choices=[("added", ""), ("changed", ""), ("removed", "")])
    behind = forms.UUIDField(required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # `with` is a Python keyword.
        self.fields["with"] = forms.CharField(required=False, max_length=36)
