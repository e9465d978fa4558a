"""Peers: what others store durably for a step of an agent, each in a process of its own."""
