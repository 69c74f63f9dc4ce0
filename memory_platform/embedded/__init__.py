"""Postgres and Redis of one folder: what `make run` and the tests use where no outside server is named.

Nothing here imports Django's settings, because settings import `files`.
"""
