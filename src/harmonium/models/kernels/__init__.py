"""Arrays in, arrays out: the compiled inner loops of the models."""
