"""Proves that a refactoring changes no behaviour: records what a checkout answers, and compares two recordings.

It speaks HTTP to a server of its own and runs documented commands of manage.py, and imports nothing of the program, so
the same code records a checkout from before and from after modules, fields and paths were renamed.
"""
