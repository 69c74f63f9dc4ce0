"""Change the password and the e-mail address of an account; both are in the audit log of its tenants."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from memories.tenancy.audit import Actor
from memories.tenancy.members import record_of_account


@transaction.atomic
def change_password(*, user: User, password: str, by: Actor, now: datetime) -> None:
    """Store a password that was checked, which ends the sessions of the account."""
    user.set_password(password)
    user.save(update_fields=["password"])
    record_of_account("change_password", user, by=by, now=now)


@transaction.atomic
def change_email(*, user: User, email: str, by: Actor, now: datetime) -> None:
    """Store the address to which notices of failed sign-ins are sent."""
    if email != user.email:
        user.email = email
        user.save(update_fields=["email"])
        record_of_account("change_email", user, fields=["email"], by=by, now=now)
