"""The rules of sessions and of compaction: plain Python without Django."""
