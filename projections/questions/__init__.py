"""Questions that reviewers and operators ask: each one query with a name, and what it cannot tell."""
