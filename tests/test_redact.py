"""Secrets: what is one, by name or by form, and what only looks a little like one."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gymnast.config.reference import keys
from gymnast.redact import HIDDEN, looks_secret, redact, redacted, redacted_arguments, secret_settings

ALNUM = string.ascii_letters + string.digits


def drawn(alphabet: str, least: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most or least)


# (strategy, what must not be left of it)
FORMS: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    "hf": drawn(string.ascii_letters, 34).map(lambda x: (f"hf_{x}", x)),
    "openai": drawn(ALNUM, 48).map(lambda x: (f"sk-{x}", x)),
    "openai project": drawn(ALNUM + "_-", 60).map(lambda x: (f"sk-proj-a1B{x}", x)),
    "github": drawn(ALNUM, 36).map(lambda x: (f"ghp_{x}", x)),
    "github fine": drawn(ALNUM + "_", 82).map(lambda x: (f"github_pat_{x}", x)),
    "aws": drawn(string.ascii_uppercase + string.digits, 16).map(lambda x: (f"AKIA{x}", x)),
    "jwt": drawn(ALNUM + "_-", 20).map(lambda x: (f"eyJ{x}.{x}.{x}", x)),
    "url": drawn(ALNUM + "!$%*+=.,;:~_-@", 8, 20).map(lambda x: (f"https://ann:{x}@example.org/x", x)),
    "pem": drawn(ALNUM + "+/=\n", 64).map(
        lambda x: (f"-----BEGIN PRIVATE KEY-----\n{x}\n-----END PRIVATE KEY-----", x)
    ),
    "bearer": drawn(ALNUM + "._~+/-", 20, 40).map(lambda x: (f"Bearer {x}", x)),
}
secrets_of_any_form = st.one_of(*FORMS.values())

ORDINARY = (
    *("CartPole-v1:ppo", "ALE/Pong-v5", "algo.lr=1e-3", "--max-env-steps", "300k", "tokens", "n_keys=3"),
    *("sk-learn-gradient-boosting-classifier", "hf_transformers_model", "ghp_", "task-averse-policy-2024"),
    *("331fa42ed4dc983d6d9419bef92c17699a6d1000", "0" * 64, "d41d8cd98f00b204e9800998ecf8427e", "a" * 300),
    *("550e8400-e29b-41d4-a716-446655440000", "/srv/ann/tokens/secret/file.txt", r"D:\ann\x.yaml"),
    *("http://localhost:8080/a@b", "https://example.org/?page=2&q=a", "git@github.com:ann/maze.git"),
    *("tokenizer=bpe", "author=Ann", "max_tokens=512", "key=space", "token_count: 12", "token=5"),
    *("the bearer of bad news", "auth=true", "password=None", "api_key=${OPENAI_API_KEY}", "monkey: banana"),
    *("ssh://git@example.org/maze", "2026-11-16T15:54:39", "KL 0.004, entropy 0.67", "token_file=/run/x"),
    *("env.kwargs={size: 8, key: space}", "passive: yes", "secretary: Ann", "Unauthorized"),
)


@pytest.mark.parametrize("text", ORDINARY, ids=lambda text: text[:30])
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text
    assert redacted_arguments([text]) == [text]
    assert redacted({"x": text}) == {"x": text}
    assert not list(secret_settings({"x": text}))


@example((f"-----BEGIN PRIVATE KEY-----\n{'0' * 63}=\n-----END PRIVATE KEY-----", "0" * 63 + "="), "{}")
@given(secrets_of_any_form, st.sampled_from(["{}", "failed with {}!", "{{'url': '{}'}}", "x={}", "a\n{}\nb"]))
def test_secret_of_a_known_form_is_hidden_in_any_text(secret: tuple[str, str], around: str) -> None:
    whole, hidden = secret
    text = around.format(whole)
    assert hidden not in redact(text)
    assert HIDDEN in redact(text)
    assert redact(redact(text)) == redact(text)
    assert hidden not in "".join(redacted_arguments([text]))
    assert list(secret_settings({"env": {"kwargs": {"x": [whole]}}})) == ["env.kwargs.x.0"]


@pytest.mark.parametrize(
    "key",
    [
        *("token", "hfToken", "HF_TOKEN", "api_key", "apiKey", "api-key", "APIKEY", "auth", "password"),
        *(
            "db_passwd",
            "client_secret",
            "credentials",
            "private_key",
            "aws_secret_access_key",
            "Authorization",
        ),
    ],
)
def test_secret_by_name(key: str) -> None:
    assert looks_secret(key)
    assert redacted({"a": [{key: "x"}]}) == {"a": [{key: HIDDEN}]}
    assert list(secret_settings({"a": {key: "x"}})) == [f"a.{key}"]
    for text in (f"{key}=x1y", f"{key}: x1y", f"{{'{key}': 'x1y'}}", f'f({key}="x1y z")', f"--{key} x1y"):
        assert "x1y" not in redact(text)
    for word in (f"{key}=x1y z", f"env.kwargs.{key}=x1y z", f"env.kwargs={{n: 2, {key}: x1y z}}"):
        assert "x1y" not in redacted_arguments([word])[0]
        assert " z" not in redacted_arguments([word])[0]
    assert redacted_arguments([f"--{key}", "x1y", "--n", "2"]) == [f"--{key}", HIDDEN, "--n", "2"]


@pytest.mark.parametrize(
    "key", ["tokenizer", "author", "max_tokens", "key", "keyboard", "token_count", "secrets", "password_file"]
)
def test_ordinary_name(key: str) -> None:
    assert not looks_secret(key)
    assert redacted({key: "x"}) == {key: "x"}


def test_nothing_of_a_secret_map_is_left() -> None:
    assert redacted({"auth": {"user": "ann", "n": 2, "on": True}}) == {
        "auth": {"user": HIDDEN, "n": 2, "on": True}
    }
    word = "env.kwargs={a: {auth: {user: ann, deep: {x: bob}}}, b: [{token: carl}]}"
    assert not {"ann", "bob", "carl"} & set(redacted_arguments([word])[0].replace("}", " ").split())
    assert redacted({"password": 1234, "token": 3}) == {"password": HIDDEN, "token": 3}


def test_no_setting_of_ours_has_a_secret_name() -> None:
    assert [key.name for key in keys() if looks_secret(key.name.rpartition(".")[2])] == []


def test_long_texts_take_no_time() -> None:
    started = time.process_time()  # not what other processes take
    for text in ("a" * 200_000, "://" * 50_000, "token" * 40_000, "eyJ" + "a." * 90_000, "sk-" * 60_000):
        redact(text)
        redacted_arguments([f"x={{{text}"])
    redacted_arguments(["x=" + "{a: " * 5000])
    assert time.process_time() - started < 5
