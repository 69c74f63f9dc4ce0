"""What agents call about sessions, compactions and background work."""
