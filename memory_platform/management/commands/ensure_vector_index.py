"""`manage.py ensure_vector_index`: the index that large searches by vector need, for every model in use."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, ProgrammingError

from memories.management.command import PlatformCommand
from memories.search.vector_index import IndexedModel, VectorIndexState, ensure_vector_index, models_to_index
from memory_platform.management.commands._owner import owner_alias

_SAID = {
    VectorIndexState.BUILT: "built",
    VectorIndexState.PRESENT: "is there already",
    VectorIndexState.BUSY: "another process is building an index; ask again later",
}


class Command(PlatformCommand):
    help = (
        "Build the vector index of each embedding model in use, where it is absent. Nobody waits for it:\n"
        "searches read all vectors in scope until it is there. Runs as the role that owns the tables;\n"
        "`manage.py migrate` runs it by itself.\n\n"
        "Example: manage.py ensure_vector_index --model text-embedding-3-small --dimension 1536"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", metavar="NAME", default="", help="one model (default: all that are in use)")
        parser.add_argument("--dimension", metavar="N", type=int, default=0, help="how long its vectors are")

    def handle(self, **options: Any) -> None:
        if bool(options["model"]) != bool(options["dimension"]):
            raise CommandError("--model and --dimension go together.")
        named = IndexedModel(options["model"], options["dimension"])
        for model in [named] if named.name else models_to_index():
            self._ensure(model, options["verbosity"])

    def _ensure(self, model: IndexedModel, verbosity: int) -> None:
        try:
            state = ensure_vector_index(model.name, model.dimension, database=owner_alias(DEFAULT_DB_ALIAS))
        except ProgrammingError as error:
            raise CommandError(f"The index of {model.name} was not built: {str(error).splitlines()[0]}") from error
        if verbosity and (state is not VectorIndexState.PRESENT or verbosity > 1):
            self.stdout.write(f"Vector index of {model.name} ({model.dimension} numbers): {_SAID[state]}.")
