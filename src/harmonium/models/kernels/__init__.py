"""The compiled inner loops of the models; they take and return arrays."""
