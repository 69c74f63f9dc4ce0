"""Data of an account besides Django's row: the second factor, and notices for its owner."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from memories.tenancy.queries.accounts import SecondFactorQuerySet, SignInNoticeQuerySet


class SecondFactor(models.Model):
    """An authenticator app and recovery codes, which a sign-in needs besides the password (ADR-0195)."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="second_factor"
    )
    secret = models.TextField(help_text="Encrypted with a key that is derived from SECRET_KEY.")
    recovery_hashes = ArrayField(models.CharField(max_length=64), help_text="Of the codes that are not used yet.")
    last_step = models.BigIntegerField(help_text="The time step of the last accepted code: none is accepted twice.")
    created_at = models.DateTimeField()

    objects = SecondFactorQuerySet.as_manager()

    def __str__(self) -> str:
        return f"second factor of user {self.user_id}"


class SignInNotice(models.Model):
    """Failed sign-ins of an account since the last sign-in, and whether a lock-out was reported (ADR-0196)."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    failures = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField(help_text="Of these failures.")
    locked_at = models.DateTimeField(null=True, help_text="When attempts last began to wait.")
    reported_at = models.DateTimeField(null=True, help_text="When that was put into the audit log and sent.")

    objects = SignInNoticeQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.failures} failed sign-ins of user {self.user_id}"
