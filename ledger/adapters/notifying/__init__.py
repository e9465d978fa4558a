"""People are told what waits for them: by a follower of the ledger, at least once, in order.

    with open_ledger("runs.db") as ledger, Notifier(ledger, Post("https://chat.example/hook")).in_background():
        ...

A receiver is a function that takes a `Notice`; `RunCommand` and `Post` are two. Nothing of it is in the way
of who asks: the request is an event, and this reads events.
"""

from ledger.adapters.notifying.notice import Notice
from ledger.adapters.notifying.notifier import GaveUp, Notifier, Tally
from ledger.adapters.notifying.receivers import NotTold, Post, Receiver, RunCommand

__all__ = ["GaveUp", "NotTold", "Notice", "Notifier", "Post", "Receiver", "RunCommand", "Tally"]
