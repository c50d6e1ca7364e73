"""Language models at a server: one conversation, many wires, and what each server tells about its own time."""
