"""Path converters, registered when this module is imported."""

from django.urls import register_converter
from django.urls.converters import StringConverter

_PATTERNS = {
    "name": "[a-z][a-z0-9_-]{0,63}",  # of a profile
    "key_id": "[A-Za-z0-9]{1,16}",  # the visible part of an API key
    "place": ".*",  # the path of a partition, with slashes; empty for the root
}
for _name, _pattern in _PATTERNS.items():
    register_converter(type(f"{_name}Converter", (StringConverter,), {"regex": _pattern}), _name)
