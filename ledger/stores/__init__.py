"""Stores: where records are kept, behind one contract (`base`)."""
