"""Passwords and tokens: what looks like one, in settings and in texts. Run folders get shared.

A secret is recognised by the name of its setting (`api_key`, `hfToken`) or by its own form (`hf_…`, the
password in a URL). The one place that decides it, for configs, command lines, logs and error messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

HIDDEN = "***"

_NAMES = {
    *("token", "secret", "password", "passwords", "passwd", "passphrase", "passcode", "pwd"),
    *("credential", "credentials", "auth", "authorization", "apikey", "authtoken", "accesstoken"),
    *("apitoken", "accesskey", "secretkey", "privatekey"),
}
# Of these a number is a secret too; tokens and secrets may be counted.
_NUMBERS_TOO = {"password", "passwords", "passwd", "passphrase", "passcode", "pwd"}
_KINDS_OF_KEY = {"api", "private", "access", "secret", "auth", "encryption", "signing", "ssh"}
# What follows a secret's name where the value only describes it: token_count, password_file, auth_method.
_ABOUT = {
    *("count", "size", "dim", "length", "limit", "budget", "embedding", "type", "kind", "mode", "method"),
    *("file", "path", "dir", "folder", "env", "var", "variable", "name", "url", "host", "endpoint", "user"),
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

# Each keeps its first group, if it has one, and hides the rest.
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        r"(://[^\s/:@]*:)(?!\*\*\*@|\$\{)[^\s/]+(?=@)",  # user:password@ in a URL
        r"(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",  # a JSON web token
        r"(?<![A-Za-z0-9])hf_(?:(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}|[A-Za-z]{30,})",
        r"(?<![A-Za-z0-9])sk-(?:(?=[\w-]{0,99}\d)(?=[\w-]{0,99}[A-Z])[\w-]{20,}"
        r"|(?:[a-z]+\d*-){0,2}[A-Za-z0-9_]{16,}[\w-]*)",
        r"(?<![A-Za-z0-9])(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{12,}",
        r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{16,}",
        r"(?<![A-Za-z0-9])github_pat_\w{16,}",
        r"(?<![A-Za-z0-9])glpat-[\w-]{16,}",
        r"(?<![A-Za-z0-9])xox[abeprs]-[\w-]{10,}",
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])",
        r"(?<![A-Za-z0-9])AIza[\w-]{35}",
        r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}",
        r"(?<![A-Za-z0-9])pypi-[\w-]{50,}",
        r"((?<![A-Za-z0-9])[Bb]earer\s+)(?:(?=[A-Za-z._~+/=-]*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})",
    )
)
_VALUE = (
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\$\{\w+\}"""
    r"""|(?:[Bb]earer\s+|[Bb]asic\s+)?[^\s,;&"'{}\[\]()]+)"""
)
_QUERY = re.compile(rf"(?<=[?&])(?P<name>[A-Za-z_][\w.-]*)(?P<between>=){_VALUE}")
_PAIR = re.compile(rf"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]*)(?P<between>[\"']?\s*[:=]\s*){_VALUE}")
_OPTION = re.compile(rf"(?<![\w-])(?P<name>--?[A-Za-z][\w-]*)(?P<between>\s+)(?!-){_VALUE}")
# In a map of YAML a plain value has spaces, and ends where the entry does.
_ENTRY = re.compile(
    r"""(?<![\w.-])(?P<name>[A-Za-z_][\w.-]*)(?P<between>["']?\s*:\s*)"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\$\{\w+\}|[{\[].*|[^,{}\[\]"'][^,{}\[\]]*)""",
    re.DOTALL,
)
_FROM_ENVIRONMENT = re.compile(r"\$\{\w+\}")
_PLAIN_WORDS = {"", "true", "false", "none", "null", HIDDEN}
_LEAST = 4  # characters of a value that is hidden wherever it occurs

_known: set[str] = set()


def remember_secret(name: str, value: str) -> None:
    """Hide this value, wherever it occurs from now on, if its name or its form makes it a secret."""
    if len(value) >= _LEAST and (looks_secret(name) or _without_forms(value) != value):
        _known.add(value)


def redact(text: str) -> str:
    """`text` without what looks like a password or token."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    text = _without_forms(text)
    for pairs in (_PAIR, _OPTION):
        text = pairs.sub(_hidden_pair, text)
    return text


def redacted(data: Any, *, named_secret: str = "") -> Any:
    """Maps, lists and plain values with every secret replaced by `***`; `named_secret` is the name of a
    secret that the data is the value of."""
    if isinstance(data, dict):
        return {
            key: redacted(item, named_secret=str(key) if looks_secret(str(key)) else named_secret)
            for key, item in data.items()
        }
    if isinstance(data, (list, tuple)):
        return [redacted(item, named_secret=named_secret) for item in data]
    if named_secret and _is_secret_value(named_secret, data):
        return HIDDEN
    return _without_forms(data) if isinstance(data, str) else data


def redacted_arguments(argv: list[str]) -> list[str]:
    """A command line: `--api-key abc` as well as `api_key=abc` and `env.kwargs={token: abc}`."""
    after = [before.startswith("-") and "=" not in before and looks_secret(before) for before in ["", *argv]]
    return [HIDDEN if hide else _redacted_word(word) for word, hide in zip(argv, after, strict=False)]


def secret_settings(data: Any, prefix: str = "", *, named_secret: str = "") -> Iterator[str]:
    """The dotted keys of settings whose values are secrets."""
    if isinstance(data, (dict, list, tuple)):
        for key, item in data.items() if isinstance(data, dict) else enumerate(data):
            name = str(key) if isinstance(data, dict) and looks_secret(str(key)) else named_secret
            yield from secret_settings(item, f"{prefix}.{key}" if prefix else str(key), named_secret=name)
    elif redacted(data, named_secret=named_secret) != data:
        yield prefix


def looks_secret(key: str) -> bool:
    """Whether a key such as `api_key` or `hfToken` names a secret; `tokenizer` and `token_count` do not."""
    words = _words(key)
    if not words or words[-1] in _ABOUT:
        return False
    kinds = pairwise(words)
    return any(word in _NAMES for word in words) or any(
        kind in _KINDS_OF_KEY and what in ("key", "keys", "tokens") for kind, what in kinds
    )


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key)]


def _is_secret_value(name: str, value: Any) -> bool:
    """Whether the value of a setting with a secret's name is one."""
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, (int, float)):
        return bool(_NUMBERS_TOO & set(_words(name)))
    text = str(value).strip()
    return text.lower() not in _PLAIN_WORDS and not _FROM_ENVIRONMENT.search(text)


def _without_forms(text: str) -> str:
    for form in _FORMS:
        text = form.sub(_hidden_form, text)
    return _QUERY.sub(_hidden_pair, text)


def _hidden_form(match: re.Match[str]) -> str:
    return (match[1] if match.re.groups else "") + HIDDEN


def _hidden_pair(match: re.Match[str]) -> str:
    name, value = match["name"].rpartition(".")[2], match["value"].strip("\"'")
    if not looks_secret(name) or not _is_secret_value(name, _number(value)):
        return match[0]
    return f"{match['name']}{match['between']}{HIDDEN}"


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _redacted_word(word: str) -> str:
    """One word of a command line; of `key=value` the value may have spaces and be a map."""
    word = _without_forms(word)  # first: a private key may have a '=' inside
    key, equals, value = word.partition("=")
    name = key.rpartition(".")[2]
    if equals and looks_secret(name) and _is_secret_value(name, _number(value)):
        return f"{key}={HIDDEN}"
    if equals and value.lstrip()[:1] in ("{", "["):
        try:
            return f"{key}={_without_forms(_ENTRY.sub(_hidden_entry, value))}"
        except RecursionError:
            return f"{key}={HIDDEN}"
    return redact(word)


def _hidden_entry(match: re.Match[str]) -> str:
    if match["value"][0] not in "{[":
        return _hidden_pair(match)
    hidden = HIDDEN if looks_secret(match["name"]) else _ENTRY.sub(_hidden_entry, match["value"])
    return f"{match['name']}{match['between']}{hidden}"
