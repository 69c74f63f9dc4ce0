"""What stops a start."""


class StartError(Exception):
    """One sentence for the person at the terminal: what is wrong and what to do."""
