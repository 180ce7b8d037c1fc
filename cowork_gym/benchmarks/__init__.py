"""Measurements: of the package itself, and of who plays in it."""
