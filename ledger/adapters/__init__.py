"""Translations between the ledger and what is around it: command line, transcripts, frameworks."""
