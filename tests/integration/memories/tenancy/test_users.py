"""The accounts of the tests are real: their keys are accepted, and their operators can sign in."""

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command

from memories.models import ApiKey
from memories.tenancy.scopes import authentication_scope
from tests.users import PASSWORD


def test_keys_are_found_by_their_plain_text(api_key, admin_key, tenant):
    with authentication_scope():
        keys = {plain: ApiKey.objects.get_from_key(plain) for plain in (api_key, admin_key)}
    assert keys[api_key].scopes == ["read", "write"]
    assert keys[admin_key].scopes == ["read", "write", "admin"]
    assert {key.tenant_id for key in keys.values()} == {tenant.pk}


def test_an_operator_signs_in_and_is_no_superuser(operator):
    assert authenticate(username="olga", password=PASSWORD) == operator
    assert operator.is_staff
    assert not operator.is_superuser


@pytest.mark.django_db
def test_the_first_login_is_created_once_and_only_its_file_contains_the_password(settings, tmp_path, capsys):
    settings.DATA_DIR = tmp_path
    settings.DEMO = False
    settings.STATIC_ROOT = tmp_path / "static"
    call_command("prepare", verbosity=0)
    login = tmp_path / "secrets/first-login.txt"
    name, password = [line.partition(": ")[2] for line in login.read_text().splitlines()]
    user = authenticate(username=name, password=password)
    assert user is not None
    assert user.is_superuser
    assert password not in "".join(capsys.readouterr())
    before = login.stat().st_mtime_ns, (tmp_path / "static/.sources").stat().st_mtime_ns
    call_command("prepare", verbosity=0)
    assert before == (login.stat().st_mtime_ns, (tmp_path / "static/.sources").stat().st_mtime_ns)
