"""Names of tenants."""

import pytest

from memories.services.tenancy.tenant_names import TENANT_NAME_CHARACTERS_MAX, TenantNameError, check_tenant_name


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("acme", "acme"),
        ("  Acme & Sons \n", "Acme & Sons"),
        ("Acme\u00a0\u3000Sons", "Acme Sons"),
        ("Cafe\u0301", "Café"),
        ("株式会社アクメ", "株式会社アクメ"),
        ("a" * TENANT_NAME_CHARACTERS_MAX, "a" * TENANT_NAME_CHARACTERS_MAX),
    ],
)
def test_name_is_stored_trimmed_and_composed(typed: str, stored: str) -> None:
    assert check_tenant_name(typed) == stored
    assert check_tenant_name(stored) == stored


@pytest.mark.parametrize(
    "typed",
    ["", " \t", "a" * 101, "~x", "a\nb", "a\tb", "a\x00b", "a\x85b", "a\u2028b", "a\u200bb", "a\u202eb", "a\ud800"],
)
def test_other_names_are_refused(typed: str) -> None:
    with pytest.raises(TenantNameError, match="name"):
        check_tenant_name(typed)
