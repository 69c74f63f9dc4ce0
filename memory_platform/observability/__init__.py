"""Request ids, structured logs, metrics and traces of web and worker processes (ADR-0134)."""
