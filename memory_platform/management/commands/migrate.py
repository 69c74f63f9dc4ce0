"""`manage.py migrate`, run by the role that owns the tables; then the vector index of each model in use."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState
from django.db.utils import ProgrammingError

from memories.tenancy.row_scope_tokens import store_signing_key
from memory_platform.management.commands._owner import owner_alias
from memory_platform.postgres.base import lost_migrations
from memory_platform.postgres.grants import apply_grants

#: Options with which only some migrations, or none, are applied.
PARTIAL = ("app_label", "plan", "check_unapplied", "prune", "fake")
#: Attempts at a migration that did not get its locks in time, and the pause after each.
LOCK_ATTEMPTS, LOCK_PAUSE_SECONDS = 60, 2.0
#: SQLSTATEs of a lock that was not taken in time, and of a deadlock.
_LOCKED_STATES = ("55P03", "40P01")


def repeat_while_locked(work: Callable[[], object], tell: Callable[[str], object]) -> None:
    """Run `work` until it gets the locks that requests have; what is done stays done (ADR-0201)."""
    for attempt in range(1, LOCK_ATTEMPTS + 1):
        try:
            work()
        except OperationalError as error:
            if attempt == LOCK_ATTEMPTS or getattr(error.__cause__, "sqlstate", None) not in _LOCKED_STATES:
                raise
            tell("A request or task has a lock that this migration needs; it is tried again.")
            time.sleep(LOCK_PAUSE_SECONDS)
        else:
            return


def add_model_alone(state: ProjectState, model: ModelState) -> None:
    """Add a model to a state without rebuilding every related model, because none refers to a new one.

    Django's own method takes half of the processor time of the first start.
    """
    state.models[model.app_label, model.name_lower] = model
    if "apps" in state.__dict__:
        state.apps.render_multiple([model.clone()])


def keep_related_models(change: Callable[..., None]) -> Callable[..., None]:
    """Return a method of `ProjectState` that changes an index or a constraint of a model and rebuilds no model.

    Django's own methods rebuild the model and all related ones, although no relation changes.
    """

    @wraps(change)
    def changed(state: ProjectState, app_label: str, model_name: str, *values: Any) -> None:
        apps = state.__dict__.pop("apps", None)  # without them, nothing is rebuilt
        change(state, app_label, model_name, *values)
        if apps is not None:
            state.__dict__["apps"] = apps
            options, meta = state.models[app_label, model_name].options, apps.get_model(app_label, model_name)._meta
            meta.indexes, meta.constraints = list(options["indexes"]), list(options["constraints"])

    return changed


ProjectState.add_model = add_model_alone  # type: ignore[method-assign,assignment]
for _name in ("add_index", "remove_index", "add_constraint", "remove_constraint"):
    setattr(ProjectState, _name, keep_related_models(getattr(ProjectState, _name)))


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        alias = owner_alias(options["database"])
        if lost := lost_migrations(MigrationLoader(connections[alias])):
            raise CommandError(
                f"An earlier development version created this database (its migration {lost[0]} no longer exists). It"
                " cannot be upgraded. To keep its memories, export them with that version first. Then start with an"
                f" empty database: delete {settings.DATA_DIR}, set DATA_DIR to a new folder, or change DATABASE_URL."
            )
        store_signing_key(connections[alias])  # for migrations that change rows
        run = super().handle
        repeat_while_locked(lambda: run(*args, **{**options, "database": alias}), self.stderr.write)
        store_signing_key(connections[alias])
        try:
            repeat_while_locked(lambda: apply_grants(connections[alias], settings.DATABASES), self.stderr.write)
        except ProgrammingError as error:
            raise CommandError(f"Rights could not be granted: {error} Run manage.py provision first.") from error
        if not any(options.get(name) for name in PARTIAL):
            call_command("ensure_vector_index", verbosity=options["verbosity"])
