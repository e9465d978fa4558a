"""The ledger as programs use it: opening it, writing to runs and sources, reading contracts."""
