"""Read models: answers about runs, rebuilt from the global order of the ledger at any time."""
