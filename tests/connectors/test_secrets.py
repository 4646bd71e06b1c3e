"""Secrets are values that nobody can print, and a redactor that knows them in every dress."""

from __future__ import annotations

import base64
import json
import pickle
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.secrets import HIDDEN, Redactor, Secret, SecretTooShort

TOKEN = 'ghp_Zq9/Ab+c=d&e f"g\\h'
SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp", "Zs")), min_size=8, max_size=60)


def dresses(value: str) -> dict[str, str]:
    half = len(value) // 2
    return {
        "raw": value,
        "url": quote(value, safe=""),
        "url_lower": quote(value, safe="").replace("%2F", "%2f"),
        "form": quote_plus(value),
        "json": json.dumps({"token": value}),
        "json_unicode": json.dumps({"token": value}, ensure_ascii=False),
        "base64": base64.b64encode(value.encode()).decode(),
        "basic": base64.b64encode(f"x-access-token:{value}".encode()).decode(),
        "basic_other_user": base64.b64encode(f"me:{value}".encode()).decode(),
        "basic_long_user": base64.b64encode(f"oauth2-u:{value}".encode()).decode(),
        "split": f"{value[:half]}\n{value[half:]}",
        "split_crlf_indented": f"{value[:half]}\r\n    {value[half:]}",
        "base64_wrapped": base64.encodebytes(b"somebody:" + value.encode() * 3).decode().strip(),
        "shouted": "".join(f"%{byte:02X}" for byte in value.encode()),
        "url_in_json": json.dumps(f"https://me:{quote(value)}@host/"),
    }


@pytest.mark.parametrize("dress", dresses(TOKEN))
def test_a_known_value_is_replaced_in_every_dress(dress: str) -> None:
    """C141."""
    redactor = Redactor([Secret(TOKEN)])
    text = f"before {dresses(TOKEN)[dress]} behind"
    cleaned, hits = redactor.clean_counted(text)
    assert hits
    assert HIDDEN in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" behind")
    for spelled in dresses(TOKEN).values():
        assert spelled not in cleaned


@given(SECRETS, st.text(max_size=30), st.text(max_size=30))
@example("00000\\r0", "", "")
@settings(deadline=None)
def test_no_dress_of_any_secret_survives(value: str, before: str, behind: str) -> None:
    """C141."""
    redactor = Redactor([Secret(value)])
    for spelled in dresses(value).values():
        cleaned = redactor.clean(f"{before} {spelled} {behind}")
        assert spelled not in cleaned or spelled in f"{before} {HIDDEN} {behind}"


@given(st.text(max_size=200))
def test_text_without_a_secret_is_left_as_it_is(text: str) -> None:
    value = "correct-horse-battery-staple"
    assert Redactor([Secret(value)]).clean(text) == text


def test_json_values_are_cleaned_in_depth() -> None:
    """C142."""
    redactor = Redactor([Secret(TOKEN)])
    given = {"headers": [{"Authorization": f"Bearer {TOKEN}"}], TOKEN: 1, "n": None}
    assert redactor.scrub(given) == {"headers": [{"Authorization": f"Bearer {HIDDEN}"}], HIDDEN: 1, "n": None}


def test_a_rotated_value_stays_known() -> None:
    redactor = Redactor([Secret("first-token-value")])
    redactor.add(Secret("second-token-value"))
    assert redactor.clean("first-token-value second-token-value") == f"{HIDDEN} {HIDDEN}"


def test_a_secret_hides_itself_from_every_form_of_printing() -> None:
    """C142."""
    secret = Secret(TOKEN)
    assert TOKEN not in f"{secret} {secret!r} {[secret]} {vars(secret)}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret == Secret(TOKEN)
    assert secret != Secret(TOKEN + "x")
    assert secret.tail == secret.digest[-4:]


def test_a_secret_of_five_characters_is_refused() -> None:
    """C144: the configuration turns this into exit 2."""
    with pytest.raises(SecretTooShort, match="at least 8"):
        Secret("12345")
