"""Where a flash message leads: see `memory_platform.web.pages.flash`."""

from django import template

from memory_platform.web import pages

register = template.Library()


@register.filter
def message_link(extra_tags: str) -> pages.FlashLink | None:
    """The link that `flash` wrote on a message."""
    return pages.read_flash_link(extra_tags)
