"""One policy for several tasks: it learns each of them, and each has its metrics and its score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast import api
from gymnast.cli.eval import evaluate
from gymnast.cli.runs import show
from gymnast.config.load import load_config
from gymnast.envs.build import make_env
from gymnast.envs.mix.build import build_task
from gymnast.errors import GymnastError
from gymnast.training.requests import Request, Requests
from gymnast.training.state import TrainState

QUIZ = """
env:
  id: quiz_env:Quiz
  n_envs: 8
  backend: sync
  mix:
    - {name: two, weight: 3, kwargs: {n_actions: 2}, spec: {solved_at: 4.9}}
    - {name: four, kwargs: {n_actions: 4, shift: 1}, spec: {solved_at: 4.5}}
policy: {hidden: [32]}
algo: {n_steps: 32, lr: 1e-2, batch_size: 64, entropy_coef: 0.01}
budget: {env_steps: 60k}
eval: {every: 2k, episodes: 20}
"""


@pytest.fixture(autouse=True)
def envs_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def quiz(tmp_path: Path) -> str:
    (tmp_path / "quiz.yaml").write_text(QUIZ)
    return str(tmp_path / "quiz.yaml")


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([70.0, 744.7, 745.5])), min_size=1), st.booleans())
def test_the_best_of_a_mix_is_the_highest_of_those_that_solved_every_task(
    scores: list[tuple[bool, float]], is_mix: bool
) -> None:
    state = TrainState()
    bests = [at for at, (solves, mean) in enumerate(scores) if state.take_score(mean, solves, is_mix=is_mix)]
    best = max(range(len(scores)), key=lambda at: (is_mix and scores[at][0], scores[at][1], at))
    assert bests[-1] == best
    assert state.best_score == scores[best][1]
    assert state.last_score == scores[-1][1]
    assert state.solved == any(solves for solves, _ in scores)


def test_one_trunk_with_heads_of_their_own_learns_tasks_that_differ(
    quiz: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = api.train(quiz, runs_dir=tmp_path)
    assert run.outcome.status == "solved"
    assert run.outcome.reason == "every task reached its threshold"
    rows = run.metrics()
    last = [row for row in rows if row.get("eval/return/mean") is not None][-1]
    assert last["eval/task/two/return/mean"] >= 4.9
    assert last["eval/task/four/return/mean"] >= 4.5
    both = (last["eval/task/two/return/mean"] + last["eval/task/four/return/mean"]) / 2
    assert last["eval/return/mean"] == pytest.approx(both)
    assert last["eval/episodes"] == 40
    assert last["eval/task/two/length/mean"] == 5
    # 8 copies by weights 3 and 1, five steps per episode.
    assert (last["task/two/share"], last["task/four/share"]) == (0.75, 0.25)
    assert last["task/two/episodes"] + last["task/four/episodes"] == last["time/episodes"]
    assert last["task/two/episodes"] == pytest.approx(0.75 * last["time/env_steps"] / 5, abs=6)
    assert last["task/four/return/mean"] == last["task/four/return_plain/mean"]
    assert rows[0]["task/four/return/mean"] < 3

    score = api.evaluate(run, episodes=50)
    assert score.solved
    assert score.episodes == len(score.returns) == 100
    assert [task.name for task in score.tasks] == ["two", "four"]
    assert [task.episodes for task in score.tasks] == [50, 50]
    assert score.tasks[1].mean_return == np.mean(score.returns[50:])

    show(run.id, runs_dir=tmp_path)
    expected = f"four: {last['eval/task/four/return/mean']:.2f} in the last, "
    assert expected in capsys.readouterr().out
    evaluate(run.id, episodes=10, runs_dir=str(tmp_path))
    shown = capsys.readouterr().out
    assert "20, 10 of each task, greedy" in shown
    assert any(line.split()[0] == "four" and line.endswith("solved") for line in shown.splitlines()[5:])
    evaluate(run.id, episodes=10, runs_dir=str(tmp_path), as_json=True)
    assert [task["name"] for task in json.loads(capsys.readouterr().out)["tasks"]] == ["two", "four"]

    # The policy of one task answers that task's own questions with its own actions.
    for name, n_actions, shift in (("two", 2, 0), ("four", 4, 1)):
        policy = api.load_task_policy(run, task=name)
        asked = np.eye(4, dtype=np.float32)[:n_actions]
        assert policy.predict(asked).tolist() == [(i + shift) % n_actions for i in range(n_actions)]
    masks = np.array([[True, False, True, True]] * 4)
    assert policy.predict(np.eye(4, dtype=np.float32), masks=masks).tolist()[0] != 1
    with pytest.raises(GymnastError, match=r"no task is called 'for' .did you mean 'four'"):
        api.load_task_policy(run, task="for")
    assert api.load_policy(run).layout.n_outputs == 6


def test_policy_that_knows_the_task_learns_what_it_could_not_guess(quiz: str, tmp_path: Path) -> None:
    """Both tasks show the same and want the opposite: that takes the task as input, or a head per task."""
    tasks: list[dict[str, Any]] = [{"name": "same"}, {"name": "swapped", "kwargs": {"shift": 1}}]
    overrides: dict[str, Any] = {
        "env.mix": [{**task, "spec": {"solved_at": 4.9}} for task in tasks],
        "budget.env_steps": 30_000,
    }
    blind = api.train(quiz, overrides={**overrides, "budget.env_steps": 6000}, runs_dir=tmp_path)
    assert blind.outcome.best_score is not None
    assert blind.outcome.best_score < 3.5
    knows = api.train(quiz, overrides={**overrides, "env.task_input": True}, runs_dir=tmp_path)
    assert knows.outcome.status == "solved"
    heads = api.train(quiz, overrides={**overrides, "env.task_heads": "separate"}, runs_dir=tmp_path)
    assert heads.outcome.status == "solved"
    policy = api.load_task_policy(knows, task="swapped")
    assert policy.predict(np.eye(4, dtype=np.float32)[:2]).tolist() == [1, 0]


def test_a_greedy_task_policy_plays_as_evaluation_does(quiz: str, tmp_path: Path) -> None:
    run = api.train(quiz, overrides={"budget.env_steps": 2048, "env.task_input": True}, runs_dir=tmp_path)
    config = load_config(str(run.folder.config_path)).config.env
    envs = build_task(config, "four", n_envs=1, seed=4)
    policy, task_policy = api.load_policy(run), api.load_task_policy(run, task="four")
    single = make_env(config.tasks[1].env, training=False)
    seen, alone = envs.reset(), single.reset(seed=envs.seeds[0])[0]
    for _ in range(4):
        step = envs.step(policy.env_actions(seen, None, envs.masks))
        alone, reward, *_ = single.step(int(task_policy.predict(alone[None])[0]))
        assert float(step.rewards[0]) == reward
        seen = step.obs


@pytest.mark.parametrize("task_input", [False, True])
def test_stopped_run_resumes_to_the_same_end(
    quiz: str,
    tmp_path: Path,
    task_input: bool,
    stop_after: Callable[[int], Requests],
    assert_same_run: Callable[[api.Run, api.Run], None],
) -> None:
    changes = {
        "env.task_input": task_input,
        "budget.env_steps": 2560,
        "stop.eval_return": None,
        "eval.every": 512,
    }
    whole = api.train(quiz, overrides=changes, runs_dir=tmp_path)
    parted = api.train(quiz, overrides=changes, runs_dir=tmp_path, requests=stop_after(4))
    assert parted.outcome.status == "interrupted"
    assert_same_run(whole, api.resume(parted))


def test_copies_in_groups_count_for_their_tasks(quiz: str, tmp_path: Path) -> None:
    run = api.train(quiz, overrides={"env.groups": 2, "budget.env_steps": 2560}, runs_dir=tmp_path)
    last = run.metrics()[-1]
    assert (last["task/two/share"], last["task/four/share"]) == (0.75, 0.25)
    assert last["task/two/episodes"] == pytest.approx(0.75 * last["time/env_steps"] / 5, abs=6)


def test_a_resume_may_add_a_task(quiz: str, tmp_path: Path) -> None:
    """Its actions being those of the others, the policy fits."""
    changes = {"budget.env_steps": 1024, "env.mix": [{"name": "a"}, {"name": "b", "kwargs": {"shift": 1}}]}
    run = api.train(quiz, overrides=changes, runs_dir=tmp_path)
    again = api.resume(
        run, overrides={"env.mix": [{"name": "c"}, {"name": "b"}, {"name": "a"}], "budget.env_steps": 2048}
    )
    row = again.metrics()[-1]
    assert row["task/b/episodes"] > row["task/c/episodes"] > 0


def test_evaluation_in_the_background_scores_each_task_the_same(
    quiz: str, tmp_path: Path, press: Callable[..., Requests]
) -> None:
    changes = {"budget.env_steps": 1024, "stop.eval_return": None, "eval.every": 1024, "eval.episodes": 6}
    inline = api.train(quiz, overrides=changes, runs_dir=tmp_path)
    background = api.train(quiz, overrides={**changes, "eval.background": True}, runs_dir=tmp_path)
    scores = [
        [value for key, value in run.metrics()[-1].items() if key.startswith("eval/task/")]
        for run in (inline, background)
    ]
    assert len(scores[0]) == 4
    assert scores[0] == scores[1]


def test_task_that_fails_is_named(quiz: str, tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match="environment 'quiz_env:Quiz' has no argument 'n_acton'"):
        api.train(quiz, overrides=["env.mix.1.kwargs.n_acton=3"], runs_dir=tmp_path)
    assert not any(tmp_path.glob("*/config.yaml"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("env.mix=[]", "env.mix: has no tasks; drop it, or give each task an entry"),
        ("env.mix.0.wieght=2", "env.mix[0].wieght: unknown key (did you mean 'weight'?)"),
        ("env.mix.1.weight=0", "env.mix[1].weight: must be greater than 0, got 0"),
        ("env.mix.1.name=two", "env.mix[1].name: 'two' is the name of another task already"),
        ("env.mix.2.weight=1", "env.mix.2.weight: env.mix has no entry 2; there are 0 to 1"),
        ("env.mix.0.name.x=1", "env.mix.0.name.x: env.mix.0.name is a single value, with no keys inside"),
        ("env.mix.x=1", "env.mix.x: a list is replaced as a whole; write env.mix=[…], or env.mix.0.key=…"),
        ("env.n_envs=1", "env.n_envs: 1 copies are too few for the 2 tasks of env.mix"),
        ("env.mix.0.spec.solvd_at=1", "env.mix[0].spec.solvd_at: unknown key (did you mean 'solved_at'?)"),
        (
            "env.mix.0.n_envs=4",
            "env.mix[0]: n_envs counts the copies of all tasks; weight sets the share",
        ),
        ("env.mix.0.actions=[A]", "env.mix[0].actions: "),
        ("env.task_heads=own", "env.task_heads: must be 'auto', 'shared' or 'separate', got 'own'"),
    ],
)
def test_wrong_settings_are_reported_with_their_key(quiz: str, override: str, message: str) -> None:
    with pytest.raises(GymnastError) as error:
        load_config(quiz, [override])
    assert f"command line: {message}" in str(error.value)


def test_override_reaches_into_an_entry(quiz: str) -> None:
    resolved = load_config(quiz, ["env.mix.1.weight=3", "env.mix.1.kwargs.shift=2", "env.mix.0.name=pair"])
    tasks = resolved.config.env.tasks
    assert [(task.name, task.weight) for task in tasks] == [("pair", 3.0), ("four", 3.0)]
    assert tasks[1].env.kwargs == {"n_actions": 4, "shift": 2}
    assert resolved.sources["env.mix"] == "command line"
    assert [t.weight for t in load_config(quiz).config.env.tasks] == [3.0, 1.0]


def test_a_key_press_evaluates_every_task(quiz: str, tmp_path: Path, press: Callable[..., Requests]) -> None:
    changes = {"budget.env_steps": 1024, "eval.every": 0, "eval.episodes": 3}
    run = api.train(quiz, overrides=changes, runs_dir=tmp_path, requests=press({2: Request.EVALUATE}))
    assert run.metrics()[1]["eval/task/four/return/mean"] is not None
