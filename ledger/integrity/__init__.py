"""Evidence that the record is what was written: chains, columns, snapshots."""
