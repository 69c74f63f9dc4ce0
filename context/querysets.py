"""All SQL of what an agent gets to read, as named chainable methods."""

from memories.querysets import TenantRows


class BudgetProfileQuerySet(TenantRows):
    pass


class ReceiptQuerySet(TenantRows):
    pass
