"""The case file: the refund desk of a travel agency in March 2026, and what reviewers ask about it."""
