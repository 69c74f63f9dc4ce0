"""The spellings of units and currencies, and the form in which each is compared."""

from pathlib import Path

_RULES = Path(__file__).with_name("rules")


def _listed(file_name: str) -> dict[str, str]:
    """Return the compared form of each spelling; a line has the form and its spellings, with `_` for a space."""
    entries = (line.partition(": ") for line in (_RULES / file_name).read_text("utf-8").splitlines())
    return {form.replace("_", " "): name for name, _, forms in entries for form in forms.split()}


MEASUREMENT_UNITS = _listed("units.txt")
#: Longer spellings have the same meaning in upper and lower case.
MEASUREMENT_UNITS = {
    form.lower(): name for form, name in MEASUREMENT_UNITS.items() if len(form) > 2
} | MEASUREMENT_UNITS
CURRENCIES = _listed("currencies.txt")
CURRENCIES |= {form.lower(): name for form, name in CURRENCIES.items() if not form.isupper()}
CURRENCY_SIGNS = {
    "US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY",
    "₹": "INR", "₽": "RUB",
}  # fmt: skip
