"""Where the words come from."""
