"""The gateway to the outside: how a tool is declared, and the one protocol for its effects.

Pure: what it needs of the world (the ledger, the tool itself, the time, waiting) it yields as steps, and a
driver performs them, in a thread or under an event loop.
"""
