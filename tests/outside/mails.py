"""Mails as a tool sends them: who took one cannot be asked for it, and takes the same one again."""

from __future__ import annotations

import smtplib
from email.message import EmailMessage
from typing import NamedTuple

from tests.outside.outside import Outside


class Mail(NamedTuple):
    """A mail that was taken; `key` is the effect's, in a header that only tests read."""

    sender: str
    recipients: list[str]
    key: str
    subject: str
    text: str


def send(port: int, key: str, recipient: str, subject: str, text: str = "") -> None:
    """Send a mail through the server on a port of 127.0.0.1.

    Raises smtplib.SMTPDataError for a refusal, smtplib.SMTPServerDisconnected or OSError for a lost answer.
    """
    message = EmailMessage()
    message["From"] = "agent@example.org"
    message["To"] = recipient
    message["Subject"] = subject
    message["X-Effect-Key"] = key
    message.set_content(text)
    with smtplib.SMTP("127.0.0.1", port, local_hostname="localhost") as server:
        server.send_message(message)


def mails(server: Outside) -> list[Mail]:
    """Return the mails in the order in which they were taken."""
    return [Mail(**item) for item in server.told("/mails")]
