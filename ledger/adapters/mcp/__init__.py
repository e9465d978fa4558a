"""The ledger for clients of the Model Context Protocol: tools and resources for agents.

A server speaks for one actor, who is named when it starts; nothing that a model writes can change that. The
protocol itself is the official SDK's (package `mcp`), which only `server` and `listening` import.
"""
