"""`manage.py reset_second_factor`: let a person sign in with the password alone, as after the loss of a phone."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand
from memories.tenancy.actions.second_factor import remove_second_factor
from memories.tenancy.queries.tenants import users_by_username
from memory_platform.postgres.roles import CONSOLE


class Command(PlatformCommand):
    help = (
        "Remove the second factor of a person, also of the last admin. The audit log of their tenants records it.\n\n"
        "Example: manage.py reset_second_factor maren"
    )

    roles = (CONSOLE,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, **options: Any) -> None:
        user = users_by_username(options["username"]).first()
        if user is None:
            raise CommandError(f"There is no operator named {options['username']!r}.")
        if not remove_second_factor(user=user, by=self.actor, now=timezone.now()):
            raise CommandError(f"{user.username} has no second factor.")
        self.stdout.write(f"{user.username} signs in with the password alone.")
