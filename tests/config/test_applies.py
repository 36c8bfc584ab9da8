"""`gymnast config show` leaves out what has no effect, and what it shows reads back as the same config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from gymnast import api
from gymnast.config import applies
from gymnast.config.catalogue import references
from gymnast.config.dump import dump_config
from gymnast.config.files import config_folders, names_in
from gymnast.config.load import ResolvedConfig, load_config
from gymnast.config.reading import parse_yaml
from gymnast.config.schema import Config

PACKAGED = references(names_in(config_folders()[-1:]), config_folders()[-1:])


def shown(reference: str, *overrides: str, every: bool = False) -> dict[str, Any]:
    text = api.show_config(reference, overrides=overrides).text(every=every)
    data: dict[str, Any] = parse_yaml(text, "shown")
    return data


@pytest.mark.parametrize("reference", PACKAGED)
def test_every_preset_reads_back_equal(reference: str, tmp_path: Path) -> None:
    resolved = api.show_config(reference)
    for every in (False, True):
        file = tmp_path / "shown.yaml"
        file.write_text(resolved.text(every=every), encoding="utf-8")
        assert load_config(str(file)).config == resolved.config
    assert resolved.left_out, "no preset needs everything"


CHANGES = {
    "precision": "bf16",
    "env.backend": "sync",
    "env.workers": 3,
    "env.restarts.budget": 2,
    "env.atari.obs": "ram",
    "env.actions": ["FIRE"],
    "policy.shared": True,
    "policy.memory": "gru",
    "policy.memory_size": 7,
    "policy.image.channels": [8],
    "policy.popart": True,
    "policy.popart_rate": 0.5,
    "policy.normalize_obs": "bounds",
    "policy.clip_obs": 3.0,
    "policy.discrete_obs": "embedding",
    "policy.embedding_size": 5,
    "policy.gaussian": "squashed",
    "algo.sequence_length": 16,
    "algo.value_loss": "huber",
    "algo.huber_delta": 2.0,
    "algo.normalize_reward": True,
    "algo.clip_reward": None,
    "video.record": "best",
    "video.fps": 12.0,
}
BASES = [load_config(reference) for reference in ("ALE/Pong-v5:ppo", "LunarLander-v3:ppo", "CartPole-v1:a2c")]


FACTS = st.builds(applies.SpaceFacts, st.booleans(), st.booleans(), st.booleans())


@given(st.sampled_from(BASES), st.sets(st.sampled_from(sorted(CHANGES))), FACTS)
def test_any_changes_read_back_equal(base: ResolvedConfig, keys: set[str], facts: applies.SpaceFacts) -> None:
    data = base.config.model_dump()
    for key in keys:
        *sections, last = key.split(".")
        inside = data
        for section in sections:
            inside = inside[section]
        inside[last] = CHANGES[key]
    try:
        config = Config.model_validate(data)
    except ValidationError:
        assume(False)
    left_out = applies.without_effect(config, facts)
    text = dump_config(config, leave_out=left_out)
    assert Config.model_validate(parse_yaml(text, "shown")) == config
    assert not any(f"{changed}.".startswith(f"{key}.") for key in left_out for changed in keys)


def test_other_families_are_left_out() -> None:
    lander = shown("LunarLander-v3:ppo")
    assert lander["env"].keys().isdisjoint({"atari", "vizdoom", "retro", "actions", "state"})
    assert lander["policy"].keys().isdisjoint({"image", "encoder", "memory_size", "gaussian"})
    assert lander["policy"].keys() >= {"hidden", "memory", "normalize_obs", "popart"}
    assert "sequence_length" not in lander["algo"]
    assert lander["video"] == {"record": "never"}


def test_all_shows_everything() -> None:
    complete = dump_config(load_config("LunarLander-v3:ppo").config)
    assert shown("LunarLander-v3:ppo", every=True) == parse_yaml(complete, "dump")


def test_own_family_is_shown() -> None:
    pong = shown("ALE/Pong-v5:ppo")
    assert pong["env"].keys() >= {"atari", "actions"}
    assert pong["env"].keys().isdisjoint({"vizdoom", "retro", "state"})
    assert "image" in pong["policy"]
    assert "gaussian" not in pong["policy"]


def test_mix_shows_the_settings_of_every_task() -> None:
    mix = next(reference for reference in PACKAGED if reference.startswith("VizDoom-Mix"))
    data = shown(mix)
    assert data["env"].keys() >= {"vizdoom", "task_input", "task_heads"}
    assert "atari" not in data["env"]


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("policy.memory=lstm", "memory_size"),
        ("policy.popart=true", "popart_rate"),
        ("policy.normalize_obs=running", "clip_obs"),
    ],
)
def test_switching_something_on_shows_its_settings(override: str, key: str) -> None:
    assert key not in shown("CartPole-v1:a2c", "policy.normalize_obs=none", "policy.popart=false")["policy"]
    assert key in shown("CartPole-v1:a2c", override)["policy"]


@pytest.mark.parametrize(
    ("override", "key"),
    [("policy.memory_size=7", "memory_size"), ("policy.gaussian=squashed", "gaussian")],
)
def test_changed_setting_is_shown_even_without_effect(override: str, key: str) -> None:
    assert key in shown("CartPole-v1:ppo", override)["policy"]


def test_spaces_decide() -> None:
    assert "gaussian" in shown("Pendulum-v1:ppo")["policy"]
    lake = shown("FrozenLake-v1:ppo", "policy.discrete_obs=embedding", "engine=torch")["policy"]
    assert lake.keys() >= {"discrete_obs", "embedding_size", "shared_encoder"}
    assert "discrete_obs" not in shown("CartPole-v1:ppo")["policy"]


def test_unknown_spaces_leave_nothing_of_them_out() -> None:
    config = load_config("CartPole-v1:ppo").config
    known = applies.without_effect(config, applies.SpaceFacts(False, False, False))
    unknown = applies.without_effect(config, None)
    assert {"policy.image", "policy.gaussian"} <= known - unknown
    assert "env.atari" in unknown


def test_rules_name_settings_that_exist() -> None:
    known = {key.name for key in api.config_keys()}
    assert set(applies._RULES) <= known
