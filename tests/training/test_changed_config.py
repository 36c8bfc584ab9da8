"""A resume with another config: older checkpoints stay what they were, and only scores that compare count."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.runs import registry
from gymnast.runs.checkpoint import best_checkpoint, list_checkpoints
from gymnast.runs.files import sha256
from gymnast.training.run.keys import TerminalKeys
from gymnast.training.score_meaning import changed_meaning

Train = Callable[..., api.Run]
Stopper = Callable[[int], TerminalKeys]
STEPS = 64  # env steps of an update of `train`


def evaluate(run: api.Run, checkpoint: str | int) -> api.Evaluation:
    return api.evaluate(f"{run.id}/{checkpoint}", episodes=5, seed=3, runs_dir=run.path.parent)


def log(run: api.Run) -> str:
    return run.folder.log_path.read_text()


def test_older_checkpoint_is_scored_as_it_was_trained(tmp_path: Path, train: Train) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=4, checkpoint__every=STEPS, checkpoint__keep=99)
    before = evaluate(run, 2 * STEPS)
    trace = api.record_trace(f"{run.id}/{2 * STEPS}", frames=False, runs_dir=tmp_path)
    run = api.resume(
        run.id,
        overrides=["env.max_episode_steps=7", "policy.activation=relu"],
        max_env_steps=8 * STEPS,
        runs_dir=tmp_path,
    )
    assert evaluate(run, 2 * STEPS).returns == before.returns, "its own activation and time limit"
    assert set(evaluate(run, "@last").returns) == {7.0}
    again = api.record_trace(f"{run.id}/{2 * STEPS}", frames=False, runs_dir=tmp_path)
    assert again.meta.config_sha256 == trace.meta.config_sha256
    configs = sorted(path.name for path in run.folder.checkpoints.glob("config-*"))
    assert len(configs) == 2, "checkpoints of one config share it"


def test_changed_meaning_resets_the_best_score_and_reports_it(
    tmp_path: Path, train: Train, stop_after: Stopper
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=4)
    best = run.outcome.best_score
    assert best is not None
    assert best > 7
    first_best = best_checkpoint(run.folder)
    assert first_best is not None
    run = api.resume(
        run.id,
        overrides=["env.max_episode_steps=7", "eval.every=4000"],
        max_env_steps=6 * STEPS,
        runs_dir=tmp_path,
        requests=stop_after(1),
    )
    assert run.outcome.best_score is None
    assert f"env.max_episode_steps): the best one so far, {best:g}, no longer counts" in log(run)
    (entry,) = registry.entries(tmp_path)
    assert (entry.best_score, entry.last_score, entry.solved) == (None, None, False)
    with pytest.raises(GymnastError, match="has no score of what is trained now, so it has no @best"):
        evaluate(run, "@best")
    run = api.resume(run.id, overrides=[f"eval.every={STEPS}"], max_env_steps=8 * STEPS, runs_dir=tmp_path)
    assert run.outcome.best_score == 7
    assert log(run).count("no longer counts") == 1, "once"
    assert evaluate(run, "@best").env_steps > 4 * STEPS
    run.folder.status_path.unlink()
    assert registry.entry_of(run.folder).best_score == 7, "also when it is read from the checkpoints"
    assert first_best in list_checkpoints(run.folder), "the best of before is kept"


def test_killed_before_a_checkpoint_of_the_new_meaning_forgets_the_old_best(
    tmp_path: Path, train: Train, stop_after: Stopper
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=4)
    run = api.resume(
        run.id,
        overrides=["env.max_episode_steps=7"],
        max_env_steps=8 * STEPS,
        runs_dir=tmp_path,
        requests=stop_after(1),
    )
    for path in run.folder.checkpoints.glob(f"{5 * STEPS:012d}.*"):
        path.unlink()  # as if the process had been killed before it saved
    with pytest.raises(GymnastError, match="no @best"):
        evaluate(run, "@best")
    run = api.resume(run.id, runs_dir=tmp_path)
    assert run.outcome.best_score == 7


@pytest.mark.parametrize(
    "changes",
    [
        {"algo.lr": 1e-4},
        {"env.n_envs": 8},
        {"env.spec.solved_at": 9.0},
        {"policy.activation": "relu"},
        {"eval.episodes": 3},
        {"eval.seed": 5},
        {"budget.env_steps": 10**6},
    ],
    ids=str,
)
def test_other_changes_keep_the_best_score(changes: dict[str, Any], tmp_path: Path, train: Train) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=2)
    best = run.outcome.best_score
    assert best is not None
    resumed = api.resume(
        run.id, overrides={"budget.env_steps": 3 * STEPS, "eval.every": 0, **changes},
        runs_dir=tmp_path, hooks=[StopAtOnce()],
    )  # fmt: skip
    assert resumed.outcome.best_score == best
    assert "no longer counts" not in log(resumed)


class StopAtOnce(api.Hook):
    name = "stop-at-once"

    def after_update(self, report: Any) -> Any:
        return [api.Stop("enough")]


def meaning(base: dict[str, Any], changes: dict[str, Any], reference: str = "CartPole-v1:ppo") -> list[str]:
    return changed_meaning(load_config(reference, base).config, load_config(reference, base | changes).config)


CENTRING = {"env.wrappers": [{"name": "cartpole-centring"}]}
SHORT, LONG = {"name": "short", "max_episode_steps": 50}, {"name": "long", "max_episode_steps": 500}


@pytest.mark.parametrize(
    ("base", "changes", "expected"),
    [
        ({}, {"env.max_episode_steps": 50}, ["env.max_episode_steps"]),
        ({}, {"env.kwargs": {"sutton_barto_reward": True}}, ["env.kwargs.sutton_barto_reward"]),
        ({}, {"eval.stochastic": True}, ["eval.stochastic"]),
        ({}, {"eval.stochastic": False}, []),
        ({}, CENTRING, []),
        ({"eval.training_wrappers": True}, CENTRING, ["env.wrappers"]),
        (CENTRING, {"eval.training_wrappers": True}, ["eval.training_wrappers"]),
        ({}, {"env.mix": [SHORT, LONG]}, ["env.mix"]),
        ({"env.mix": [SHORT, LONG]}, {"env.mix": [LONG, SHORT]}, []),
        ({"env.mix": [SHORT, LONG]}, {"env.mix": [SHORT | {"weight": 3.0}, LONG]}, []),
        ({"env.mix": [SHORT, LONG]}, {"env.mix": [SHORT]}, ["env.mix"]),
        ({"env.mix": [SHORT, LONG]}, {"env.mix": [SHORT, LONG | {"max_episode_steps": 60}]}, ["env.mix"]),
        ({}, {"seed": 9, "algo.gamma": 0.5, "device": "cpu", "env.backend": "sync"}, []),
    ],
    ids=str,
)
def test_meaning_of_a_score(base: dict[str, Any], changes: dict[str, Any], expected: list[str]) -> None:
    assert meaning(base, changes) == expected


def test_atari_rewards_of_training_leave_scores_alone() -> None:
    def found(changes: dict[str, Any]) -> list[str]:
        return meaning({}, changes, "ALE/Pong-v5:ppo")

    assert found({"env.atari.clip_reward": False, "env.atari.episodic_point": True}) == []
    assert found({"env.atari.sticky": 0.0}) == ["env.atari.sticky"]


def test_checkpoint_of_an_older_version_gets_the_config_of_its_time(tmp_path: Path, train: Train) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=4, checkpoint__every=STEPS, checkpoint__keep=99)
    before = evaluate(run, 2 * STEPS)
    for checkpoint in list_checkpoints(run.folder):  # as they were saved before configs were kept
        document = json.loads(checkpoint.json_path.read_text())
        for key in ("checksum", "config", "scores_from"):
            del document[key]
        text = json.dumps(document, indent=1, sort_keys=True)
        document["checksum"] = sha256(text.encode())
        checkpoint.json_path.write_text(json.dumps(document, indent=1, sort_keys=True))
    for path in run.folder.checkpoints.glob("config-*"):
        path.unlink()
    assert evaluate(run, 2 * STEPS).returns == before.returns
    for limit, updates in ((7, 6), (8, 8)):
        run = api.resume(
            run.id,
            overrides={"env.max_episode_steps": limit},
            max_env_steps=updates * STEPS,
            runs_dir=tmp_path,
        )
    assert evaluate(run, 2 * STEPS).returns == before.returns
    assert set(evaluate(run, 5 * STEPS).returns) == {7.0}


def test_checkpoint_without_its_config_is_passed_over(
    tmp_path: Path, train: Train, caplog: pytest.LogCaptureFixture
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=2)
    (kept,) = run.folder.checkpoints.glob("config-*")
    kept.unlink()
    assert evaluate(run, "@last").env_steps == 2 * STEPS, "the run's own config is the same"
    run.folder.config_path.write_text(run.folder.config_text() + "\n")
    with pytest.raises(GymnastError, match=r"every checkpoint of run .* is damaged"):
        evaluate(run, "@last")
    assert f"checkpoint {2 * STEPS} of run {run.id} is damaged: {kept.name}, its config" in caplog.text


def test_damaged_config_of_a_run_is_replaced_by_that_of_its_last_checkpoint(
    tmp_path: Path, train: Train
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=2)
    text = run.folder.config_text()
    run.folder.config_path.write_bytes(b"\xff\xfe not a config")
    run = api.resume(run.id, max_env_steps=3 * STEPS, runs_dir=tmp_path)
    assert run.folder.config_text() == text.replace("env_steps: 128", "env_steps: 192")
    assert (run.path / "config.yaml.damaged-1").read_bytes() == b"\xff\xfe not a config"
    assert f"the config of checkpoint {2 * STEPS} takes its place" in log(run)
