"""Backups of a whole deployment, and files with all rows of one tenant (ADR-0133)."""
