"""The link of a flash message, see `memory_platform.web.pages.add_flash`."""

from django import template

from memory_platform.web import pages

register = template.Library()


@register.filter
def message_link(extra_tags: str) -> pages.FlashLink | None:
    """Return the link that `add_flash` stored in a message."""
    return pages.read_flash_link(extra_tags)
