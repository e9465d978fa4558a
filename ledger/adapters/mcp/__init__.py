"""The ledger for clients of the Model Context Protocol: tools and resources for agents.

A server speaks for the actor who is named when it starts, or over HTTP for the one whose token is brought;
nothing that a model writes can change that. The protocol itself is the official SDK's (package `mcp`), which
only `server`, `lines` and `listening` import.
"""
