"""A demonstration with real processes: an agent is killed, another process loads the contract it left."""
