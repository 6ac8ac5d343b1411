"""The version of harmonium."""

__version__ = "0.2.0"
