"""What the REST doors of sessions and compaction take and give, field by field."""
