"""Ratios of our speed to that of peers: docs/development/performance.md."""
