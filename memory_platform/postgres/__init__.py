"""Django's Postgres backend, for tables that can be distributed by tenant (adr/0093-keys-hold-the-tenant.md)."""
