"""Embedded Postgres and Redis servers of one folder. Settings import this package, so it imports no settings."""
