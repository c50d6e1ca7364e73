"""Servers that write what the real ones write, at a pace and with the failures that they are told: for tests, and for
whoever wants to try a provider's format without the provider. They make up no text: they say what they were given."""
