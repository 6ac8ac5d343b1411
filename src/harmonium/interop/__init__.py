"""Doors to other libraries; each module imports its library, so import the module you need."""
