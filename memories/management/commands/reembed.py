"""`manage.py reembed`."""

import sys
import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.progress import Progress

from memories.embeddings import reembedding
from memories.embeddings.actions.reembedding import (
    ModelSwitchResult,
    retire_embedding_model,
    retry_refused_vectors,
    roll_back_embedding_model,
    start_reembedding,
    switch_embedding_model,
)
from memories.embeddings.providers import EmbeddingError
from memories.embeddings.status import ModelStatus, model_statuses
from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.management.imports import progress_bar
from memories.models import EmbeddingModel, Tenant
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.web.numerals import counted

#: Between two looks at work that somebody else does.
LOOK_SECONDS = 0.5
#: One turn at the work before the bar is drawn again.
TURN_SECONDS = 1.0

_State = EmbeddingModel.State


class Command(PlatformCommand):
    help = (
        "Change the embedding model without losing anything: the new model's vectors are filled beside the old ones\n"
        "by the worker, and searches switch to them once all are there. The old ones are kept up to date for a\n"
        "roll-back until --finish removes them. Without --tenant every tenant is changed. Large scopes are searched\n"
        "by an index of the model: `manage.py ensure_vector_index`, as `migrate` does, builds it while work goes on;\n"
        "until then they are searched exactly.\n\n"
        "Example: manage.py reembed --model hashed --tenant acme --wait\n"
        "         manage.py reembed --status --tenant acme\n"
        "         manage.py reembed --rollback --tenant acme\n"
        "         manage.py reembed --finish --tenant acme"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", default="", help="wordllama, hashed, or the model of a configured endpoint")
        parser.add_argument("--tenant", default="", help="name of the tenant (default: all)")
        parser.add_argument("--hold", action="store_true", help="fill, but leave the switch to --switch")
        parser.add_argument(
            "--wait", action="store_true", help="do the work here, with a progress bar, until it is done"
        )
        verbs = parser.add_mutually_exclusive_group()
        verbs.add_argument("--status", action="store_true", help="show each model and how far it is")
        verbs.add_argument(
            "--switch", action="store_true", help="search with the filled model, as soon as all is there"
        )
        verbs.add_argument("--rollback", action="store_true", help="search with the former model again")
        verbs.add_argument("--cancel", action="store_true", help="stop filling and remove what was filled")
        verbs.add_argument("--finish", action="store_true", help="remove the vectors that are kept for a roll-back")
        verbs.add_argument("--retry", action="store_true", help="try the texts again that the model refused")
        parser.add_argument(
            "--even-incomplete", action="store_true", help="switch now; words find what has no vector yet"
        )
        parser.add_argument("--yes", action="store_true", help="do not ask before --cancel and --finish")

    def handle(self, **options: Any) -> None:
        tenants = _tenants(options["tenant"])
        verb = next((name for name in _VERBS if options[name]), "start" if options["model"] else "")
        if not verb:
            raise CommandError(
                "Say what to do: --model NAME, --status, --switch, --rollback, --cancel, --finish, --retry."
            )
        if verb == "start":
            self._probe(options["model"])
        if verb in {"cancel", "finish"} and not options["yes"]:
            self._ask(verb, tenants)
        failures = [tenant.name for tenant in tenants if not self._do(verb, tenant, options)]
        if failures:
            raise CommandError(f"Not done for {', '.join(failures)}.")

    def _probe(self, model: str) -> None:
        try:
            reembedding.probe_embedder(model)
        except EmbeddingError as error:
            raise CommandError(error.detail) from error

    def _ask(self, verb: str, tenants: list[Tenant]) -> None:
        what = "what was filled" if verb == "cancel" else "the vectors kept for a roll-back"
        if not sys.stdin.isatty():
            raise CommandError(f"--{verb} removes {what}: add --yes where nobody can be asked.")
        self.stderr.write(f"This removes {what} of {', '.join(tenant.name for tenant in tenants)}. Type yes to go on: ")
        if input().strip().lower() != "yes":
            raise CommandError("Nothing was changed.")

    def _do(self, verb: str, tenant: Tenant, options: dict[str, Any]) -> bool:
        """Whether it went well; a tenant for which it did not keeps no other from it."""
        try:
            with tenant_scope(tenant.pk):
                said = getattr(self, f"_{verb}")(tenant, options)
        except Conflict as error:
            if error.code not in NOTHING_TO_START:
                self.stderr.write(f"{tenant.name}: {error.detail}")
                return False
            said = [error.detail]
        for line in said:
            self.stdout.write(f"{tenant.name}: {line}")
        return not options["wait"] or self._work(tenant)

    def _start(self, tenant: Tenant, options: dict[str, Any]) -> list[str]:
        row = start_reembedding(
            tenant=tenant,
            model=options["model"],
            switches_when_filled=not options["hold"],
            by=self.actor,
            now=timezone.now(),
        )
        return [f"{counted(row.needed, 'vector', 'vectors')} of {row.name} to be made."]

    def _status(self, tenant: Tenant, _: dict[str, Any]) -> list[str]:
        return [_line(status) for status in model_statuses(tenant.pk, timezone.now())]

    def _switch(self, tenant: Tenant, options: dict[str, Any]) -> list[str]:
        model, accepts = options["model"], options["even_incomplete"]
        return [_told(switch_embedding_model(tenant=tenant, model=model, accepts_missing=accepts, **self._asked))]

    def _rollback(self, tenant: Tenant, options: dict[str, Any]) -> list[str]:
        accepts = options["even_incomplete"]
        return [_told(roll_back_embedding_model(tenant=tenant, accepts_missing=accepts, **self._asked))]

    def _cancel(self, tenant: Tenant, options: dict[str, Any]) -> list[str]:
        return self._retire(tenant, options["model"], _State.FILLING, "Nothing is being filled.")

    def _finish(self, tenant: Tenant, options: dict[str, Any]) -> list[str]:
        return self._retire(tenant, options["model"], _State.STANDBY, "No vectors are kept beside the active model's.")

    def _retire(self, tenant: Tenant, model: str, state: str, nothing: str) -> list[str]:
        beside = EmbeddingModel.objects.for_tenant(tenant.pk).beside()
        names = [model] if model else [row.name for row in beside if row.state == state]
        if not names:
            raise Conflict("nothing_to_retire", nothing)
        rows = [retire_embedding_model(tenant=tenant, model=name, **self._asked) for name in names]
        return [f"The vectors of {row.name} are being removed." for row in rows]

    def _retry(self, tenant: Tenant, options: dict[str, Any]) -> list[str]:
        beside = EmbeddingModel.objects.for_tenant(tenant.pk).beside()
        names = [options["model"]] if options["model"] else [row.name for row in beside]
        counts = [retry_refused_vectors(tenant=tenant, model=name, **self._asked) for name in names]
        return [f"{counted(sum(counts), 'text is', 'texts are')} tried again."]

    @property
    def _asked(self) -> dict[str, Any]:
        return {"by": self.actor, "now": timezone.now()}

    def _work(self, tenant: Tenant) -> bool:
        """Work until nothing is unfinished; what another worker holds is waited for. False where the provider fails."""
        with progress_bar() as bar:
            tasks: dict[str, Any] = {}
            while unfinished := [status for status in _statuses(tenant) if status.is_unfinished]:
                for status in unfinished:
                    _draw(bar, tasks, status)
                try:
                    is_idle = not any(_turn(tenant, status.model) for status in unfinished)
                except EmbeddingError as error:
                    self.stderr.write(f"{tenant.name}: {error.detail} The worker tries again; so does this command.")
                    return False
                if any(status.model.state == _State.RETIRING for status in unfinished) and is_idle:
                    self.stdout.write(f"{tenant.name}: the worker removes the vectors once no search can need them.")
                    return True
                if is_idle:
                    time.sleep(LOOK_SECONDS)
            for task in tasks.values():
                bar.update(task, completed=bar.tasks[task].total)
        for status in _statuses(tenant):
            self.stdout.write(f"{tenant.name}: {_line(status)}")
        return True


#: A start that finds itself begun already is no failure: a command that was killed is simply given again.
NOTHING_TO_START = frozenset({"already_active", "already_filled"})
_VERBS = ("status", "switch", "rollback", "cancel", "finish", "retry")


def _tenants(name: str) -> list[Tenant]:
    if name:
        return [get_tenant_or_fail(name)]
    with admin_write_scope():
        return list(Tenant.objects.iterator())


def _statuses(tenant: Tenant) -> list[ModelStatus]:
    with tenant_scope(tenant.pk):
        return model_statuses(tenant.pk, timezone.now())


def _turn(tenant: Tenant, model: EmbeddingModel) -> bool:
    end = time.monotonic() + TURN_SECONDS
    goes_on: Callable[[], bool] = lambda: time.monotonic() < end  # noqa: E731
    return reembedding.advance_embedding_model(tenant.pk, model.pk, goes_on=goes_on, clock=timezone.now)


def _draw(bar: Progress, tasks: dict[str, Any], status: ModelStatus) -> None:
    if status.model.name not in tasks:
        tasks[status.model.name] = bar.add_task(status.model.state, total=status.model.needed)
    bar.update(tasks[status.model.name], completed=status.made, description=status.model.state)


def _line(status: ModelStatus) -> str:
    model = status.model
    live = counted(status.live, "live memory has", "live memories have")
    parts = [f"{status.with_vector:,} of {live} a vector ({status.share:.1%})"]
    if status.waiting:
        parts.append(counted(status.waiting, "version waits", "versions wait"))
    if status.refused:
        parts.append(f"{status.refused:,} were refused")
    if model.switches_when_filled:
        parts.append("switches when filled")
    if model.error:
        parts.append(model.error)
    return f"{model.name} ({model.dimension} numbers) is {model.state}: {'; '.join(parts)}"


def _told(switched: ModelSwitchResult) -> str:
    if switched.is_done:
        return f"Searches use {switched.model.name} now."
    left = counted(switched.waiting, "vector is", "vectors are")
    return f"Searches use {switched.model.name} as soon as its last {left} made."
