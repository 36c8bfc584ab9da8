"""What a model proposes: checked by the config loader, refused where it would run code, else one command."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.review.answer import Suggestion
from gymnast.review.proposals import Proposal, check_proposal
from gymnast.runs.store import RunFolder
from llm_server import REVIEW, llm_server, streamed


def checked(run: RunFolder, *overrides: tuple[str, str], of: str = "") -> Proposal:
    return check_proposal(Suggestion(of, "try", "because", overrides), {run.id: run})


@pytest.mark.parametrize(
    "override",
    [
        ("algo.lr", "1e-3"),
        ("algo.lr", "{kind: linear, start: 1e-3, end: 0}"),
        ("algo.lr.end", "1e-5"),
        ("policy.hidden", "[64, 64]"),
        ("algo.name", "a2c"),
        ("explore", "count"),
        ("env.wrappers", "[{name: cartpole-centring, weight: 0.5}]"),
        ("budget.env_steps", "300k"),
        ("stop.eval_return", "null"),
    ],
    ids="=".join,
)
def test_what_is_right_is_one_command(run: RunFolder, override: tuple[str, str]) -> None:
    proposal = checked(run, override)
    assert proposal.problem == ""
    assert proposal.start is not None
    words = shlex.split(proposal.command)
    assert words[:3] == ["gymnast", "train", "CartPole-v1:ppo"]
    config = api.show_config(words[2], overrides=words[3:]).config
    text = "=".join(override)
    assert config == api.show_config(run.config_path, overrides=[text]).config
    assert config != api.show_config(run.config_path).config


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        (("algo.learning_rate", "1e-3"), "command line: algo.learning_rate: unknown key (did you mean"),
        (("algo.clip_rnage", "0.1"), "(did you mean 'clip_range'?)"),
        (("env.wrappers", "[no-such-wrapper]"), "no-such-wrapper"),
        (("env.wrappers", "[{name: frame-stack, kk: 4}]"), "kk"),
        (("policy.hidden", "[100000000, 100000000]"), "policy.hidden"),
        (("device", "cuda:99"), "device: cuda:99"),
        (("precision", "bf16"), "precision: bf16 is for networks that read images"),
        (("algo.lr", "fast"), "algo.lr"),
        (("algo.lr", "[1, "), "not valid YAML"),
        (("algo.batch_size", "7"), "batch"),
        (("algo.lr", "0.01"), "the run has these settings already"),
        (("algo.lr", ""), "algo.lr has no value"),
        (("algo.lr", "1e-3\n--trust"), "is not a value"),
        (("algo.lr", "\x1b[2J"), "is not a value"),
        (("algo.lr", "1" * 501), "more than 500 characters"),
        (("--resume", "@last"), "is not the key of a setting"),
        (("; rm -rf ~", "1"), "is not the key of a setting"),
        (("algo lr", "1"), "is not the key of a setting"),
    ],
)
def test_what_is_wrong_is_rejected_with_the_loaders_words(
    run: RunFolder, override: tuple[str, str], problem: str
) -> None:
    proposal = checked(run, override)
    assert not proposal.is_ready
    assert proposal.command == ""
    assert problem in proposal.problem
    assert proposal.problem.isprintable()


@pytest.mark.parametrize(
    "override",
    [
        ("env.id", "evil_module:Env"),
        ("env.id", "LunarLander-v3"),
        ("env", "{id: 'evil_module:Env'}"),
        ("env.kwargs", "{path: /etc/passwd}"),
        ("env.kwargs.render_mode", "human"),
        ("env.mix", "[{id: 'evil_module:Env'}]"),
        ("env.wrappers", "['evil_module:Wrapper']"),
        ("env.wrappers", "[{name: 'evil_module:Wrapper'}]"),
        ("policy.encoder", "evil_module:Encoder"),
        ("policy", "{encoder: 'evil_module:Encoder'}"),
        ("policy.encoder_kwargs", "{a: 1}"),
        ("hooks", "['evil_module:Hook']"),
        ("hooks", "[{name: 'evil_module:Hook'}]"),
        ("sinks", "[wandb]"),
        ("sinks", "['evil_module:Sink']"),
        ("env.vizdoom.wad", "/tmp/x.wad"),
        ("env.retro.scenario", "/tmp/x.json"),
        ("env.actions", "['${OPENAI_API_KEY}']"),
    ],
    ids="=".join,
)
def test_what_would_run_code_is_refused(
    run: RunFolder, override: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(tmp_path)
    proposal = checked(run, ("algo.lr", "1e-3"), override)
    assert not proposal.is_ready
    assert proposal.command == ""
    assert any(word in proposal.problem for word in ("a model may not", "would import code"))
    assert "evil_module" not in sys.modules


def test_a_run_that_is_not_under_review(run: RunFolder) -> None:
    proposal = checked(run, ("algo.lr", "1e-3"), of="../../etc")
    assert proposal.problem == "no run '../../etc' is under review"
    assert checked(run, ("algo.lr", "1e-3"), of=f"run {run.id}").is_ready


def test_a_foreign_run_that_names_code_cannot_be_started(run: RunFolder) -> None:
    text = run.config_path.read_text().replace("id: CartPole-v1", 'id: "evil_module:Env"')
    run.config_path.write_text(text)
    proposal = checked(run, ("algo.lr", "1e-3"))
    assert not proposal.is_ready
    assert "its config is not trusted" in proposal.problem


def test_values_are_quoted_for_a_shell(run: RunFolder) -> None:
    proposal = checked(run, ("algo.lr", "{kind: linear, start: 1e-3, end: 0}"))
    assert "'algo.lr={kind: linear, start: 1e-3, end: 0}'" in proposal.command


def test_a_folder_with_a_space_in_its_name(run: RunFolder, tmp_path: Path) -> None:
    moved = RunFolder(Path(shutil.copytree(run.path, tmp_path / "my runs" / run.id)))
    moved.info_path.write_text(json.dumps({**moved.info(), "name": "no preset"}))
    proposal = checked(moved, ("algo.lr", "1e-3"))
    assert shlex.split(proposal.command) == ["gymnast", "train", str(moved.config_path), "algo.lr=1e-3"]


@pytest.mark.parametrize("name", ["CartPole-v1:ppo", "mine"])
def test_the_printed_command_trains(run: RunFolder, tmp_path: Path, name: str) -> None:
    """By a shell, as it stands in review.md: from the preset, and from the run's own file."""
    run.info_path.write_text(json.dumps({**run.info(), "name": name}))
    changes = [
        {"key": "algo.lr", "value": "{kind: linear, start: 2e-3, end: 0}"},
        {"key": "budget.env_steps", "value": "1024"},
    ]
    review: dict[str, Any] = {**REVIEW, "proposals": [{**REVIEW["proposals"][0], "overrides": changes}]}
    with llm_server(streamed(review)) as server:
        endpoint = api.review_endpoint(model="m", base_url=f"{server.url}/v1")
        api.review_runs(run.path, endpoint=endpoint)
    text = run.review_path.read_text()
    command = text.partition("```sh\n")[2].partition("\n```")[0]
    assert command.startswith("gymnast train ")
    called = f"{shlex.quote(sys.executable)} -m {command}"
    environment = {**os.environ, "GYMNAST_RUNS_DIR": str(tmp_path / "new")}
    subprocess.run(called, shell=True, check=True, env=environment, cwd=tmp_path, timeout=100)
    (made,) = api.list_runs(runs_dir=tmp_path / "new")
    assert made.status == "finished"
    config = api.show_config(tmp_path / "new" / made.id / "config.yaml").config
    assert config.algo.lr.start == 2e-3
    assert config.budget.env_steps == 1024
