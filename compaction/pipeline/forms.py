"""The form for the summary prompt."""

from django import forms

from compaction.models.compactions import PROMPT_CHARACTERS_MAX
from memories.tenancy.forms import with_unix_line_ends
from memory_platform.web.forms import PlatformForm


class PromptForm(PlatformForm):
    """A tenant's prompt; `edited_from` is the version its editor saw, `session` the one it is tried on."""

    edited_from = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    text = forms.CharField(strip=False, max_length=PROMPT_CHARACTERS_MAX)
    session = forms.UUIDField(required=False)

    def clean_text(self) -> str:
        return with_unix_line_ends(self.cleaned_data["text"])
