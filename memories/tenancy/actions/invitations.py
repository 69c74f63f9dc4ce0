"""Invite a person to a tenant by a one-time link, revoke the link, accept it (ADR-0146)."""

import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from memories.models import Invitation, Tenant
from memories.services.tenancy.invitation_secrets import secret_hash
from memories.tenancy.actions.operators import add_member, create_operator
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound
from memory_platform.web.roles import Role, role_of

#: The number of days for which a link can be accepted.
INVITATION_DAYS_MAX, INVITATION_DAYS_DEFAULT = 30, 7
#: Random bytes of a link: enough that a plain hash protects them.
_SECRET_BYTES = 32


@transaction.atomic
def create_invitation(
    *, tenant: Tenant, role: Role, note: str, days: int, by: Actor, now: datetime
) -> tuple[Invitation, str]:
    """Create an invitation; return it and the secret of its link, which is not stored."""
    if not 1 <= days <= INVITATION_DAYS_MAX:
        raise InvalidInput("out_of_range", f"An invitation can be valid for 1 to {INVITATION_DAYS_MAX} days.", "days")
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    invitation = Invitation.objects.create(
        tenant=tenant,
        secret_hash=secret_hash(secret),
        role=role,
        note=note,
        created_by=by.stored_label,
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    audit_rows("create_invitation", [invitation], fields=["role"], by=by, now=now)
    return invitation, secret


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, by: Actor, now: datetime) -> None:
    """Revoke the invitation; its link can no longer be accepted."""
    invitation.revoked_at = now
    invitation.save(update_fields=["revoked_at"])
    audit_rows("revoke_invitation", [invitation], by=by, now=now)


@transaction.atomic
def accept_invitation(*, tenant: Tenant, secret: str, username: str, password: str, by: Actor, now: datetime) -> User:
    """Create the account of the invited person, with the role and the membership of the invitation.

    `by` names the inviter, because the invited person has no account yet.

    Raises `NotFound` if the link is used, revoked or expired; `InvalidInput` or `Conflict` as `create_operator` does.
    """
    invitation = _use(tenant, secret, by=by, now=now)
    return create_operator(username=username, password=password, role=invitation.role, tenants=[tenant], by=by, now=now)


@transaction.atomic
def join_by_invitation(*, tenant: Tenant, secret: str, user: User, by: Actor, now: datetime) -> None:
    """Make a person with an account a member; the account keeps its role, which the invitation must include.

    Raises `NotFound` as `accept_invitation` does, and `Conflict` `other_role`.
    """
    invitation, role = _use(tenant, secret, by=by, now=now), role_of(user)
    if role is None or not Role(invitation.role).includes(role):
        detail = f"This invitation is for the role {invitation.role}, and your account has the role {role or 'none'}."
        raise Conflict("other_role", detail)
    add_member(user=user, tenant=tenant, by=by, now=now)


def _use(tenant: Tenant, secret: str, *, by: Actor, now: datetime) -> Invitation:
    """Mark an invitation as accepted, and return it."""
    rows = Invitation.objects.for_tenant(tenant.pk).usable(secret_hash(secret), now)
    invitation: Invitation | None = rows.locked().first()
    if invitation is None:
        raise NotFound("not_found", "This link has been used or revoked, or has expired.")
    invitation.accepted_at = now
    invitation.save(update_fields=["accepted_at"])
    audit_rows("accept_invitation", [invitation], by=by, now=now)
    return invitation
