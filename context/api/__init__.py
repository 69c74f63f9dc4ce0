"""The REST door of what an agent gets to read: contexts and search."""
