"""Check that a refactoring changes no behaviour: record the responses of a checkout, and compare two recordings.

The package sends HTTP requests to a separate server and runs documented commands of manage.py. It imports nothing of
the program, so the same code can record checkouts from before and after a renaming of modules, fields or paths.
"""
