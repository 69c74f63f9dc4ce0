"""The REST door of what is stored, and what every REST door shares: keys, scopes, rate, idempotency."""
