"""Faults on purpose: files, folders, servers and processes that go wrong, for scripts/faults and the tests."""
