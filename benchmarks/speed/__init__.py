"""Ratios of our speed to that of peers, measured in one run on one core; docs/performance.md."""
