"""Statistics, findings, performance and tables of measurements; nothing here reads a store."""
