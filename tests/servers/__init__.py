"""Real servers for the tests: PostgreSQL clusters, a replica, a pooler, and a line that can be cut."""
