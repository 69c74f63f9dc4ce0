"""The form for a vote on a memory."""

from django import forms

from memory_platform.web.forms import PlatformForm


class FeedbackForm(PlatformForm):
    """A vote on a memory: its value and an optional reason."""

    VOTES = [("POSITIVE", "Useful"), ("NEGATIVE", "Not useful"), ("VERY_NEGATIVE", "Wrong or harmful")]

    feedback = forms.ChoiceField(label="Vote", choices=VOTES)
    reason = forms.CharField(required=False, max_length=500)
