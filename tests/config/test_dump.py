"""Resolved configs as YAML: complete, in order, read back equal, without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gymnast.config.dump import dump_config, plain_data
from gymnast.config.fields import leaf_keys
from gymnast.config.files import config_folders, names_in
from gymnast.config.load import load_config
from gymnast.config.reading import parse_yaml
from gymnast.config.schema import Config
from gymnast.redact import HIDDEN, secret_settings

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@example({"a": float("inf"), "b": -0.0}, "\U00010000\x85", ["null", "1e3", " x ", "#"])
@given(
    st.dictionaries(st.text(), values, max_size=4).filter(lambda d: not any(secret_settings(d))),
    st.text(min_size=1),
    st.lists(st.text(), max_size=3),
)
def test_anything_reads_back_equal(kwargs: dict[str, Any], env_id: str, labels: list[str]) -> None:
    config = Config.model_validate(
        {
            "env": {
                "id": env_id,
                "kwargs": kwargs,
                "spec": {"action_labels": labels, "reward_range": [float("-inf"), 1]},
            }
        }
    )
    text = dump_config(config)
    assert Config.model_validate(parse_yaml(text, "dump")) == config
    json.dumps(plain_data(config), allow_nan=False)


@pytest.mark.parametrize("name", names_in(config_folders()[-1:]))
def test_every_preset_reads_back_equal(name: str, tmp_path: Path) -> None:
    from gymnast.config.catalogue import references

    for reference in references([name], config_folders()[-1:]):
        config = load_config(reference).config
        file = tmp_path / "config.yaml"
        file.write_text(dump_config(config), encoding="utf-8")
        assert load_config(str(file)).config == config


def test_everything_is_written_in_the_order_of_the_schema() -> None:
    config = load_config("CartPole-v1:ppo").config
    data = parse_yaml(dump_config(config), "dump")
    assert list(data) == list(Config.model_fields)
    assert list(data["algo"]) == list(type(config.algo).model_fields)
    for keys in leaf_keys(data=config.model_dump()):
        value = data
        for key in keys:
            value = value[key]


def test_notes_are_at_the_ends_of_lines() -> None:
    resolved = load_config("CartPole-v1:ppo", ["seed=3"])
    lines = dump_config(resolved.config, resolved.sources).splitlines()
    assert next(line for line in lines if line.startswith("seed")).split("  # ")[1] == "command line"
    assert all("  # " in line or line.endswith(":") for line in lines)
    assert Config.model_validate(parse_yaml("\n".join(lines), "dump")) == resolved.config


def test_secrets_are_never_written() -> None:
    kwargs = {
        "api_key": "sk-1",
        "hfToken": "hf-2",
        "n_keys": 3,
        "keyboard": "qwerty",
        "deep": [{"password": "p"}],
    }
    config = Config.model_validate(
        {"env": {"id": "X-v0", "kwargs": kwargs, "wrappers": [{"name": "w", "client_secret": "s"}]}}
    )
    text = dump_config(config)
    for secret in ("sk-1", "hf-2", '"p"', ": s,"):
        assert secret not in text
    data = plain_data(config)["env"]
    assert (
        data["kwargs"]["api_key"]
        == data["kwargs"]["hfToken"]
        == data["kwargs"]["deep"][0]["password"]
        == HIDDEN
    )
    assert data["wrappers"][0] == {"name": "w", "client_secret": HIDDEN}
    assert (data["kwargs"]["n_keys"], data["kwargs"]["keyboard"]) == (3, "qwerty")
