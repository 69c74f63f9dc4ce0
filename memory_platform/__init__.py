# pyproject.toml, the OpenAPI document and the Health page read it; CHANGELOG.md repeats it.
__version__ = "0.1.0"
