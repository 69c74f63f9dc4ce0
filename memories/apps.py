from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Register the checks."""
        from memories.embeddings import checks  # noqa: F401, PLC0415 - settings are not there before
        from memories.tenancy import checks as _  # noqa: F401, PLC0415 - the same
