"""Parts of a secret's value are hidden, too, from eight characters on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.secrets.mask import HIDDEN, Mask
from agentrt.secrets.pieces import LENGTH
from agentrt.secrets.stream import StreamMask

pytestmark = pytest.mark.pure

VALUE = "sk-7Qx92LmPz4Tv8W"
LETTERS = st.text("abcdefgh0123456789-_ \n", max_size=60)


@pytest.mark.parametrize("place", range(len(VALUE) - LENGTH + 1))
@pytest.mark.parametrize("before", range(5))
def test_every_part_of_eight_characters_is_hidden_wherever_it_stands(place: int, before: int) -> None:
    part = VALUE[place : place + LENGTH]
    assert Mask([VALUE]).text("." * before + part + " end") == "." * before + HIDDEN + " end"


def test_an_edit_inside_a_value_shows_none_of_it() -> None:
    edited = VALUE[:8] + "XX" + VALUE[9:]
    assert Mask([VALUE]).text(f"KEY={edited}\n") == f"KEY={HIDDEN}XX{HIDDEN}\n"


def test_parts_of_seven_characters_are_text() -> None:
    text = f"{VALUE[:7]} {VALUE[5:12]}"
    assert Mask([VALUE]).text(text) is text


GCP = """{
  "type": "service_account",
  "project_id": "production-1",
  "private_key_id": "Zq81LmX0Pw93KsQ7",
  "auth_uri": "https://accounts.google.com/o/oauth2/auth",
  "client_x509_cert_url": "https://www.googleapis.com/robot/v1/metadata"
}"""
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END PRIVATE KEY-----"
SETTINGS = (
    "export DATABASE_HOST=localhost\nDATABASE_PASSWORD=hunter2hunter2\nCERTIFICATE_AUTHORITY=/home/me/.config/ca.pem\n"
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("postgres://ada:Xk29fLq0Zt@db.example.org/shop", "postgres://bob@db.example.org/shop"),
        ("https://ghp_A1b2C3d4E5f6@github.com/acme/shop.git", "https://github.com/acme/shop.git"),
        ("https://hooks.example.org/T024F/B38aQz91Lk", "see https://hooks.example.org/docs"),
        ("sk-no-key-required", 'All fields are required <input required="required">'),
        ("sk-ant-api03-Qx7LmPz4Tv8WsK", "a key begins with sk-ant-api03-"),
        ("my-production-database-password", "the production database"),
        (GCP, '{"auth_uri": "https://accounts.google.com/o/oauth2/token"} production'),
        (PEM, "-----END PRIVATE KEY-----"),
        (SETTINGS, "DATABASE_HOST=localhost certificate /home/me/.config"),
        ("пароль-и-ещё-слово", "это слово и пароль"),
        ("0000000000000000", "1000000000 and 00000000"),
    ],
)
def test_words_and_what_every_such_value_has_are_no_pieces(value: str, text: str) -> None:
    assert Mask([value]).text(text) == text


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("postgres://ada:Xk29fLq0Zt@db.example.org/shop", "Xk29fLq0"),
        ("postgres://ada:p@ssw0rd-Xk29fLq0@db.example.org/shop", "p@ssw0rd-Xk29fLq0"),
        ("https://ghp_A1b2C3d4E5f6G7h8@github.com/acme/shop.git", "A1b2C3d4E5f6G7h8"),
        ("https://3f9a8b7c6d5e4f3a2b1c@o1.ingest.example.io/42", "3f9a8b7c6d5e4f3a2b1c"),
        ("https://hooks.example.org/T024F/B38aQz91Lk", "B38aQz91"),
        ("https://x.example.com?sig=ab34efgh78klmnop1234", "ab34efgh78klmnop1234"),
        (GCP, "LmX0Pw93"),
        (SETTINGS, "hunter2hunter2"),
        (PEM, "kqhkiG9w"),
        ("sk-ant-api03-Qx7LmPz4Tv8WsK", "LmPz4Tv8"),
    ],
)
def test_of_an_address_or_a_file_the_secret_part_counts(value: str, part: str) -> None:
    assert Mask([value]).text(f"is {part}?") == f"is {HIDDEN}?"


@given(LETTERS, LETTERS, st.integers(0, len(VALUE)), st.integers(0, len(VALUE)))
def test_no_part_of_a_value_stays_in_any_text(before: str, after: str, one: int, other: int) -> None:
    first, last = sorted((one, other))
    masked = Mask([VALUE]).text(before + VALUE[first:last] + after)
    assert not any(VALUE[at : at + LENGTH] in masked for at in range(len(VALUE) - LENGTH + 1))


@given(LETTERS, LETTERS, st.integers(0, 9), st.integers(10, len(VALUE)), st.lists(st.integers(1, 7), max_size=40))
def test_a_stream_shows_what_the_whole_would(before: str, after: str, one: int, other: int, cuts: list[int]) -> None:
    whole, stream, shown = before + VALUE[one:other] + after, StreamMask(Mask([VALUE])), ""
    place = 0
    for cut in [*cuts, len(whole)]:
        shown += stream.feed(whole[place : place + cut])
        place += cut
    shown += stream.flush()
    parts = [VALUE[at : at + LENGTH] for at in range(len(VALUE) - LENGTH + 1)]
    assert not any(part in shown for part in parts)


def test_a_long_text_without_any_is_looked_at_quickly_and_left_as_it_is() -> None:
    text = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz \n", k=200_000))
    assert Mask([VALUE]).text(text) is text
