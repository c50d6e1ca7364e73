"""Every turn of every run, kept in one SQLite file."""
