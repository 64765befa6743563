"""Summaries as tables, for programs and for people."""
