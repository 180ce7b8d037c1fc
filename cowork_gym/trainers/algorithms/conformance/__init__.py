"""Conformance: numeric cases from a file, run against the functions of this package."""
