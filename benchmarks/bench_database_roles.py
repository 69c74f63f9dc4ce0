"""Compare the same requests with separate roles for API and console, and with one role for all (ADR-0160).

Requests of both variants alternate in one database. Prints processor time of this process and of the database.

    python -m benchmarks.bench_database_roles --memories 2000
"""

import sys
from collections.abc import Callable
from typing import Any

from benchmarks.bench_hot_path import load_memories
from benchmarks.bench_row_scopes import measure, requests
from benchmarks.database import api_client, console_client, throwaway_database
from benchmarks.timing import argument_parser

_CONNECTIONS = "SELECT usename, count(*) FROM pg_stat_activity WHERE usename LIKE 'memory_%%' GROUP BY 1 ORDER BY 1"


#: The settings of the roles; each variant leaves some of them out.
_left_out: dict[str, Any] = {}


def switch(is_separate: bool) -> None:
    """Give console and maintenance separate roles, or the role of the API."""
    from django.db import connection, connections

    from memory_platform.postgres import roles
    from memory_platform.postgres.grants import apply_grants

    connection.close()
    if is_separate:
        connections.settings.update(_left_out)
    else:
        roles.log_in(roles.API)
        known = {roles.CONSOLE, roles.MAINTENANCE} & connections.settings.keys()
        _left_out.update({alias: connections.settings.pop(alias) for alias in known})
    apply_grants(connections[roles.OWNER_ALIAS], connections.settings)


def pages() -> dict[str, Callable[[], Any]]:
    """Return requests of a superuser in the console, by name."""
    from django.contrib.auth.models import User

    from memories.models import Tenant
    from memories.tenancy.scopes import maintenance_scope
    from memory_platform.postgres.roles import CONSOLE, logged_in_as

    with logged_in_as(CONSOLE):
        client = console_client(User.objects.create_superuser("bench"))
        with maintenance_scope():
            tenant_id = Tenant.objects.values_list("pk", flat=True)[0]
    return {"page of memories": lambda: client.get(f"/t/{tenant_id}/memories")}


def ended(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a request that releases its connection at the end, as the web server does."""
    from django.db import connection

    def run() -> Any:
        answer = call()
        connection.close()
        return answer

    return run


def main() -> int:
    options = argument_parser(__doc__, memories=2_000, rounds=40, requests=40).parse_args()
    with throwaway_database():
        from django.db import connections

        client = api_client(load_memories(options.memories))
        calls = {name: ended(call) for name, call in (requests(client) | pages()).items()}

        def all_in_turn() -> Any:
            return [call() for call in calls.values()][-1]

        print(f"{'request':<18}{'separate ms':>12}{'one role ms':>12}{'ratio':>10}")
        for name, call in {**calls, "all in turn": all_in_turn}.items():
            print(f"{name:<18}{measure(call, switch, options.rounds, options.requests)}", flush=True)
        switch(True)
        all_in_turn()
        with connections["owner"].cursor() as cursor:
            cursor.execute(_CONNECTIONS)
            print("connections:", dict(cursor.fetchall()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
