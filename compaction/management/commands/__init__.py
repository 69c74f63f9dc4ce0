"""The commands `erase`, `evaluate_compaction` and `verify_erasures`."""
