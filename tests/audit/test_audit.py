"""The reward audit: numbers as counted by hand, what they mean, and what is printed and drawn."""

from __future__ import annotations

import json
import math
import os
import pty
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast import api
from gymnast.audit.advice import advise, better_gamma
from gymnast.audit.play import Played
from gymnast.audit.statistics import Statistics, statistics
from gymnast.cli.app import main
from gymnast.config.load import load_config
from gymnast.traces.png import decode_png


def played(*episodes: list[float], **more: Any) -> Played:
    return Played("random", [np.array(episode, float) for episode in episodes], **more)


def stats(*episodes: list[float], gamma: float = 0.9, solved_at: float | None = None) -> Statistics:
    return statistics(played(*episodes), gamma, solved_at)


def test_numbers_are_those_counted_by_hand() -> None:
    found = stats([0, 0, 1, 0, -2], [0, 0, 0], gamma=0.5, solved_at=-1.0)
    assert (found.episodes, found.steps) == (2, 8)
    assert found.mean == pytest.approx(-1 / 8)
    assert (found.min, found.max) == (-2, 1)
    assert found.non_zero == pytest.approx(2 / 8)
    assert found.gap == pytest.approx((3 + 2) / 2)
    assert (found.return_mean, found.length_mean) == (-0.5, 4)
    assert found.rewarded == 0.5
    assert found.success == 1.0
    assert found.seen == pytest.approx((0.5**2 * 1 + 0.5**4 * 2) / 3)
    assert [(b.low, b.share) for b in found.values] == [(-2, 1 / 8), (0, 6 / 8), (1, 1 / 8)]


@given(
    st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=12), min_size=1, max_size=5),
    st.floats(0, 1),
)
def test_shares_are_shares_whatever_the_rewards(episodes: list[list[float]], gamma: float) -> None:
    found = stats(*episodes, gamma=gamma)
    assert sum(b.share for b in found.values) == pytest.approx(1)
    assert 0 <= found.non_zero <= 1
    assert found.seen is None or 0 <= found.seen <= 1 + 1e-9
    if gamma == 1 and found.seen is not None:
        assert found.seen == pytest.approx(1)
    assert found.gap is None or 1 <= found.gap <= max(map(len, episodes))


def test_outliers_are_far_beyond_the_others() -> None:
    assert stats([1.0] * 200).outliers == 0
    assert stats([0.0] * 5000 + [1.0] * 10).outliers == 0, "rare is not an outlier"
    assert stats([1.0] * 2000 + [500.0]).outliers == 1


def test_parts_are_shares_of_all_reward() -> None:
    found = statistics(played([1.0, 3.0], part_sums={"shaping": 3.0}, own_sum=5.0), 0.9, None)
    assert found.parts == {"env": 5 / 4, "shaping": 3 / 4}


@given(st.floats(2, 1e6))
def test_advised_discount_looks_as_far_as_an_episode_is_long(steps: float) -> None:
    horizon = 1 / (1 - float(better_gamma(steps)))
    assert 0.6 * steps < horizon < 1.6 * steps


def ids(*episodes: list[float], reference: str = "CartPole-v1:ppo", **algo: Any) -> list[str]:
    overrides = {f"algo.{key}": value for key, value in algo.items()}
    config = load_config(reference, overrides).config
    gamma = float(config.algo.gamma.at(0, 1))
    return [advice.id for advice in advise(config, gamma, stats(*episodes, gamma=gamma), None)]


def test_each_thing_that_stands_out_has_an_advice() -> None:
    assert ids([1.0] * 10, [1.0] * 20) == ["reward.constant"]
    assert ids([0.0] * 30) == ["reward.none"]
    assert ids([0.0] * 300 + [1.0], gamma=0.999) == ["reward.sparse"]
    assert "reward.outlier" in ids([1.0, -1.0] * 2000 + [900.0])
    assert "reward.scale" in ids([1000.0, -1000.0, 500.0])
    assert "reward.scale" not in ids([1000.0, -1000.0, 500.0], normalize_reward=True)
    assert "horizon.short" in ids([1.0, 0.5] * 2000, gamma=0.9)
    assert ids([1.0, 0.5, -1.0] * 10) == []


def test_advice_names_settings_that_exist() -> None:
    """What is advised can be typed as it is printed."""
    config = load_config("FrozenLake-v1:ppo").config
    texts = [a.advice for a in advise(config, 0.5, stats([0.0] * 600 + [1000.0], gamma=0.5), None)]
    settings = [word.strip(",;") for text in texts for word in text.split() if "=" in word]
    assert {s.partition("=")[0] for s in settings} >= {"explore.name", "algo.gamma", "algo.normalize_reward"}
    for setting in settings:
        load_config("FrozenLake-v1:ppo", [setting])


def gymnast(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


def test_mountain_car_is_constant_and_frozen_lake_is_sparse() -> None:
    car = api.audit_env_rewards("MountainCar-v0", overrides={"env.wrappers": []}, episodes=5)
    assert [a.id for a in car.advice] == ["reward.constant"]
    assert "constant -1 per step: only the length of the episode differs" in car.advice[0].message
    lake = api.audit_env_rewards("FrozenLake-v1:ppo")
    assert [a.id for a in lake.advice] == ["reward.sparse"]
    assert lake.main.steps > 1000
    assert 0 < lake.main.non_zero < 0.01


def test_shaped_reward_shows_its_share() -> None:
    found = api.audit_env_rewards("MountainCar-v0:ppo", episodes=3)
    assert set(found.main.parts) == {"env", "mountaincar-shaping"}
    assert 0 < found.main.parts["mountaincar-shaping"] < 1


@pytest.mark.parametrize("env", ["Pendulum-v1", "MiniGrid-Empty-5x5-v0", "Taxi-v4:ppo-masked", "MinAtar/Mix"])
def test_every_kind_of_action_is_played(env: str) -> None:
    found = api.audit_env_rewards(env, episodes=2)
    assert found.main.steps > 0
    assert math.isfinite(found.main.return_mean)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    return api.train(
        "CartPole-v1:ppo",
        overrides={"eval.every": 4096, "eval.episodes": 4, "stop.eval_return": None},
        max_env_steps=12_288,
        runs_dir=tmp_path_factory.mktemp("runs"),
    )


def test_run_is_compared_with_chance(run: api.Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = api.audit_run_rewards(run, episodes=8)
    assert [play.policy for play in found.plays] == ["random", "sampled", "greedy"]
    assert found.main.policy == "sampled"
    assert found.main.return_mean > found.plays[0].return_mean
    assert found.recorded["train/return/mean"][1] > found.recorded["train/return/mean"][0]
    assert found.picture == run.folder.pictures / "audit.png"
    assert decode_png(found.picture.read_bytes()).shape[2] == 3
    again = api.audit_run_rewards(run, episodes=8)
    assert again.plays == found.plays, "the same episodes each time"


def test_command_takes_runs_and_envs(
    run: api.Run, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    words = ("audit", run.id, "--runs-dir", str(run.folder.root), "--episodes", "3")
    assert gymnast(*words, "--checkpoint", "@last") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{run.id}/12288 (CartPole-v1), gamma 0.9")
    assert "recorded train/return/mean" in text
    # The path of the picture is as long as it is.
    assert max(len(line) for line in text.splitlines() if not line.startswith("picture")) <= 60
    assert gymnast("audit", "CartPole-v1", "--episodes", "2", "--picture", str(tmp_path / "a.png")) == 0
    assert (tmp_path / "a.png").is_file()
    assert "random: 2 episodes" in capsys.readouterr().out


def test_json_has_plays_and_advice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert gymnast("audit", "FrozenLake-v1:ppo", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["advice"][0]["id"] == "reward.sparse"
    assert found["plays"][0]["policy"] == "random"
    assert found["picture"] is None
    assert found["horizon"] == pytest.approx(1 / (1 - found["gamma"]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("CartPole-v1", "--checkpoint", "@best"), "--checkpoint is for a run"),
        (("@last",), "there are no runs"),
        (("CartPole-v1", "--picture", "a.jpg"), "pictures are PNG"),
        (("CartPole-v1", "--picture", "none/a.png"), "there is no folder"),
        (("CartPole-v9",), "CartPole-v1"),
        (("algo.gamma=1",), "no run or environment is named"),
    ],
)
def test_bad_input_is_one_message(
    words: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gymnast("audit", *words) == 2
    text = capsys.readouterr().err
    assert hint in text
    assert "Traceback" not in text


def test_run_without_metrics_is_still_audited_and_links_are_refused(run: api.Run, tmp_path: Path) -> None:
    from gymnast.errors import GymnastError

    copy = tmp_path / "runs" / run.id
    shutil.copytree(run.path, copy)
    (copy / "metrics.csv").unlink()
    assert api.audit_run_rewards(copy, episodes=1).recorded == {}
    shutil.rmtree(copy / "report")
    (copy / "report").symlink_to(tmp_path)
    with pytest.raises(GymnastError, match="is a link"):
        api.audit_run_rewards(copy, episodes=1)
    assert not (tmp_path / "audit.png").exists()


def test_checkpoint_is_named_once(run: api.Run) -> None:
    from gymnast.errors import GymnastError

    with pytest.raises(GymnastError, match="names a checkpoint already"):
        api.audit_run_rewards(f"{run.id}/@last", checkpoint="@best", runs_dir=run.folder.root)


def test_parts_of_the_reward_are_shown_while_it_plays() -> None:
    seen: list[api.PlayedSoFar] = []
    found = api.audit_env_rewards(
        "MountainCar-v0:ppo",
        episodes=3,
        overrides={"env.max_episode_steps": 40},
        watch=seen.append,
    )
    assert len(seen) >= 2
    steps = [one.steps for one in seen]
    assert steps == sorted(steps)
    first, last = seen[0], seen[-1]
    assert (last.policy, last.episodes, last.wanted) == ("random", 3, 3)
    assert first.now["env"] == -1.0  # of every step
    assert set(first.now) == set(found.main.parts) > {"env"}
    assert last.shares == pytest.approx(found.main.parts)
    assert last.last_return == pytest.approx(sum(found.played[0].episodes[-1]))


def test_steps_shown_while_it_plays_are_those_that_count() -> None:
    """Envs whose episodes are over play on beside the last ones."""
    seen: list[api.PlayedSoFar] = []
    found = api.audit_env_rewards("FrozenLake-v1", episodes=30, watch=seen.append)
    assert seen[-1].steps == found.played[0].lengths.sum()


def test_live_lines_fit_and_an_audit_in_a_terminal_has_them(tmp_path: Path) -> None:
    parent, child = pty.openpty()
    words = [sys.executable, "-m", "gymnast", "audit", "MountainCar-v0:ppo", "--episodes", "2"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "60", "LINES": "30", "NO_COLOR": "1"}
    done = subprocess.Popen(words, stdin=child, stdout=child, stderr=child, env=environment, cwd=tmp_path)
    os.close(child)
    written = b""
    with suppress(OSError):  # which the end of a terminal is
        while chunk := os.read(parent, 65536):
            written += chunk
    os.close(parent)
    assert done.wait() == 0
    text = written.decode()
    assert "random: 0/2 episodes" in text
    assert "this step" in text
    assert text.index("this step") < text.index("Reward of a step"), "before the result"
    assert text.count("\x1b[?25h") == 1, "the cursor is back"
