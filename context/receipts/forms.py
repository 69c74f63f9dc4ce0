"""The filter form of the context log."""

from django import forms

from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm


class ReceiptFilterForm(PlatformForm):
    """The filters of the context log; all are optional and in the address."""

    q = forms.CharField(label="Question", required=False, max_length=200)
    partition = PartitionField()
    key = forms.CharField(required=False, max_length=20)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)
