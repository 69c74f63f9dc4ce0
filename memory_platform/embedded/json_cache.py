"""Store values of the shared cache as JSON: unlike with pickle, write access to Redis does not allow code execution."""

import json
from typing import Any


class JsonSerializer:
    """The serializer of Django's Redis cache; integers are stored so that INCR can read them."""

    def dumps(self, value: Any) -> int | bytes:
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)
