"""A small ledger for every test to meddle with."""

import pytest

from tests.integrity.book import Book


@pytest.fixture
def book() -> Book:
    """Write the sample anew."""
    return Book.sample()
