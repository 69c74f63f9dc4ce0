from typing import Any

from django.core.management.base import CommandError, CommandParser

from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.models import Tenant
from memories.services.tenancy.audit_seals import HASH_CHARACTERS, AuditProblem, BrokenEntry, KnownSeal
from memories.tenancy.audit_chain import AuditLogState, check_audit_log
from memories.tenancy.scopes import admin_write_scope
from memory_platform.web.numerals import counted

_PROBLEMS = {
    AuditProblem.SEAL_MISSING: "a seal is missing",
    AuditProblem.SEAL_CHANGED: "a seal was changed, or does not follow the one before it",
    AuditProblem.ENTRY_MISSING: "the entry was deleted",
    AuditProblem.ENTRY_CHANGED: "the entry was changed",
    AuditProblem.ENTRY_NOT_SEALED: "the entry was not added by the application",
}


class Command(PlatformCommand):
    help = (
        "Compare every audit entry with its seal, and every seal with the one before it. Exits with code 1 and names\n"
        "the first broken entry of each tenant. Record the last seal that it prints elsewhere: --known-seal proves\n"
        "later that the log still contains everything up to that seal.\n\n"
        "Example: manage.py verify_audit --tenant acme"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", help="name of the tenant (default: every tenant)")
        parser.add_argument("--known-seal", metavar="NUMBER:HASH", help="a seal of the tenant, recorded earlier")

    def handle(self, **options: Any) -> None:
        known = _known_seal(options["known_seal"])
        if known and not options["tenant"]:
            raise CommandError("--known-seal needs --tenant.")
        tenants = [get_tenant_or_fail(options["tenant"])] if options["tenant"] else _all_tenants()
        broken = [tenant.name for tenant in tenants if not self._is_correct(tenant, known)]
        if broken:
            raise CommandError(f"Broken: {', '.join(broken)}.")

    def _is_correct(self, tenant: Tenant, known: KnownSeal | None) -> bool:
        state = check_audit_log(tenant.pk, known=known)
        if state.broken is None:
            self.stdout.write(f"{tenant.name}: {_extent(state)}")
            return True
        self.stderr.write(f"{tenant.name}: {_described(state.broken)}. {_extent(state)}")
        return False


def _all_tenants() -> list[Tenant]:
    with admin_write_scope():
        return list(Tenant.objects.visible())


def _extent(state: AuditLogState) -> str:
    waiting = f"; {counted(state.waiting, 'entry waits', 'entries wait')} for a seal" if state.waiting else ""
    if state.last_sealed_at is None:
        return f"no seal is verified{waiting}."
    return f"verified up to {state.last_sealed_at:%Y-%m-%d %H:%M:%S} UTC, seal {state.last}{waiting}."


def _described(broken: BrokenEntry) -> str:
    entry = f"entry {broken.entry_id}" if broken.entry_id else "the end"
    seal = f", seal {broken.number}" if broken.number else ""
    return f"{entry}{seal}: {_PROBLEMS[broken.problem]}"


def _known_seal(value: str | None) -> KnownSeal | None:
    if value is None:
        return None
    number, _, seal_hash = value.partition(":")
    if not number.isdecimal() or len(seal_hash) != HASH_CHARACTERS:
        raise CommandError("--known-seal is NUMBER:HASH, as this command prints it.")
    return KnownSeal(int(number), seal_hash)
