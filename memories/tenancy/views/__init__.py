"""The pages of API keys, tenant settings with members, and the audit log."""
