from memory_platform.celery import app as celery_app

__all__ = ["celery_app"]

# pyproject.toml, the OpenAPI document and the Health page read it; CHANGELOG.md repeats it.
__version__ = "0.1.0"
