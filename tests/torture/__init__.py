"""Attacks on studies and searches for minutes: `make torture`; not part of the test suite."""
