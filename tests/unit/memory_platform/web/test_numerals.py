"""Negative numbers have a minus sign, not a hyphen, in every filter."""

import pytest

from context.profiles.scoring_fields import scoring_profile_form_values
from context.profiles.templatetags.settings import setting_text
from memory_platform.web.numerals import spaced_name, version_label, with_minus_sign
from memory_platform.web.templatetags.figures import number, percent, pluralized, score, signed


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (number(-2915), "−2,915"),
        (number(2915), "2,915"),
        (pluralized(-2915, "token,tokens"), "−2,915 tokens"),
        (pluralized(1, "token,tokens"), "1 token"),
        (signed(-1200), "−1,200"),
        (signed(12), "+12"),
        (signed(-0.3), "0"),
        (number(-0.3), "0"),
        (score(-0.05), "−0.050"),
        (score(-0.0001), "0.000"),
        (percent(-0.12), "−12 %"),
        (percent(-0.001), "0 %"),
        (setting_text(-1.5, "coefficients.recency")[0], "−1.5"),
        (with_minus_sign("2026-11-22"), "2026-11-22"),
    ],
)
def test_what_is_below_zero_has_a_minus(written: str, read: str) -> None:
    assert written == read


@pytest.mark.parametrize(
    ("version_id", "label"),
    [("recall 2", "recall version 2"), ("recall", "recall"), ("2", "2"), ("recall two", "recall two")],
)
def test_versions_are_named_alike(version_id: str, label: str) -> None:
    assert version_label(version_id) == label


@pytest.mark.parametrize(
    ("name", "words"),
    [("api_key", "API key"), ("source_id", "source ID"), ("switches_when_filled", "switches when filled")],
)
def test_stored_names_become_words_with_abbreviations_in_capitals(name: str, words: str) -> None:
    assert spaced_name(name) == words


def test_versions_show_a_setting_with_the_digits_of_its_form() -> None:
    days = 13.862943611198906
    form = scoring_profile_form_values({"half_life_days": days, "weights": {}})
    assert setting_text(days, "half_life_days") == [f"{form['half_life_days']} days"]
