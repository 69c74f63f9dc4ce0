"""Prepared statements, and pipelines that send them together."""

from typing import Any

from django.conf import settings
from psycopg import Cursor, Pipeline
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.generators import send


class PreparedCursor(Cursor[Any]):
    """Binds values in the server, in binary form, and keeps the plans of its statements on the connection (ADR-0115).

    Without DATABASE_PREPARED_STATEMENTS, the server parses each statement again, as a pooler between may need.
    """

    def execute(self, query: Any, params: Any = None, **_: Any) -> Any:
        if self._conn._pipeline is not None and self._conn._autocommit and self._queue(query, params):
            return self
        return super().execute(query, params, prepare=settings.DATABASE_PREPARED_STATEMENTS, binary=True)

    def _queue(self, query: Any, params: Any) -> bool:
        """Add a statement that the connection has prepared to the pipeline; return False for any other.

        psycopg's own method locks the connection and runs four generators, none of which has anything to wait for.
        """
        connection: Any = self._conn
        self._tx = Transformer(self)
        statement = self._convert_query(query, params)
        names, key = connection._prepared._names, (statement.query, statement.types)
        if key not in names:
            return False
        names.move_to_end(key)  # the least recently used one is discarded first
        self._send_query_prepared(names[key], statement, binary=True)
        connection._pipeline.result_queue.append((self, None))
        return True

    def _fetch_pipeline(self) -> None:
        super()._fetch_pipeline()
        super()._fetch_pipeline()  # once more, if the results of earlier statements were requested first


class BatchingPipeline(Pipeline):
    """A pipeline that sends its statements when the first result is needed, not one by one (ADR-0153).

    Each send checks the socket, needs a system call, and may wake the server for a single statement.
    """

    _is_ending = _has_ended = False
    #: Whether the results of all statements so far were requested, so that they need only be read.
    _is_flushed = False
    #: The number of statements whose results are read on their own, 0 for all.
    _answered_first = 0

    def answer_so_far(self) -> None:
        """Make the server return the results so far immediately; the next read does not wait for later statements."""
        if len(self.result_queue) < 2:  # a setting of the scope, which nobody reads
            return
        self.command_queue.append(self.pgconn.send_flush_request)
        self._answered_first = len(self.result_queue)

    def send_now(self, *, is_last: bool = False) -> None:
        """Send the statements so far, without waiting; after the last ones, the pipeline ends."""
        if is_last:
            self._enqueue_sync()
            self._has_ended = True
        else:
            self.command_queue.append(self.pgconn.send_flush_request)
            self._is_flushed = True
        while self.command_queue:
            self.command_queue.popleft()()
        self._conn.wait(send(self.pgconn))

    def _exit_gen(self) -> PQGen[None]:
        yield from self._fetch_gen(flush=False) if self._has_ended else super()._exit_gen()

    def _communicate_gen(self) -> PQGen[None]:
        """Send nothing yet; psycopg calls this after each statement."""
        yield from ()

    def _enqueue_sync(self) -> None:
        super()._enqueue_sync()
        self._is_ending = True

    def _fetch_gen(self, *, flush: bool) -> PQGen[None]:
        """Write all statements to the buffer of the connection, then send it and wait."""
        if self.command_queue:
            self._is_flushed = False
        flush = flush and not self._is_flushed  # once more would wake the server for nothing
        while self.command_queue:
            self.command_queue.popleft()()
        if self._is_ending:
            # the library sends everything at the end of a pipeline; requesting the results would be a second system
            # call, which wakes the server again
            self._is_ending, flush, self._answered_first = False, False, 0
            yield from send(self.pgconn)
        later: list[Any] = []
        if self._answered_first:
            flush = False  # it was requested after the statements that are read
            while len(self.result_queue) > self._answered_first:
                later.append(self.result_queue.pop())
            self._answered_first = 0
            yield from send(self.pgconn)
        try:
            yield from super()._fetch_gen(flush=flush)
        finally:
            self.result_queue.extend(reversed(later))
