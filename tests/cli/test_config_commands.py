from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gymnast.cli.config import app
from gymnast.config.reading import PACKAGED, parse_yaml
from gymnast.errors import GymnastError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def error_of(*arguments: str) -> str:
    """The message that the command line prints before it exits with 2."""
    with pytest.raises(GymnastError) as caught:
        CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return str(caught.value)


def test_show_prints_the_settings_and_their_sources() -> None:
    result = run("show", "CartPole-v1:ppo", "algo.lr=1e-2", "seed=7")
    assert result.exit_code == 0
    data = parse_yaml(result.stdout, "stdout")
    assert (data["seed"], data["algo"]["lr"], data["env"]["id"]) == (7, 0.01, "CartPole-v1")
    line = next(line for line in result.stdout.splitlines() if line.startswith("  lr:"))
    assert line.endswith("# command line")
    assert "# variant ppo" in result.stdout
    assert "# family _classic.yaml" in result.stdout


def test_show_leaves_out_what_has_no_effect_unless_all_is_asked_for() -> None:
    short, whole = run("show", "LunarLander-v3:ppo").stdout, run("show", "LunarLander-v3:ppo", "--all").stdout
    assert "  atari:" not in short
    assert "  atari:" in whole
    assert "--all shows them" in short.splitlines()[-1]
    assert "--all" not in whole
    config = json.loads(run("show", "LunarLander-v3:ppo", "--json").stdout)["config"]
    assert "atari" in config["env"], "scripts get every setting"


def test_show_as_json() -> None:
    shown = json.loads(run("show", "CartPole-v1:ppo-zoo", "--json", "env.n_envs=16").stdout)
    assert (shown["name"], shown["config"]["env"]["n_envs"]) == ("CartPole-v1:ppo-zoo", 16)
    assert shown["sources"]["env.n_envs"] == "command line"
    both = json.loads(run("show", "CartPole-v1:ppo", "Acrobot-v1:ppo", "--json").stdout)
    assert [one["name"] for one in both] == ["CartPole-v1:ppo", "Acrobot-v1:ppo"]


def test_show_prints_the_network_as_comments_and_as_json() -> None:
    text = run("show", "CartPole-v1:ppo").stdout
    assert "# network, numpy engine: 2,531 parameters" in text
    assert "# │   ├── 0: Linear 4 → 32, tanh → 32 (160)" in text
    image = ("show", "observation_envs:Cue", "env.kwargs.kind=image_dict", "policy.encoder=impala")
    assert "├── 0: Conv2d 3 × 3 → 16 × 12 × 12 (448)" in run(*image).stdout
    network = json.loads(run(*image, "--json").stdout)["network"]
    assert network["engine"] == "torch"
    encoder = next(part for part in network["parts"] if part["name"] == "encoder")
    assert encoder["output"] == [256 + 2]
    assert sum(part["parameters"] for part in network["parts"]) == network["parameters"]
    wrong = run(*image, "engine=numpy")
    assert wrong.exit_code == 0
    assert "# network: not known, an image in the observation needs engine: torch" in wrong.stdout


def test_show_of_what_is_not_there() -> None:
    assert error_of("show", "CartPole-v1").splitlines()[1] == "  gymnast config show CartPole-v1:ppo"
    assert "algo.lrr: unknown key (did you mean 'lr'?)" in error_of("show", "CartPole-v1:ppo", "algo.lrr=1")
    assert "no config is named" in error_of("show", "algo.lr=1")
    assert run("show").exit_code == 2


def test_validate_checks_every_preset_and_the_own_folder(folder: Path) -> None:
    result = run("validate")
    assert result.exit_code == 0, result.output
    count = result.stdout.count("ok      ")
    assert f"{count} of {count} configs are valid" in result.stdout
    assert count >= len([path for path in PACKAGED.glob("*.yaml") if path.stem[0] != "_"])

    (folder / "configs").mkdir()
    (folder / "configs/mine.yaml").write_text("env: {id: CartPole-v1}\nalgo: {lrr: 1}\nseed: -1\n")
    (folder / "configs/torn.yaml").write_text("env: {id: [")
    (folder / "configs/strange.yaml").write_text("env: {id: CartPol-v1}\n")
    (folder / "configs/wrapped.yaml").write_text("env: {id: CartPole-v1, wrappers: [no-such-wrapper]}\n")
    result = run("validate")
    assert result.exit_code == 2
    assert "failed  mine\n  mine: 2 problems" in result.stdout
    assert "configs/mine.yaml:2: algo.lrr: unknown key (did you mean 'lr'?)" in result.stdout
    assert "configs/mine.yaml:3: seed: must be at least 0, got -1" in result.stdout
    assert "failed  torn\n  configs/torn.yaml" in result.stdout
    assert "'CartPol-v1' (did you mean 'CartPole-v1'" in result.stdout
    assert "no-such-wrapper" in result.stdout
    assert f"{count} of {count + 4} configs are valid" in result.stdout


def test_validate_of_named_ones(folder: Path) -> None:
    (folder / "my.yaml").write_text("base: {env: {id: CartPole-v1}}\nvariants: {a: {}, b: {seed: x}}\n")
    result = run("validate", "my.yaml", "CartPole-v1", "--json")
    assert result.exit_code == 2
    by_name = {one["name"]: one for one in json.loads(result.stdout)}
    assert by_name["my.yaml:a"]["ok"]
    assert by_name["my.yaml:b"]["problem"] == "my.yaml:2: seed: must be a whole number, got 'x'"
    assert by_name["CartPole-v1:ppo-zoo"]["ok"]
    assert run("validate", "CartPole-v1:ppo").stdout == "ok      CartPole-v1:ppo\n1 of 1 configs are valid\n"


def test_format_rewrites_only_what_changes(folder: Path) -> None:
    (folder / "configs").mkdir()
    untidy = folder / "configs/untidy.yaml"
    untidy.write_text("# head\n\nalgo:   {gamma: 0.9, lr: 1}\nenv: {id: X}\n")
    tidy = folder / "configs/tidy.yaml"
    tidy.write_text("env: {id: X}\n")
    before = tidy.stat().st_mtime_ns

    result = run("format", "--check")
    assert result.exit_code == 1
    assert result.stdout == "unchanged  configs/tidy.yaml\nwould change  configs/untidy.yaml\n"
    assert "algo:   {" in untidy.read_text(), "a check changes nothing"

    result = run("format", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == [
        {"file": "configs/tidy.yaml", "changed": False},
        {"file": "configs/untidy.yaml", "changed": True},
    ]
    assert untidy.read_text() == "# head\n\nenv: {id: X}\nalgo: {lr: 1, gamma: 0.9}\n"
    assert tidy.stat().st_mtime_ns == before
    assert run("format", "--check").exit_code == 0
    assert sorted(path.name for path in (folder / "configs").iterdir()) == ["tidy.yaml", "untidy.yaml"]


def test_format_of_named_files(folder: Path) -> None:
    (folder / "x.yaml").write_text("seed: 1\n")
    assert run("format", "x.yaml", "CartPole-v1", "--check").exit_code == 0
    assert error_of("format", "nothing.yaml") == "nothing.yaml: there is no such file"
    assert "there is no config 'CartPol-v1' (did you mean 'CartPole-v1'" in error_of("format", "CartPol-v1")
    (folder / "x.yaml").write_text("seed: [1\n")
    assert error_of("format", "x.yaml").startswith("x.yaml")
    assert "no config files found" in run("format").stdout


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("sinks: [metricz]", "no 'metricz' (did you mean 'metrics'?)"),
        ('hooks: ["no_such_module:Hook"]', "no module 'no_such_module'"),
    ],
)
def test_validate_finds_wrong_sinks_and_hooks(folder: Path, section: str, message: str) -> None:
    (folder / "mine.yaml").write_text(
        f"base:\n  env: {{id: CartPole-v1}}\n  {section}\nvariants:\n  a: {{}}\n"
    )
    result = run("validate", "mine.yaml")
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
