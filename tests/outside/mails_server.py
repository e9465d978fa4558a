"""The process that takes mails by SMTP and hands out what it took on the control port."""

from __future__ import annotations

import asyncio
from email import message_from_bytes, policy

from aiohttp import web
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.outside.serving import Lost, Script, control, listen, run


class Mailbox:
    """Takes each mail, as the script says."""

    def __init__(self, script: Script) -> None:
        self.mails: list[dict[str, object]] = []
        self._script = script
        self._treated: set[asyncio.Future[str]] = set()

    async def handle_DATA(self, server: SMTP, _: Session, envelope: Envelope) -> str:
        async def take() -> str:
            self.mails.append(_read(envelope))
            return "250 taken"

        # A task of its own: this one is cancelled when the caller is gone, who may have been heard already.
        treated = asyncio.ensure_future(self._script.play(take, lambda status: f"{status} as ordered"))
        self._treated.add(treated)
        treated.add_done_callback(self._treated.discard)
        try:
            return await asyncio.shield(treated)
        except Lost:
            if isinstance(server.transport, asyncio.WriteTransport):
                server.transport.abort()
            return "421 lost"

    async def listed(self, _: web.Request) -> web.Response:
        return web.json_response(self.mails)


def _read(envelope: Envelope) -> dict[str, object]:
    content = envelope.content
    message = message_from_bytes(content if isinstance(content, bytes) else b"", policy=policy.default)
    return {
        "sender": envelope.mail_from,
        "recipients": list(envelope.rcpt_tos),
        "key": str(message["X-Effect-Key"] or ""),
        "subject": str(message["Subject"] or ""),
        "text": message.get_content().replace("\r\n", "\n").strip(),
    }


async def start() -> dict[str, int]:
    script = Script()
    mailbox = Mailbox(script)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(mailbox, hostname="localhost", loop=loop), "127.0.0.1", 0)
    app = control(script, mailbox.mails.clear)
    app.router.add_get("/mails", mailbox.listed)
    return {"port": server.sockets[0].getsockname()[1], "control": await listen(app)}


if __name__ == "__main__":
    run(start)
