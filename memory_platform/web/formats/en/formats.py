"""How Django admin writes times: as the console does, and with their zone, which is always UTC there."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i e"
