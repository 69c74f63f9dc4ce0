import sys
import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memories.embeddings import actions, reembedding
from memories.embeddings.providers import EmbeddingError
from memories.embeddings.status import ModelStatus, model_statuses
from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.management.imports import progress_bar
from memories.models import EmbeddingModel, Tenant
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.web.numerals import counted

#: Seconds between two checks of another worker's work.
LOOK_SECONDS = 0.5
#: Work between two updates of the progress bar.
TURN_SECONDS = 1.0

#: Conflicts that are not failures: a command that was killed can be run again.
NOTHING_TO_START = frozenset({"already_active", "already_filled"})

_State = EmbeddingModel.State
_VERBS = {
    "status": "show each model and its progress",
    "switch": "search with the filled model once it is complete",
    "roll_back": "search with the former model again",
    "cancel": "stop filling and remove what was filled",
    "remove_former": "remove the vectors kept for a roll-back",
    "retry": "retry the texts that the model rejected",
}
#: The state of the models that a verb retires, what it removes, and the error without such a model.
_RETIRED = {
    "cancel": (_State.FILLING, "what was filled", "Nothing is being filled."),
    "remove_former": (_State.STANDBY, "the vectors kept for a roll-back", "No vectors of a former model are kept."),
}


class Command(PlatformCommand):
    help = (
        "Change the embedding model while search continues: the worker computes the new model's vectors, and searches\n"
        "switch to it when they are complete. The vectors of the former model are kept up to date for a roll-back\n"
        "until --remove-former. Without --tenant, every tenant is changed. `manage.py ensure_vector_index`, which\n"
        "`migrate` also runs, builds the new model's index; large scopes are searched exactly until it is ready.\n\n"
        "Example: manage.py reembed --model hashed --tenant acme --wait\n"
        "         manage.py reembed --status --tenant acme\n"
        "         manage.py reembed --roll-back --tenant acme\n"
        "         manage.py reembed --remove-former --tenant acme"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", default="", help="wordllama, hashed, or the model of a configured endpoint")
        parser.add_argument("--tenant", default="", help="name of the tenant (default: all)")
        parser.add_argument("--keep-active", action="store_true", help="fill, but do not switch until --switch")
        parser.add_argument("--wait", action="store_true", help="do the work in this process, with a progress bar")
        verbs = parser.add_mutually_exclusive_group()
        for name, text in _VERBS.items():
            verbs.add_argument(_flag(name), action="store_true", help=text)
        parser.add_argument(
            "--even-incomplete",
            action="store_true",
            help="switch now; texts without a vector are found only by their words",
        )
        parser.add_argument("--yes", action="store_true", help="do not ask before --cancel and --remove-former")

    def handle(self, **options: Any) -> None:
        tenants = _tenants(options["tenant"])
        verb = next((name for name in _VERBS if options[name]), "start" if options["model"] else "")
        if not verb:
            *flags, last = map(_flag, _VERBS)
            raise CommandError(f"Use --model NAME, {', '.join(flags)} or {last}.")
        if verb == "start":
            try:
                reembedding.probe_embedder(options["model"])
            except EmbeddingError as error:
                raise CommandError(error.detail) from error
        if verb in _RETIRED and not options["yes"]:
            self._confirm(verb, tenants)
        failures = [tenant.name for tenant in tenants if not self._do(verb, tenant, options)]
        if failures:
            raise CommandError(f"Not done for {', '.join(failures)}.")

    def _confirm(self, verb: str, tenants: list[Tenant]) -> None:
        _, what, _ = _RETIRED[verb]
        if not sys.stdin.isatty():
            raise CommandError(f"{_flag(verb)} removes {what}: add --yes if no terminal is attached.")
        names = ", ".join(tenant.name for tenant in tenants)
        self.stderr.write(f"This removes {what} of {names}. Type yes to continue: ")
        if input().strip().lower() != "yes":
            raise CommandError("No changes made.")

    def _do(self, verb: str, tenant: Tenant, options: dict[str, Any]) -> bool:
        """Run the verb for a tenant and return whether it succeeded. A failure does not stop the other tenants."""
        try:
            with tenant_scope(tenant.pk):
                lines = self._run(verb, tenant, options)
        except Conflict as error:
            if error.code not in NOTHING_TO_START:
                self.stderr.write(f"{tenant.name}: {error.detail}")
                return False
            lines = [error.detail]
        for line in lines:
            self.stdout.write(f"{tenant.name}: {line}")
        return not options["wait"] or self._work(tenant)

    def _run(self, verb: str, tenant: Tenant, options: dict[str, Any]) -> list[str]:
        now, model, may_miss = timezone.now(), options["model"], options["even_incomplete"]
        who: dict[str, Any] = {"tenant": tenant, "by": self.actor, "now": now}
        beside = EmbeddingModel.objects.for_tenant(tenant.pk).not_active()
        match verb:
            case "start":
                row = actions.start_reembedding(model=model, switches_when_filled=not options["keep_active"], **who)
                return [f"{counted(row.needed, 'vector', 'vectors')} of {row.name} to compute."]
            case "status":
                return [_line(status) for status in model_statuses(tenant.pk, now)]
            case "switch":
                return [_describe_switch(actions.switch_embedding_model(model=model, confirm_missing=may_miss, **who))]
            case "roll_back":
                return [_describe_switch(actions.roll_back_embedding_model(confirm_missing=may_miss, **who))]
            case "retry":
                names = [model] if model else [row.name for row in beside]
                count = sum(actions.retry_refused_vectors(model=name, **who) for name in names)
                return [f"{counted(count, 'text is', 'texts are')} tried again."]
        state, _, nothing = _RETIRED[verb]
        names = [model] if model else [row.name for row in beside if row.state == state]
        if not names:
            raise Conflict("nothing_to_retire", nothing)
        rows = [actions.retire_embedding_model(model=name, **who) for name in names]
        return [f"The vectors of {row.name} are being removed." for row in rows]

    def _work(self, tenant: Tenant) -> bool:
        """Work until all is finished, waiting for other workers. Return False if the provider fails."""
        with progress_bar() as bar:
            tasks: dict[str, Any] = {}
            while unfinished := [status for status in _statuses(tenant) if status.is_unfinished]:
                for status in unfinished:
                    model = status.model
                    if model.name not in tasks:
                        tasks[model.name] = bar.add_task(model.state, total=model.needed)
                    bar.update(tasks[model.name], completed=status.made, description=model.state)
                try:
                    is_idle = not any(_work_for_a_while(tenant, status.model) for status in unfinished)
                except EmbeddingError as error:
                    again = "The worker retries; you can also run this command again."
                    self.stderr.write(f"{tenant.name}: {error.detail} {again}")
                    return False
                if is_idle and any(status.model.state == _State.RETIRING for status in unfinished):
                    self.stdout.write(f"{tenant.name}: the worker removes the vectors once no search can use them.")
                    return True
                if is_idle:
                    time.sleep(LOOK_SECONDS)
            for task in tasks.values():
                bar.update(task, completed=bar.tasks[task].total)
        for status in _statuses(tenant):
            self.stdout.write(f"{tenant.name}: {_line(status)}")
        return True


def _flag(verb: str) -> str:
    return f"--{verb.replace('_', '-')}"


def _tenants(name: str) -> list[Tenant]:
    if name:
        return [get_tenant_or_fail(name)]
    with admin_write_scope():
        return list(Tenant.objects.iterator())


def _statuses(tenant: Tenant) -> list[ModelStatus]:
    with tenant_scope(tenant.pk):
        return model_statuses(tenant.pk, timezone.now())


def _work_for_a_while(tenant: Tenant, model: EmbeddingModel) -> bool:
    end = time.monotonic() + TURN_SECONDS
    return reembedding.advance_embedding_model(
        tenant.pk, model.pk, can_continue=lambda: time.monotonic() < end, clock=timezone.now
    )


def _line(status: ModelStatus) -> str:
    model = status.model
    live = counted(status.live, "live memory has", "live memories have")
    parts = [f"{status.with_vector:,} of {live} a vector ({status.share:.1%})"]
    if status.waiting:
        parts.append(counted(status.waiting, "version waits", "versions wait"))
    if status.refused:
        parts.append(f"{status.refused:,} rejected")
    if model.switches_when_filled:
        parts.append("switches when filled")
    if model.error:
        parts.append(model.error)
    return f"{model.name} (dimension {model.dimension}) is {model.state}: {'; '.join(parts)}"


def _describe_switch(switched: actions.ModelSwitchResult) -> str:
    if switched.is_done:
        return f"Searches now use {switched.model.name}."
    left = counted(switched.waiting, "vector is", "vectors are")
    return f"Searches will use {switched.model.name} when its last {left} computed."
