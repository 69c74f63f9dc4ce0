"""What Django raises if the database cannot be reached or refuses work."""

from django.db import InterfaceError, OperationalError

#: The database is away, read-only, or ended the statement or the connection: the same work may succeed later. A
#: connection that was lost raises the second error where the driver notices it before it sends anything.
UNAVAILABLE = (OperationalError, InterfaceError)
