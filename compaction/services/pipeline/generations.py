"""The warning about a summary that was made from earlier summaries, because each generation loses details."""

DEGRADES_FROM_GENERATION = 3


def generation_warning(generation: int) -> str:
    """Return the warning about a summary of that generation; "" before the third."""
    if generation < DEGRADES_FROM_GENERATION:
        return ""
    return (
        f"Condensed {generation} times, so details may have been lost or blurred: search the history before relying on "
        "them."
    )
