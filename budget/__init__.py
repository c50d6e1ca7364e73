"""Where the time of a turn went, and what to do about it."""
