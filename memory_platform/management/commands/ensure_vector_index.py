"""`manage.py ensure_vector_index`: the index that large vector searches need, for every model in use."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, ProgrammingError

from memories.management.command import PlatformCommand
from memories.search.vector_index import VectorIndexState, ensure_vector_index, models_to_index
from memory_platform.management.commands._owner import owner_alias

_RESULTS = {
    VectorIndexState.BUILT: "built",
    VectorIndexState.PRESENT: "already exists",
    VectorIndexState.BUSY: "another process is building an index; run this again later",
}


class Command(PlatformCommand):
    help = (
        "Build the missing vector index of each embedding model in use. Searches do not wait:\n"
        "they read all vectors in scope until the index is complete. Runs as the role that owns the tables;\n"
        "`manage.py migrate` runs it automatically.\n\n"
        "Example: manage.py ensure_vector_index --model text-embedding-3-small --dimension 1536"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", metavar="NAME", default="", help="one model (default: all that are in use)")
        parser.add_argument("--rebuild", action="store_true", help="rebuild it with all current vectors")
        parser.add_argument("--dimension", metavar="N", type=int, default=0, help="dimension of its vectors")

    def handle(self, **options: Any) -> None:
        if bool(options["model"]) != bool(options["dimension"]):
            raise CommandError("--model and --dimension must be used together.")
        named = {options["model"]: options["dimension"]} if options["model"] else models_to_index()
        for model, dimension in named.items():
            try:
                how = {"database": owner_alias(DEFAULT_DB_ALIAS), "is_rebuilt": options["rebuild"]}
                state = ensure_vector_index(model, dimension, **how)
            except ProgrammingError as error:
                raise CommandError(f"The index of {model} was not built: {str(error).splitlines()[0]}") from error
            if options["verbosity"] > (state is VectorIndexState.PRESENT):
                self.stdout.write(f"Vector index of {model} (dimension {dimension}): {_RESULTS[state]}.")
