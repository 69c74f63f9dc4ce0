"""Test whether the time of a failed sign-in reveals that an account exists (ADR-0110), for each kind of account.

Prints processor time of this process and of the database until the page is ready; work after the response is excluded.

    python -m benchmarks.bench_sign_in --attempts 100
"""

import sys
from functools import partial
from statistics import median
from typing import Any

from benchmarks.database import throwaway_database
from benchmarks.timing import Stopwatch, alternately, argument_parser, hodges_lehmann

UNKNOWN = "unknown"


def create_accounts() -> list[str]:
    """Create one account of each kind; return the names, beginning with one that has no account."""
    from django.contrib.auth.models import User

    User.objects.create_user("active", password="a password of the benchmark")
    User.objects.create_user("inactive", password="a password of the benchmark", is_active=False)
    User.objects.create_user("invited")  # without a password
    return [UNKNOWN, "active", "inactive", "invited"]


def attempt(name: str) -> Any:
    """Return the page of a failed attempt."""
    from django.core.handlers.wsgi import WSGIHandler
    from django.test import RequestFactory

    request = RequestFactory().post("/sign-in", {"username": name, "password": "guess"}, HTTP_HOST="localhost")
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
    return WSGIHandler().get_response(request)


def main() -> int:
    options = argument_parser(__doc__, attempts=100).parse_args()
    with throwaway_database():
        from memories.models import SignInFailures
        from memory_platform.postgres.roles import CONSOLE, logged_in_as

        with logged_in_as(CONSOLE):
            names = create_accounts()
            taken: dict[str, list[float]] = {name: [] for name in names}
            for _, name in alternately(names, options.attempts + 3):
                SignInFailures.objects.all().delete()  # otherwise, attempts would have to wait
                taken[name].append(Stopwatch(of_all=True).measure(partial(attempt, name))[0])
        print(f"{'account':<12}{'ms':>10}{'ratio to unknown':>20}")
        for name, times in taken.items():
            ratios = [one / other for one, other in zip(times[3:], taken[UNKNOWN][3:], strict=True)]
            ratio, low, high = hodges_lehmann(ratios)
            print(f"{name:<12}{median(times[3:]):>10.2f}{ratio:>12.3f} ({low:.3f} to {high:.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
