"""The mail server takes mails, knows none of them again, and treats them as ordered."""

from __future__ import annotations

import smtplib
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.outside.mails import Mail, mails, send
from tests.outside.manners import HELD, LOST, UNHEARD, done_but_answered, refused
from tests.outside.outside import Outside


def test_a_mail_sent_twice_is_two_mails(mail_server: Outside) -> None:
    for _ in range(2):
        send(mail_server.port, "k1", "kim@example.org", "Refünd", "Ten euros.\nÜber PayMe.")
    mail = Mail("agent@example.org", ["kim@example.org"], "k1", "Refünd", "Ten euros.\nÜber PayMe.")
    assert mails(mail_server) == [mail, mail]
    mail_server.forget()
    assert mails(mail_server) == []


def test_a_lost_answer_leaves_the_mail_and_an_unheard_one_none(mail_server: Outside) -> None:
    mail_server.expect(LOST, UNHEARD)
    for key in ("lost", "unheard"):
        with pytest.raises((smtplib.SMTPServerDisconnected, OSError)):
            send(mail_server.port, key, "kim@example.org", "Hello")
    assert [mail.key for mail in mails(mail_server)] == ["lost"]


def test_a_refusal_leaves_no_mail_and_a_late_error_does(mail_server: Outside) -> None:
    mail_server.expect(refused(550), done_but_answered(451))
    for key, code in (("refused", 550), ("done", 451)):
        with pytest.raises(smtplib.SMTPDataError) as error:
            send(mail_server.port, key, "kim@example.org", "Hello")
        assert error.value.smtp_code == code
    assert [mail.key for mail in mails(mail_server)] == ["done"]


def test_a_held_answer_comes_after_the_mail_was_taken(mail_server: Outside) -> None:
    mail_server.expect(HELD)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(send, mail_server.port, "k1", "kim@example.org", "Hello")
        mail_server.until_held()
        assert [mail.key for mail in mails(mail_server)] == ["k1"]
        assert not waiting.done()
        mail_server.release()
        waiting.result()
