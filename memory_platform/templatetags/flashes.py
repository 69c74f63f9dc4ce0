"""Where a flash message leads: see `memory_platform.web.flash`."""

from django import template

from memory_platform import web

register = template.Library()


@register.filter
def flash_link(extra_tags: str) -> web.FlashLink | None:
    """The link that `flash` wrote on a message."""
    return web.flash_link(extra_tags)
