"""Where a flash message leads: see `memory_platform.web.flash`."""

from django import template

from memory_platform import web

register = template.Library()
register.filter("flash_link", web.flash_link)
