"""Runs from elsewhere: none listens to other machines before the user says so."""

from __future__ import annotations

import pytest

from gymnast import api
from gymnast.errors import UntrustedRun
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import load_run_config, mark_run

TINY = {"env.n_envs": 2, "env.backend": "sync", "algo.n_steps": 8, "algo.batch_size": 16, "eval.every": 0}


@pytest.fixture
def plain() -> RunFolder:
    """A run whose config names nothing outside."""
    return api.train("CartPole-v1:ppo", overrides=TINY, max_env_steps=32).folder


def edited(run: RunFolder, before: str, after: str) -> None:
    assert before in run.config_text()
    run.config_path.write_text(run.config_text().replace(before, after, 1))


@pytest.mark.parametrize("actors", ["listen: 0.0.0.0:7000", "token_file: /etc/hostname"])
def test_run_from_elsewhere_lets_no_other_machine_dial_in(plain: RunFolder, actors: str) -> None:
    text = plain.config_path.read_text()
    key, _, value = actors.partition(": ")
    before = next(line for line in text.splitlines() if line.strip().startswith(f"{key}:"))
    edited(plain, before, before.partition(key)[0] + actors)
    with pytest.raises(UntrustedRun, match=rf"env\.actors has actors dial in at .*{value}"):
        load_run_config(plain)
    config = load_run_config(plain, trust=True)
    mark_run(plain, config)
    assert load_run_config(plain) == config  # once trusted, it is one's own
    edited(plain, value, "10.0.0.5:7000" if key == "listen" else "/etc/issue")
    with pytest.raises(UntrustedRun):
        load_run_config(plain)
