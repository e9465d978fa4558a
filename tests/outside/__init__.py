"""Real outsides for the tests of effects: they take payments, orders and mails, and keep their own record.

Each is a process of its own, so that it outlives a worker that is killed while it performs an effect. What it
did is asked of itself afterwards; what it does with the next request, a test tells it (`manners`).
"""
