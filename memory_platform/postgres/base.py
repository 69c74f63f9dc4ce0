"""The module that Django loads as the database's `ENGINE`."""

import select
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from django.db import DEFAULT_DB_ALIAS, connections, utils
from django.db.backends.ddl_references import Statement
from django.db.backends.postgresql import base, features, operations, schema
from django.db.migrations.loader import MigrationLoader
from django.db.models import Field, ForeignKey, Model
from django.db.transaction import TransactionManagementError
from django.utils.functional import cached_property
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import ServerCursor, adapters
from psycopg.adapt import Dumper
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.pq import Format
from psycopg_pool import PoolTimeout

from memory_platform.postgres.pipelines import BatchingPipeline, PreparedCursor

#: The pool looks for an idle connection only within some time.
IDLE_WAIT_SECONDS = 0.001

TENANT_COLUMN = "tenant_id"
APPS = frozenset({"memories", "context", "compaction"})

#: How long a migration waits for a lock on a table: while it waits, so does every request behind it.
LIMIT_LOCKS = "SET LOCAL lock_timeout = '3s'"

_WIDEN = "ALTER TABLE {table} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} {kind} ({column}, {tenant})"


def has_tenant(model: type[Model]) -> bool:
    """Whether each row of the model's table belongs to one tenant."""
    return any(field.column == TENANT_COLUMN for field in model._meta.local_fields)


def lost_migrations(loader: MigrationLoader) -> list[str]:
    """Return the applied migrations, as `app.name`, that no longer exist in this checkout."""
    lost = set(loader.applied_migrations) - set(loader.disk_migrations)
    return sorted(f"{app}.{name}" for app, name in lost if app in APPS)


class DatabaseFeatures(features.DatabaseFeatures):
    def allows_group_by_selected_pks_on_model(self, model: type[Model]) -> bool:
        """`GROUP BY id` includes all columns only if `id` alone is also the primary key in the database."""
        return super().allows_group_by_selected_pks_on_model(model) and not has_tenant(model)


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Adds the tenant to the keys of tables that have one, after the id: an index also serves look-ups by id alone.

    A migration in a transaction does not wait long for a lock (ADR-0201). One without a transaction builds indexes
    concurrently, for which it may wait longer, but no other statement waits for it.
    """

    # A foreign key that `_create_fk_sql` does not write would refer to `id` alone.
    sql_create_column_inline_fk = ""

    def __enter__(self) -> Self:
        super().__enter__()
        if self.atomic_migration and not self.collect_sql:
            self.execute(LIMIT_LOCKS)
        return self

    def create_model(self, model: type[Model]) -> None:
        super().create_model(model)
        if has_tenant(model):
            self._widen_keys(model, model._meta.local_fields)

    def add_field(self, model: type[Model], field: "Field[Any, Any]") -> None:
        super().add_field(model, field)
        if field.column == TENANT_COLUMN:
            self._widen_keys(model, model._meta.local_fields)
        elif has_tenant(model):
            self._widen_keys(model, [field])

    def _widen_keys(self, model: type[Model], fields: "Iterable[Field[Any, Any]]") -> None:
        table = model._meta.db_table
        for field in fields:
            if field.unique:
                kind = "PRIMARY KEY" if field.primary_key else "UNIQUE"
                name = f"{table}_pkey" if field.primary_key else f"{table}_{field.column}_key"
                parts = {"table": table, "name": name, "column": str(field.column), "tenant": TENANT_COLUMN}
                self.execute(_WIDEN.format(kind=kind, **{key: self.quote_name(part) for key, part in parts.items()}))

    def _create_fk_sql(self, model: type[Model], field: "ForeignKey[Any, Any]", suffix: str) -> Statement:
        is_within_tenant = has_tenant(model) and has_tenant(field.target_field.model)
        editor: Any = super()  # Django's stubs leave this method out
        statement: Statement = editor._create_fk_sql(model, field, "_same_tenant" if is_within_tenant else suffix)
        parts: dict[str, Any] = statement.parts
        if is_within_tenant:
            for side in ("column", "to_column"):
                parts[side].columns.append(TENANT_COLUMN)
        return statement


class BinaryHalfVectorDumper(Dumper):
    """Sends a vector as binary half floats; as text, it would be five times as long and would have to be parsed."""

    format = Format.BINARY

    def dump(self, obj: HalfVector) -> bytes:
        return obj.to_binary()


class TextHalfVectorDumper(Dumper):
    """Writes the vector as text if a statement is shown or bound by the client."""

    def dump(self, obj: HalfVector) -> bytes:
        return obj.to_text().encode()


@dataclass(frozen=True)
class HalfVectors:
    """Vectors as rows of one matrix, sent as one `halfvec[]`; `type_oid` is that of `halfvec` in the database."""

    rows: NDArray[np.float32]
    type_oid: int


class HalfVectorsDumper(Dumper):
    """Sends the vectors as binary half floats."""

    format = Format.BINARY

    def dump(self, obj: HalfVectors) -> bytes:
        count, dimension = obj.rows.shape
        # each element: its size in bytes, then as `halfvec_send` writes it
        element = np.dtype([("size", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("values", ">f2", (dimension,))])
        elements = np.zeros(count, dtype=element)
        elements["size"], elements["dimension"] = element.itemsize - 4, dimension
        elements["values"] = obj.rows
        # one dimension, no nulls, the type of the elements, their number, the lower bound
        return struct.pack(">iiIii", 1, 0, obj.type_oid, count, 1) + elements.tobytes()


class TextHalfVectorsDumper(Dumper):
    """Writes the vectors as text if a statement is shown."""

    def dump(self, obj: HalfVectors) -> bytes:
        return "{{{}}}".format(",".join(f'"{HalfVector(row).to_text()}"' for row in obj.rows)).encode()


# Copied into each connection's own map, so they are registered before the first of them is opened. Of two formats the
# one registered last is preferred.
adapters.register_dumper(HalfVector, TextHalfVectorDumper)
adapters.register_dumper(HalfVector, BinaryHalfVectorDumper)
adapters.register_dumper(HalfVectors, TextHalfVectorsDumper)
adapters.register_dumper(HalfVectors, HalfVectorsDumper)


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> Any:
        """Return the statement as the log of queries shows it; a prepared cursor has not bound its values itself."""
        if isinstance(cursor, PreparedCursor):
            return self.compose_sql(sql, params)
        return super().last_executed_query(cursor, sql, params)


class TransactionStart:
    """Sends BEGIN and the statements of `start` together with the first statement of a transaction (ADR-0169).

    Each would need a separate round trip. Django calls this for every statement of the transaction.
    """

    def __init__(self, wrapper: "DatabaseWrapper", start: Callable[[], object]) -> None:
        self._wrapper, self._start, self._is_sent = wrapper, start, False

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Run `execute`, after the start if this is the first statement."""
        if self._is_sent:
            return execute(sql, params, many, context)
        self._is_sent = True
        # psycopg sends these in its own way, which must not be part of a pipeline
        if many or isinstance(context["cursor"].cursor, ServerCursor):
            self._send(lambda: None)
            return execute(sql, params, many, context)
        return self._send(lambda: execute(sql, params, many, context))

    def _send(self, first: Callable[[], Any]) -> Any:
        driver: Any = self._wrapper.connection
        with nullcontext() if driver._pipeline else self._wrapper.pipeline():
            # else psycopg would wait for the BEGIN, and begin again with each of the next statements of the pipeline
            driver._autocommit = True
            driver.wait(driver._exec_command(driver._get_tx_start_command()))
            self._start()
            return first()


def _is_closed_by_server(connection: Any) -> bool:
    """Check without a round trip: an idle connection is readable only if the server has closed it or announced that."""
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    return bool(poller.poll(0))


def _idle_connection(pool: Any) -> Any:
    """Return a connection if only one is in use. If there is no other, the pool opens one for a later request."""
    counts = pool.get_stats()
    if counts["pool_size"] - counts["pool_available"] > 1 or counts["pool_max"] < 2:
        return None
    with suppress(PoolTimeout):
        connection = pool.getconn(timeout=IDLE_WAIT_SECONDS)
        if not _is_closed_by_server(connection):
            return connection
        connection.close()
        pool.putconn(connection)
    return None


class DatabaseErrorWrapper(utils.DatabaseErrorWrapper):
    """Wraps errors as Django does, but a server that accepts no changes, such as a standby, counts as unavailable."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, ReadOnlySqlTransaction):
            raise utils.OperationalError(*error.args).with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    features_class = DatabaseFeatures
    ops_class = DatabaseOperations
    SchemaEditorClass = DatabaseSchemaEditor

    def __init__(self, settings_dict: dict[str, Any], alias: str = DEFAULT_DB_ALIAS) -> None:
        super().__init__(settings_dict, alias)
        #: The alias of the role as which statements run (ADR-0160), and of that of the open connection.
        self.login = self._connected_as = alias

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        return DatabaseErrorWrapper(self)

    def log_in(self, alias: str) -> None:
        """Run the next statements as the role of another alias. Raises if a transaction is open.

        The connection stays open until a statement needs another one, because most changes are reverted before the next
        statement.
        """
        if alias == self.login:
            return
        if self.in_atomic_block:
            raise TransactionManagementError("a transaction keeps the role with which it began")
        self.login, self.settings_dict = alias, connections.settings[alias]

    def ensure_connection(self) -> None:
        """Connect, or reconnect if the open connection belongs to another role."""
        if self._connected_as != self.login and self.connection is not None:
            self.close()
        super().ensure_connection()

    @property
    def pool(self) -> Any:
        """The pool of the current role: a connection never changes its role."""
        own, self.alias = self.alias, self.login
        try:
            return super().pool
        finally:
            self.alias = own

    def close_pool(self) -> None:
        """Close the pools of all roles."""
        wrapper: Any = self  # Django's stubs leave the pools out
        while wrapper._connection_pools:
            wrapper._connection_pools.popitem()[1].close()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection that the server has not closed (by a restart, for example) while it was in the pool."""
        self._connected_as = self.login
        connection: Any = super().get_new_connection(conn_params)
        pool: Any = getattr(self, "pool", None)
        while pool and _is_closed_by_server(connection):
            connection.close()
            pool.putconn(connection)
            connection = super().get_new_connection(conn_params)
        return connection

    def prepared_cursor(self) -> Any:
        """Return a cursor for hand-written statements that run on every request."""
        self.ensure_connection()
        wrapper: Any = self  # Django's stubs leave the next method out
        if wrapper.connection._pipeline is not None and not (self.execute_wrappers or self.queries_logged):
            # the pipeline converts errors, and Django's cursor has nothing else to do
            return PreparedCursor(self.connection)
        with self.wrap_database_errors:
            return wrapper._prepare_cursor(PreparedCursor(self.connection))

    @contextmanager
    def second_connection(self) -> Iterator[Any]:
        """Yield another connection of the pool in a pipeline, or None while other requests of this process use any.

        Those need the processors, and each connection in use needs more of the database's caches.
        """
        self.ensure_connection()  # as the same role
        pool: Any = None if self.in_atomic_block else self.pool
        connection = None if pool is None else _idle_connection(pool)
        if connection is None:
            yield None
            return
        try:
            connection._pipeline = BatchingPipeline(connection)
            with self.wrap_database_errors, connection.pipeline():
                yield connection
        finally:
            pool.putconn(connection)

    @contextmanager
    def using(self, other: Any) -> Iterator[None]:
        """Run the statements of the block on another connection."""
        own, self.connection = self.connection, other
        try:
            yield
        finally:
            self.connection = own

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send statements without waiting for each result; wait for all at the end."""
        self.ensure_connection()
        connection: Any = self.connection
        if connection._pipeline is None:
            connection._pipeline = BatchingPipeline(connection)  # which psycopg enters, as it would a nested one
        is_autocommit = connection._autocommit
        try:
            with self.wrap_database_errors, connection.pipeline():
                yield
        finally:
            connection._autocommit = is_autocommit  # see `TransactionStart`
