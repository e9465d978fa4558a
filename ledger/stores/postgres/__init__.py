"""The PostgreSQL store: several processes and machines write one ledger."""
