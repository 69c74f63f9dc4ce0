"""Path converters, registered when this module is imported."""

from django.urls import register_converter
from django.urls.converters import StringConverter


class ProfileNameConverter(StringConverter):
    """The name of a profile."""

    regex = "[a-z][a-z0-9_-]{0,63}"


class KeyIdConverter(StringConverter):
    """The visible part of an API key."""

    regex = "[A-Za-z0-9]{1,16}"


class PartitionPathConverter(StringConverter):
    """The path of a partition, with slashes; empty for the root."""

    regex = ".*"


register_converter(ProfileNameConverter, "name")
register_converter(KeyIdConverter, "key_id")
register_converter(PartitionPathConverter, "place")
