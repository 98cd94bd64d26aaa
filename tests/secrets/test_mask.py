"""`Mask`: nothing that is left holds a form of a value, and what holds none is left alone."""

from __future__ import annotations

import base64
import json
import shlex
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrt.secrets.encodings import encoded, written
from agentrt.secrets.lines import joined_lines
from agentrt.secrets.mask import HIDDEN, Mask
from agentrt.secrets.pieces import pieces_of

from .values import KEY, holding, in_base64, values, wrapped

pytestmark = pytest.mark.pure

TOKEN = "ghp_0123456789abcdefABCDEF/+=?&"


def forms(values: list[str]) -> set[str]:
    """All that a mask of these values takes out."""
    return {form for value in values for form in written(value) | encoded(value)}


def parts(value: str) -> set[str]:
    """The parts of a value of one line that are hidden by themselves."""
    return {piece.decode() for piece in pieces_of(value)} if value.isascii() else set()


@settings(max_examples=300)
@given(st.data(), st.lists(values, min_size=1, max_size=4))
def test_what_is_left_holds_no_form(data: st.DataObject, secrets: list[str]) -> None:
    text = data.draw(holding(secrets))
    mask = Mask(secrets)
    clean = mask.text(text)
    for left in clean.split(HIDDEN):
        assert not any(form in left for form in forms(secrets))
    assert (clean == text) or mask.found_in(text)
    for secret in secrets:
        assert not any(part in clean.replace(HIDDEN, " ") for part in parts(secret))
    joined = joined_lines(text.encode())[0].decode()
    there = any(form in joined or form in text for form in forms(secrets))
    if not there and not any(piece in text.encode() for secret in secrets for piece in pieces_of(secret)):
        assert clean is text
    assert mask.data(text.encode()) == clean.encode()


@given(values, st.binary(max_size=5), st.binary(max_size=5))
def test_a_value_goes_in_every_alignment_of_base64(secret: str, before: bytes, after: bytes) -> None:
    secret = secret.strip()
    if len(secret) < 8:
        return
    text = in_base64(secret, before, after)
    left = Mask([secret]).text(text).replace(HIDDEN, "")
    assert len(left) <= (len(before) + len(after)) * 4 / 3 + 6
    assert Mask([secret]).text(text.replace("+", "-").replace("/", "_")) != text


@pytest.mark.parametrize(
    "form",
    [
        TOKEN,
        json.dumps(TOKEN),
        json.dumps(json.dumps({"token": TOKEN})),
        quote(TOKEN),
        quote(TOKEN, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3F", "%3f").replace("%3D", "%3d"),
        quote_plus(TOKEN),
        TOKEN.encode().hex(),
        TOKEN.encode().hex().upper(),
        base64.b64encode(TOKEN.encode()).decode(),
        base64.b64encode(TOKEN.encode() + b"\n").decode(),
        base64.urlsafe_b64encode(b"user:" + TOKEN.encode()).decode(),
        base64.b64encode(b"to " + TOKEN.encode()).decode().rstrip("="),
        shlex.quote(TOKEN),
        TOKEN.replace("?", r"\?").replace("&", r"\&"),
        TOKEN.replace("&", r"\u0026"),
        TOKEN.replace("&", "&amp;"),
        "".join(f"%{byte:02X}" for byte in TOKEN.encode()),
        "".join(f"%{byte:02x}" for byte in TOKEN.encode()),
        "".join(f"\\x{byte:02x}" for byte in TOKEN.encode()),
        TOKEN.encode().hex(" "),
        TOKEN.encode().hex(":").upper(),
    ],
)
def test_a_form_is_found_in_text_and_in_json_around_it(form: str) -> None:
    mask = Mask([TOKEN])
    assert HIDDEN in mask.text(f"it is {form}, so.")
    assert mask.found_in(msgspec.json.encode({"said": f"it is {form}, so."}))
    assert mask.found_in(json.dumps({"said": f"it is {form}, so."}))


@pytest.mark.parametrize("width", [60, 64, 76])
@pytest.mark.parametrize("before", range(100))
def test_an_encoded_value_is_found_where_it_is_broken_over_lines(width: int, before: int) -> None:
    for whole in (in_base64(TOKEN, b"x" * before), (b"x" * before + TOKEN.encode()).hex()):
        for end in ("\n", "\r\n", r"\n", r"\\r\\n"):
            text = Mask([TOKEN]).text(wrapped(whole, width, end))
            assert HIDDEN in text
            assert len(text.replace(HIDDEN, "").replace(end, "")) <= before * len(whole) / (before + len(TOKEN)) + 5


def test_blank_lines_end_an_encoded_value() -> None:
    half, rest = TOKEN.encode().hex()[:30], TOKEN.encode().hex()[30:]
    assert Mask([TOKEN]).text(f"{half}\n{rest}") == HIDDEN
    assert Mask([TOKEN]).text(f"{half}\n\n{rest}") == f"{half}\n\n{rest}"


def test_a_short_value_is_not_looked_for_in_encodings() -> None:
    assert Mask(["hunter2"]).text("hunter2 " + in_base64("hunter2")) == f"{HIDDEN} {in_base64('hunter2')}"


def test_values_that_overlap_go_by_one_mark() -> None:
    mask = Mask(["abcdefgh", "efghijkl", "hunter2", "hunter2-and-more", ""])
    assert mask.text("1abcdefghijkl2") == f"1{HIDDEN}2"
    assert mask.text("hunter2-and-more, hunter2hunter2") == f"{HIDDEN}, {HIDDEN}{HIDDEN}"
    assert Mask(["aaaa"]).text("aaaaaa") == HIDDEN


def test_a_value_that_the_mark_holds_leaves_the_mark_whole() -> None:
    mask = Mask(["secret"])
    once = mask.text("a secret, <secret-hidden>")
    assert once == f"a {HIDDEN}, {HIDDEN}"
    assert mask.text(once) == once


def test_each_line_of_a_key_goes() -> None:
    mask = Mask([KEY])
    assert mask.text(KEY) == HIDDEN + "\n"
    first = KEY.splitlines()[1]
    assert mask.text(f"grep: {first}") == f"grep: {HIDDEN}"
    assert mask.text("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"
    assert mask.text(wrapped(in_base64(KEY), 76)).count(HIDDEN) == 1


def test_words_of_a_document_stay() -> None:
    mask = Mask(["apiVersion: v1\nkind: Config\nclusters:\nusers:\n  token: abcdef0123456789\n"])
    assert mask.text("clusters:\nkind: Config") == "clusters:\nkind: Config"


def test_space_around_a_value_is_no_part_of_it() -> None:
    assert Mask([" hunter22\n"]).text("hunter22") == HIDDEN
    assert not Mask([" \n"])


def test_a_value_of_several_lines_leaves_as_many() -> None:
    mask = Mask(["first line\nsecond line\nthird"])
    assert mask.text("a\nfirst line\nsecond line\nthird\nb") == f"a\n{HIDDEN}\nb"
    assert mask.text("a\nfirst line\nsecond line\nthird\nb", by_line=True) == "\n".join(["a", *[HIDDEN] * 3, "b"])


def test_a_line_of_several_is_a_secret_when_it_is_long_or_no_word() -> None:
    key = '{\n  "type": "account",\n  "private_key": "-----BEGIN KEY-----\\nMIIEvQ"\n}\nconfiguration\nab12cd34\n'
    mask = Mask([key, "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----"])
    clean = mask.text('5\t  "private_key": "-----BEGIN KEY-----\\nMIIEvQ"\n6\tMIIEvQIBADANBg\n7\tab12cd34')
    assert clean == f"5\t  {HIDDEN}\n6\t{HIDDEN}\n7\t{HIDDEN}"
    for plain in ("the configuration of this", "-----BEGIN PRIVATE KEY-----"):
        assert mask.text(plain) == plain


def test_json_loses_them_in_strings_and_names() -> None:
    mask = Mask(["hunter2", "user", "text"])
    given = {"role": "user", "hunter2": [{"type": "text", "text": "the user's text"}], "n": 2, "none": None}
    assert mask.json(given, spared={"role", "type"}) == {
        "role": "user",
        HIDDEN: [{"type": "text", HIDDEN: f"the {HIDDEN}'s {HIDDEN}"}],
        "n": 2,
        "none": None,
    }
    assert Mask(["481516"]).json({"pin": 481516, "n": 48151, "yes": True}) == {"pin": HIDDEN, "n": 48151, "yes": True}
    assert Mask(["481516\n", "12.25"]).json([481516, 12.25, 12.5]) == [HIDDEN, HIDDEN, 12.5]
    assert mask.json({"role": "user hunter2"}, spared={"role"}) == {"role": f"{HIDDEN} {HIDDEN}"}


def test_more_values_make_another_mask() -> None:
    one = Mask(["hunter2"])
    two = one.adding(["*******"])
    assert one.adding(["hunter2"]) is one
    assert two.text("hunter2 *******") == f"{HIDDEN} {HIDDEN}"
    assert one.text("*******") == "*******"
    assert "hunter2" in two
    assert "*******" not in one


def test_nothing_of_it_shows_a_value() -> None:
    mask = Mask(["hunter22"])
    assert "hunter22" not in repr(mask) + str(mask)


def test_an_empty_mask_does_nothing() -> None:
    assert Mask().text("as it is") == "as it is"
    assert not Mask().found_in("as it is")


def test_text_with_half_a_pair_is_no_trouble() -> None:
    assert Mask(["hunter22"]).text("\ud83d hunter22") == f"\ud83d {HIDDEN}"
