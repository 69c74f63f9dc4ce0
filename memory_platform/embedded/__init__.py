"""Postgres and Redis of one folder, where no outside server is named. Settings import it, so it imports no settings."""
