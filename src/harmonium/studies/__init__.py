"""Studies: many trials, planned, run anywhere, stored, and summed up."""
