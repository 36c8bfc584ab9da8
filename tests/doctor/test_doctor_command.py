"""`gymnast doctor`: lines as they are found, a verdict, and an exit code; or JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gymnast import api
from gymnast.cli.app import main
from gymnast.errors import GymnastError


def gymnast(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


def test_algorithms_are_tried_without_a_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert gymnast("doctor", "--algo", "ppo") == 0
    text = capsys.readouterr().out
    assert text.startswith("PPO\n  ✓ value: value 1.0")
    assert "✓ policy from observation (continuous)" in text
    assert text.endswith("ppo: healthy: 7 probes passed\n")


def test_json_of_algorithms_is_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert gymnast("doctor", "--algo", "reinforce", "--json") == 0
    (examined,) = json.loads(capsys.readouterr().out)
    assert examined["healthy"] is True
    assert [p["probe"] for p in examined["probes"]][:5] == [
        "constant", "observation", "discount", "action", "match"
    ]  # fmt: skip


def test_sick_setting_is_named_and_the_exit_code_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert gymnast("doctor", "CartPole-v1:ppo", "algo.lr=0", "--no-render") == 1
    text = capsys.readouterr().out
    assert "✗ value: " in text
    assert "      expected value 1.00 ± 0.1\n" in text
    assert text.splitlines()[-1].startswith("CartPole-v1:ppo: broken: the learner, at the probe 'value'")
    assert "algo.lr is 0" in text.splitlines()[-1]


def test_sick_env_wrapper_and_setting_are_all_in_the_verdict() -> None:
    found = api.examine(
        "ailing_envs:NaNReward",
        overrides={
            "env.wrappers": [{"name": "ailing_plugins:TurnedAround"}],
            "algo.entropy_coef": 5.0,
        },
        render=False,
    )
    assert not found.healthy
    assert "the learner, at the probe 'policy'" in found.verdict
    assert "wrapper ailing_plugins:TurnedAround" in found.verdict
    assert "env, NaN: the reward is nan" in found.verdict


def test_env_that_cannot_be_built_is_a_finding(tmp_path: Path) -> None:
    """A config of one's own says how to learn; without one there is no space to take that from."""
    with pytest.raises(GymnastError, match="no such level"):
        api.examine("ailing_envs:CannotBeBuilt")
    file = tmp_path / "mine.yaml"
    file.write_text("base:\n  env: {id: 'ailing_envs:CannotBeBuilt'}\n")
    found = api.examine(file, render=False)
    assert {probe.status for probe in found.probes} == {"skipped"}
    assert "no such level" in found.verdict


def test_narrow_terminals_get_lines_that_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert gymnast("doctor", "CartPole-v1:ppo", "--no-render") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--algo", "pppo"), "did you mean 'ppo'"),
        (("CartPole-v1:ppo", "--algo", "a2c"), "algo.name=a2c"),
        (("CartPole-v1",), "gymnast doctor CartPole-v1:ppo"),
        (("algo.lr=1",), "no config is named"),
        (("CartPole-v1:ppo", "algo.lrr=1"), "did you mean"),
        (("CartPole-v9",), "CartPole-v1"),
    ],
)
def test_bad_input_is_one_message(
    words: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gymnast("doctor", *words) == 2
    text = capsys.readouterr().err
    assert hint in text.replace(" -m gymnast ", " gymnast ") or hint.removeprefix("gymnast ") in text
    assert "Traceback" not in text


def test_what_envs_print_stays_out_of_the_output(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", "doctor", "ailing_envs:Chatty", "--json", "--no-render"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    examined = json.loads(done.stdout)
    (printed,) = [f for f in examined["env"] if f["check"] == "output"]
    assert "chatter" in printed["message"]
    assert "chatter" not in done.stderr
