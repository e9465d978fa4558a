"""Integrity: whether what is stored is what was written, found out from the bytes alone."""
