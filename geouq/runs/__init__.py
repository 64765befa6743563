"""The folder of a run: what it keeps, who owns it, where its numbers come from."""
