"""Commands about sessions and compaction."""
