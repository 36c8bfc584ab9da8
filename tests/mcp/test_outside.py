"""What a model may not name: files, code, variables, other machines' runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.mcp.serving import Serving
from mcp_clients import Failed, call, finished, in_memory

pytestmark = pytest.mark.timeout(300)  # a busy machine

SECRET = "do-not-show-this-line"


@pytest.fixture
def own(tmp_path: Path) -> Serving:
    return Serving(runs_dir=tmp_path / "runs")


@pytest.mark.parametrize(
    "overrides",
    [
        {"env.wrappers": ["probe_module:Wrapper"]},
        {"env.wrappers": [{"name": "probe_module:Wrapper"}]},
        {"env.id": "probe_module:Env"},
        {"env": {"id": "probe_module:Env"}},
        {"hooks": ["probe_module:Hook"]},
        {"policy.encoder": "probe_module:Encoder"},
        {"policy": {"encoder": "probe_module: Encoder"}},
        {"env.kwargs": {"path": "/etc/passwd"}},
        {"env.kwargs": {"path": "~/.ssh/id_rsa"}},
        {"env.kwargs": {"path": "../../x"}},
        {"env.kwargs": {"key": "${HOME}"}},
        {"sinks": ["wandb"]},
        ["env.wrappers=[probe_module:Wrapper]"],
        ["env.kwargs.path=/etc/passwd"],
        ["sinks=[wandb]"],
    ],
)
@pytest.mark.parametrize("tool", ["start_training", "get_config", "validate_config"])
def test_settings_that_reach_out_are_refused(
    own: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, overrides: Any
) -> None:
    marker = tmp_path / "imported"
    (tmp_path / "probe_module.py").write_text(f"open({str(marker)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(Failed, match="is refused here"):
        call(own, tool, reference="CartPole-v1:ppo", overrides=overrides)
    assert not marker.exists()


BINARY = "!!binary cHJvYmVfbW9kdWxlOldyYXBwZXI="  # probe_module:Wrapper, without a colon


@pytest.mark.parametrize(
    "overrides",
    [
        {r'env.wrappers=["probe_module\u003aWrapper"] #': 1},  # a key that is a whole override
        {'env.wrappers=[{name: "probe_module\\x3aWrapper"}]\n#': 1},
        {"sinks=[tensorboard] #": 1},
        {"seed=1 sinks": 1},
        {"--trust": True},
        [f"env.wrappers=[{{name: {BINARY}}}]"],
        [f"env.id={BINARY}"],
        [f"policy.encoder={BINARY}"],
        [f"hooks=[{{name: {BINARY}}}]"],
        ["env.kwargs={path: !!binary L2V0Yy9wYXNzd2Q=}"],
        ["env.kwargs={path: !!set {/etc/passwd}}"],
        [r'env.wrappers=[{name: "probe_module\x3aWrapper"}]'],
        ['env.wrappers=[{"probe_module:Wrapper": {}}]'],
    ],
)
def test_no_way_of_writing_a_setting_hides_what_it_names(
    trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: Any
) -> None:
    marker = tmp_path / "imported"
    (tmp_path / "probe_module.py").write_text(f"open({str(marker)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    serving: Serving = trained.serving
    before = sorted(path.name for path in serving.runs_dir.iterdir()) if serving.runs_dir else []
    for tool, named in (
        ("get_config", {"reference": "CartPole-v1:ppo"}),
        ("validate_config", {"reference": "CartPole-v1:ppo"}),
        ("start_training", {"reference": "CartPole-v1:ppo"}),
        ("start_training", {"like_run": trained.good}),
        ("start_sweep", {"reference": "CartPole-v1:ppo"}),
        ("resume_training", {"run": trained.good, "max_env_steps": 20_000}),
        ("evaluate", {"run": trained.good}),
    ):
        with pytest.raises(Failed, match=r"is refused here|is not the key of a setting|is not a value of a"):
            call(serving, tool, **named, overrides=overrides)
    assert not marker.exists()
    assert serving.runs_dir is not None
    assert before == sorted(path.name for path in serving.runs_dir.iterdir())


@pytest.mark.parametrize(
    "overrides",
    [
        ["env.wrappers=[probe_module:Wrapper]"],
        ["hooks=[{name: 'probe_module:Hook', token: '${HOME}'}]"],
        ["cluster.on=ray", "cluster.address='ray://127.0.0.1:10001'"],
    ],
)
def test_loaded_settings_are_checked_too(trained: Any, overrides: list[str]) -> None:
    """Should the look at their texts ever miss one."""
    with pytest.raises(GymnastError, match="is refused here"):
        api.check_loads("CartPole-v1:ppo", overrides)
    folder = trained.serving.run(trained.good)
    with pytest.raises(GymnastError, match="is refused here"):
        api.check_changes(folder, overrides)
    api.check_changes(folder, overrides, trust=True)
    api.check_changes(folder, ["algo.lr=1e-3"])


@pytest.mark.parametrize(
    "reference",
    [
        "probe_module:Env",
        "probe_module:Env:ppo",
        "secret.yaml",
        "./secret.yaml",
        "/etc/passwd",
        "../secret",
        "~/secret.yml",
    ],
)
def test_references_that_reach_out_are_refused(
    own: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    marker = tmp_path / "imported"
    (tmp_path / "probe_module.py").write_text(f"open({str(marker)!r}, 'w')\n")
    (tmp_path / "secret.yaml").write_text(f"{SECRET}: [1")
    monkeypatch.chdir(tmp_path)
    for tool in ("start_training", "get_config", "validate_config"):
        with pytest.raises(Failed) as refused:
            call(own, tool, reference=reference)
        assert SECRET not in str(refused.value)
    assert not marker.exists()


@pytest.mark.parametrize(
    "text",
    [
        "extends: secret.yaml\nenv: {id: CartPole-v1}",
        "extends: ../secret",
        "base: {extends: /etc/secret.yml, env: {id: CartPole-v1}}",
        "variants: {a: {extends: [secret.yaml]}}",
        "env: {id: 'probe_module:Env'}",
        "env: {id: CartPole-v1, wrappers: ['probe_module:W']}",
        "env: {id: CartPole-v1, kwargs: {x: '${HOME}'}}",
        "env: {id: CartPole-v1}\nhooks: [{name: 'probe_module:Hook'}]",
    ],
)
def test_yaml_that_reaches_out_is_refused(
    own: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "secret.yaml").write_text(f"{SECRET}: [1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Failed) as refused:
        call(own, "validate_config", yaml=text)
    assert SECRET not in str(refused.value)


def test_trust_allows_the_users_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tame.yaml").write_text("extends: CartPole-v1:ppo\n")
    monkeypatch.chdir(tmp_path)
    assert call(Serving(tmp_path, trust=True), "validate_config", reference="tame.yaml")["ok"]
    # A config folder needs no trust: its files are known by their names.
    (tmp_path / "configs").mkdir()
    shutil.move(tmp_path / "tame.yaml", tmp_path / "configs")
    assert call(Serving(tmp_path), "validate_config", reference="tame")["ok"]


@pytest.mark.parametrize(
    "run", ["/etc", "../..", "~", ".", "", "@lsat", "a\0b", "x" * 5000, "\n", "job-../../x", "runs/../x"]
)
def test_runs_are_looked_up_and_never_joined_into_a_path(trained: Any, run: str) -> None:
    tools = [
        "describe_run",
        "get_metrics",
        "diagnose_run",
        "read_log",
        "evaluate",
        "stop_training",
        "publish",
    ]
    for tool in tools:
        with pytest.raises(Failed) as refused:
            call(trained.serving, tool, run=run)
        assert len(str(refused.value)) < 600


def test_a_run_from_elsewhere_is_not_trusted(trained: Any, tmp_path: Path) -> None:
    """Its config names code: nothing that would build it does, and what only reads it works."""
    folder = tmp_path / "runs" / trained.good
    shutil.copytree(trained.serving.runs_dir / trained.good, folder)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("id: CartPole-v1", "id: 'probe_module:Env'"))
    for mark in folder.glob("mark.json"):
        mark.unlink()
    serving = Serving(tmp_path / "runs")
    assert call(serving, "describe_run", run=trained.good)["run"]["id"] == trained.good
    for tool, arguments in (
        ("resume_training", {"run": trained.good, "max_env_steps": 99_000}),
        ("start_training", {"like_run": trained.good}),
    ):
        with pytest.raises(Failed, match="not trusted"):
            call(serving, tool, **arguments)
    job = finished(serving, "evaluate", run=f"{trained.good}/@last", wait_seconds=45)
    assert job["state"] in ("failed", "done")
    if job["state"] == "failed":  # a checkpoint keeps the config that it was trained with
        assert "not trusted" in job["error"]


def test_a_run_from_elsewhere_sends_its_metrics_nowhere(trained: Any, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / trained.good
    shutil.copytree(trained.serving.runs_dir / trained.good, folder)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("sinks: []", "sinks: [{name: wandb, entity: eve}]"))
    (folder / "mark.json").unlink()
    serving = Serving(tmp_path / "runs")
    for tool, arguments in (
        ("resume_training", {"run": trained.good, "max_env_steps": 99_000}),
        ("start_training", {"like_run": trained.good}),
    ):
        with pytest.raises(Failed, match="made elsewhere, is refused here: it would send metrics elsewhere"):
            call(serving, tool, **arguments)
    assert [run.id for run in api.list_runs(runs_dir=serving.runs_dir)] == [trained.good]
    config.write_text(config.read_text().replace("entity: eve", "mode: offline"))
    run = api.find_run(trained.good, runs_dir=serving.runs_dir)
    api.check_changes(run, [], trains=True)  # it stays on this machine


def test_text_of_a_run_is_redacted(trained: Any, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / trained.good
    shutil.copytree(trained.serving.runs_dir / trained.good, folder)
    token = "hf_" + "a1B2" * 9
    with (folder / "run.log").open("a") as log:
        log.write(f"the token is {token}\n")
    serving = Serving(tmp_path / "runs")

    async def session(client: Any) -> str:
        read = await client.read_resource(f"gymnast://runs/{trained.good}/log")
        found = await client.call_tool("read_log", {"run": trained.good, "pattern": "token"})
        return str(read.contents[0].text) + json.dumps(found.structured_content)

    said = in_memory(serving, session)
    assert "the token is ***" in said
    assert token not in said


def test_api_takes_a_text_that_is_not_yaml_at_all() -> None:
    assert not api.check_outside_config(text="[1, 2]").ok
    assert not api.check_outside_config(text="\t").ok
