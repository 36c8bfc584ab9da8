"""Every route, asked rightly and wrongly, over a real server."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from gymnast import api
from gymnast.metrics.csv_file import read_columns
from gymnast.runs.store import RunFolder
from gymnast.web.server import PageServer
from gymnast.web.wire import unpack
from pages import client_of, serving, socket_of, wait_until


def recorded(client: httpx2.Client, **wish: Any) -> dict[str, Any]:
    """A recording that was asked for and waited for, as its job."""
    asked = client.post("/api/recordings", json=wish)
    assert asked.status_code == 202, asked.text
    job: dict[str, Any] = {}

    def is_over() -> bool:
        job.update(client.get(f"/api/jobs/{asked.json()['job']}").json())
        return job["state"] not in ("queued", "running")

    wait_until(is_over, 90)
    return job


def test_the_session_says_what_there_is(client: httpx2.Client) -> None:
    said = client.get("/api/session").json()
    assert said["version"]
    assert said["runs_dir_name"] == "runs"
    assert said["attribution"]["available"] is (said["attribution"]["reason"] is None)
    assert said["can_control"] is True


def test_runs_are_listed_searched_and_paged(client: httpx2.Client, run: str) -> None:
    (entry,) = client.get("/api/runs").json()["runs"]
    keys = ("id", "env", "variant", "algo", "seed", "status", "live", "started", "env_steps", "total_steps")
    assert all(key in entry for key in (*keys, "best", "last", "solved", "notes"))
    assert (entry["id"], entry["env"], entry["live"]) == (run, "CartPole-v1", False)
    assert entry["total_steps"] == 4000
    for text, count in (("cartpole ppo", 1), (run[:4], 1), ("seed 0", 1), ("lunar", 0), ("finished", 1)):
        assert client.get("/api/runs", params={"q": text}).json()["total"] == count, text
    assert client.get("/api/runs?limit=0").json() == {"total": 1, "runs": []}
    assert client.get("/api/runs?offset=1").json()["runs"] == []


@pytest.mark.parametrize(
    "query", ["limit=-1", "limit=x", "limit=1001", "offset=-1", "limit=1e3", "offset=" + "9" * 99]
)
def test_wrong_pages_are_refused(client: httpx2.Client, query: str) -> None:
    answer = client.get(f"/api/runs?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.json()["error"]


def test_a_run_in_full(client: httpx2.Client, run: str, runs: Path) -> None:
    said = client.get(f"/api/runs/{run}").json()
    assert said["run"]["id"] == run
    steps = [saved.env_steps for saved in api.show_run(run, runs_dir=runs).checkpoints]
    assert [saved["env_steps"] for saved in said["checkpoints"]] == steps
    assert sum(saved["is_last"] for saved in said["checkpoints"]) == 1
    assert said["settings"]["env.id"] == "CartPole-v1"
    assert said["changed"]["eval.episodes"] == {"value": 5, "default": 20}
    assert "eval.stochastic" not in said["changed"]
    assert (said["gamma"], said["lam"]) == (0.99, 0.95)
    options = {option["key"]: option for option in said["env_options"]}
    assert options["env.kwargs.sutton_barto_reward"]["choices"] == [False, True]
    assert "env.n_envs" not in options
    assert said["has_report"]
    assert said["tasks"] == []
    assert said["problems"] == []


def test_unknown_runs_are_not_found(client: httpx2.Client) -> None:
    for path in ("", "/metrics", "/report", "/distributions", "/distributions/reward", "/videos/a.mp4"):
        answer = client.get(f"/api/runs/abcdefgh{path}")
        assert answer.status_code == 404
        assert "abcdefgh" in answer.json()["error"]
    assert client.post("/api/runs/abcdefgh/control", json={"action": "stop"}).status_code == 404
    assert client.get("/api/runs/abc").status_code == 404  # the beginning of an id is not one
    assert client.get("/api/nothing").status_code == 404
    assert client.put("/api/runs").status_code == 405


def test_metrics_are_those_of_the_file_and_then_only_what_is_new(
    client: httpx2.Client, run: str, runs: Path
) -> None:
    whole = client.get(f"/api/runs/{run}/metrics?points=20000").json()
    path = RunFolder(runs / run).metrics_path
    for name, column in read_columns(path).items():
        assert [None if math.isnan(v) else v for v in column.tolist()] == whole["columns"][name]
    assert whole["reset"] is True
    assert whole["specs"]["eval/return/mean"]["better"] == "higher"
    assert whole["specs"]["eval/return/mean"]["group"] == "eval/return"
    again = client.get(f"/api/runs/{run}/metrics", params={"since": whole["next"]}).json()
    assert again["reset"] is False
    assert set(map(len, again["columns"].values())) == {0}
    two = client.get(f"/api/runs/{run}/metrics?names=time/env_steps,train/nothing").json()
    assert list(two["columns"]) == ["time/env_steps"]
    few = client.get(f"/api/runs/{run}/metrics?points=2").json()
    assert all(len(column) <= 2 for column in few["columns"].values())


@pytest.mark.parametrize(
    "query", ["since=x", "since=-1", "since=1.zz", "points=1", "points=99999", "points=x"]
)
def test_wrong_positions_in_metrics_are_refused(client: httpx2.Client, run: str, query: str) -> None:
    assert client.get(f"/api/runs/{run}/metrics?{query}").status_code == 400


def test_distributions_over_time(client: httpx2.Client, run: str, runs: Path) -> None:
    known = api.read_distributions(runs / run)
    listed = client.get(f"/api/runs/{run}/distributions").json()
    assert listed["names"] == list(known.arrays)
    for name, array in known.arrays.items():
        said = client.get(f"/api/runs/{run}/distributions/{name}").json()
        assert said["x"] == known.env_steps.tolist()
        shown = np.array([[np.nan if v is None else v for v in row] for row in said["z"]])
        assert shown.shape == array.reshape(len(array), -1).shape
        np.testing.assert_allclose(shown, array.reshape(len(array), -1), rtol=1e-6)
        assert (said["quantiles"] is not None) == (
            name in ("reward", "return", "advantage", "value", "target")
        )
    assert client.get(f"/api/runs/{run}/distributions/nothing").status_code == 404


def test_the_report_is_markdown(client: httpx2.Client, run: str, runs: Path) -> None:
    answer = client.get(f"/api/runs/{run}/report")
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.text == RunFolder(runs / run).report_path.read_text()


def test_videos_are_served_in_ranges(client: httpx2.Client, server: PageServer, run: str, runs: Path) -> None:
    folder = RunFolder(runs / run)
    folder.videos.mkdir(exist_ok=True)
    data = bytes(range(256)) * 40
    folder.best_video_path.write_bytes(data)
    (folder.videos / "notes.txt").write_text("not a video")
    said = client.get(f"/api/runs/{run}").json()
    assert said["videos"] == ["best.mp4"]
    with client_of(server, None) as nobody:  # as <video> asks: without a header of ours
        url = said["video_urls"]["best.mp4"]
        whole = nobody.get(url)
        assert (whole.status_code, whole.content) == (200, data)
        assert whole.headers["content-type"] == "video/mp4"
        assert whole.headers["accept-ranges"] == "bytes"
        for asked, part in (
            ("bytes=0-0", data[:1]),
            ("bytes=100-199", data[100:200]),
            ("bytes=10000-", data[10000:]),
            ("bytes=-5", data[-5:]),
            ("bytes=10-999999", data[10:]),
        ):
            answer = nobody.get(url, headers={"Range": asked})
            assert (answer.status_code, answer.content) == (206, part), asked
            assert answer.headers["content-range"].endswith(f"/{len(data)}")
        for wrong in (
            "bytes=99999-",
            "bytes=5-2",
            "bytes=-",
            "lines=1-2",
            "bytes=0-1,4-5",
            "bytes=" + "9" * 40,
        ):
            assert nobody.get(url, headers={"Range": wrong}).status_code == 416, wrong
        assert nobody.get(url.replace("best", "other")).status_code == 401
    assert client.get(f"/api/runs/{run}/videos/notes.txt").status_code == 404
    folder.best_video_path.unlink()


def test_a_recording_is_made_listed_fetched_and_removed(
    client: httpx2.Client, server: PageServer, run: str, runs: Path
) -> None:
    job = recorded(client, run=run, seed=7, steps=40, episodes=3, checkpoint="@last", stochastic=True)
    assert (job["state"], job["error"], job["total"]) == ("done", None, 40)
    name = job["recording"]
    (entry,) = client.get(f"/api/recordings?run={run}").json()["recordings"]
    assert entry["id"] == name
    assert (entry["run"], entry["seed"], entry["stochastic"]) == (run, 7, True)
    trace = api.record_trace(f"{run}/@last", seed=7, max_steps=40, episodes=3, stochastic=True, runs_dir=runs)
    header, arrays = unpack(client.get(f"/api/recordings/{name}/data").content)
    for column, values in trace.columns.items():
        np.testing.assert_array_equal(arrays[column], values, err_msg=column)
    assert header["texts"]["labels"] == list(trace.labels)
    assert header["infos"] == list(trace.infos)
    assert header["frames"]["mime"] == "image/png"
    ends = arrays["frames_ends"].tolist()
    assert (
        tuple(arrays["frames"][a:b].tobytes() for a, b in zip([0, *ends[:-1]], ends, strict=True))
        == trace.pictures
    )
    assert entry["returns"] == trace.returns
    meta = header["meta"]
    assert [episode["return"] for episode in meta["episodes"]] == trace.returns
    assert sum(episode["rows"] for episode in meta["episodes"]) == len(trace)
    assert arrays["row_of_step"].tolist() == trace.steps.tolist()
    assert meta["bounds"]["low"][0] == pytest.approx(-4.8)
    assert meta["bounds"]["high"][1] is None
    for gamma, lam in ((None, None), (0.5, 0.3), (1.0, 0.0)):
        asked = {} if gamma is None else {"gamma": gamma, "lam": lam}
        header, arrays = unpack(client.get(f"/api/recordings/{name}/data", params=asked).content)
        table = api.steps_table(trace, gamma, lam)
        assert header["meta"]["table"] == list(table)
        for column, values in table.items():
            if isinstance(values, list):
                assert header["texts"][f"table/{column}"] == values
            else:
                np.testing.assert_array_equal(arrays[f"table/{column}"], values)
        answer = client.get(f"/api/recordings/{name}/steps.csv", params=asked)
        assert answer.text == api.steps_csv(table)
        assert answer.headers["content-type"].startswith("text/csv")
    for wrong in ("gamma=2", "gamma=x", "lam=-0.1", "lam=nan"):
        assert client.get(f"/api/recordings/{name}/data?{wrong}").status_code == 400
    assert client.delete(f"/api/recordings/{name}").json() == {"deleted": name}
    assert client.get(f"/api/recordings/{name}/data").status_code == 404
    assert client.delete(f"/api/recordings/{name}").status_code == 404
    assert client.get("/api/recordings").json() == {"recordings": []}
    assert list((runs / run / "recordings").iterdir()) == []


def test_the_csv_equals_the_checkpoints_own_table(client: httpx2.Client, run: str, runs: Path) -> None:
    """Recorded on the seed of the rollout table, with its number of steps."""
    table = api.rollout_table(f"{run}/@last", runs_dir=runs)
    seed = client.get(f"/api/runs/{run}").json()["seeds"]["held_out"]
    job = recorded(client, run=run, checkpoint="@last", seed=seed, steps=1000, frames=False)
    answer = client.get(f"/api/recordings/{job['recording']}/steps.csv")
    assert answer.content == table.read_bytes()
    client.delete(f"/api/recordings/{job['recording']}")


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ({"checkpoint": "../x"}, "checkpoint"),
        ({"checkpoint": True}, "checkpoint"),
        ({"seed": -1}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"steps": 0}, "steps"),
        ({"steps": 10**9}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"steps": True}, "steps"),
        ({"episodes": 0}, "episodes"),
        ({"stochastic": 1}, "stochastic"),
        ({"task": 5}, "task"),
        ({"overrides": {"algo.lr": 1}}, "algo.lr"),
        ({"nonsense": 1}, "nonsense"),
        ({"run": None}, "run"),
    ],
)
def test_wrong_wishes_are_refused(client: httpx2.Client, run: str, wish: dict[str, Any], word: str) -> None:
    answer = client.post("/api/recordings", json={"run": run} | wish)
    assert answer.status_code in (400, 404)
    assert word in answer.json()["error"]


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ({"checkpoint": "12345"}, "nearest"),
        ({"task": "level-2"}, "no tasks"),
        ({"overrides": {"env.nonsense": 1}}, "env.nonsense"),
        ({"overrides": {"env.kwargs.nonsense": 1}}, "nonsense"),
        ({"overrides": {"env.id": "Acrobot-v1"}}, "Acrobot-v1 has 3"),
    ],
)
def test_recordings_that_fail_say_why(
    client: httpx2.Client, run: str, wish: dict[str, Any], word: str
) -> None:
    job = recorded(client, run=run, steps=5, **wish)
    assert job["state"] == "failed"
    assert word in job["error"]
    assert "Traceback" not in job["error"]


def test_env_options_change_what_is_recorded(client: httpx2.Client, run: str) -> None:
    job = recorded(client, run=run, steps=300, overrides={"env.max_episode_steps": 3}, frames=False)
    header, arrays = unpack(client.get(f"/api/recordings/{job['recording']}/data").content)
    assert [episode["length"] for episode in header["meta"]["episodes"]] == [3]
    assert arrays["truncated"].sum() == 1
    assert header["frames"] is None
    assert header["meta"]["reason_no_frames"]
    assert header["meta"]["recording"]["overrides"] == {"env.max_episode_steps": 3}
    client.delete(f"/api/recordings/{job['recording']}")


def test_recordings_are_cancelled(client: httpx2.Client, run: str) -> None:
    jobs = [
        client.post("/api/recordings", json={"run": run, "steps": 20000, "episodes": 100}).json()["job"]
        for _ in range(2)
    ]
    wait_until(lambda: client.get(f"/api/jobs/{jobs[0]}").json()["done"] > 0)
    assert client.delete(f"/api/jobs/{jobs[1]}").json()["state"] == "cancelled"
    client.delete(f"/api/jobs/{jobs[0]}")
    wait_until(lambda: client.get(f"/api/jobs/{jobs[0]}").json()["state"] == "cancelled")
    assert client.get(f"/api/jobs/{jobs[0]}").json()["recording"] is None
    job = recorded(client, run=run, steps=5)  # the process is as good as new
    assert job["state"] == "done"
    client.delete(f"/api/recordings/{job['recording']}")
    assert {known["job"] for known in client.get("/api/jobs").json()["jobs"]} >= set(jobs)
    for wrong in ("0", "x", "99999", "-1"):
        assert client.get(f"/api/jobs/{wrong}").status_code == 404
        assert client.delete(f"/api/jobs/{wrong}").status_code == 404


def test_too_many_recordings_at_once_are_refused(client: httpx2.Client, run: str) -> None:
    asked = [
        client.post("/api/recordings", json={"run": run, "steps": 20000, "episodes": 100}) for _ in range(18)
    ]
    codes = [answer.status_code for answer in asked]
    assert codes[0] == 202
    assert codes[-1] == 409
    for answer in asked:
        if answer.status_code == 202:
            client.delete(f"/api/jobs/{answer.json()['job']}")
    wait_until(lambda: all(j["state"] == "cancelled" for j in client.get("/api/jobs").json()["jobs"][-16:]))


def test_runs_that_do_not_train_cannot_be_controlled(client: httpx2.Client, run: str) -> None:
    for action in ("checkpoint", "evaluate", "pause", "resume", "stop"):
        answer = client.post(f"/api/runs/{run}/control", json={"action": action})
        assert answer.status_code == 409
        assert "not being trained" in answer.json()["error"]
    for wrong in ({}, {"action": "delete"}, {"action": None}, {"action": ["stop"]}):
        assert client.post(f"/api/runs/{run}/control", json=wrong).status_code == 400


def test_the_page_and_plotly_come_from_here(client: httpx2.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "https://" not in page.text
    for path, kind in (("/web/api.js", "text/javascript"), ("/web/theme.css", "text/css")):
        answer = client.get(path)
        assert answer.headers["content-type"].startswith(kind)
        tag = answer.headers["etag"]
        assert client.get(path, headers={"If-None-Match": tag}).status_code == 304
    plotly = client.get("/plotly.min.js")
    assert plotly.headers["content-encoding"] == "gzip"
    assert "plotly.js" in plotly.text[:200]
    assert client.get("/web/nothing.js").status_code == 404


def test_an_empty_folder_and_one_that_does_not_exist_have_no_runs(tmp_path: Path) -> None:
    with serving(api.inspector_server(tmp_path / "nothing", port=0)) as server, client_of(server) as client:
        assert client.get("/api/runs").json() == {"total": 0, "runs": []}
        assert client.get("/api/recordings").json() == {"recordings": []}
    assert list(tmp_path.iterdir()) == []


def test_the_socket_reports_what_changes(server: PageServer, run: str, runs: Path) -> None:
    with socket_of(server, "/api/live") as opened:
        opened.send(json.dumps({"watch": [run, "abcdefgh"]}))
        first = json.loads(opened.recv(timeout=60))
        assert (first["run"], first["live"]) == (run, False)
        assert first["next"] == api.metrics_position(runs / run)
        with pytest.raises(TimeoutError):
            opened.recv(timeout=1.2)
        path = RunFolder(runs / run).metrics_path
        before = path.read_bytes()
        path.write_bytes(before + before.splitlines(keepends=True)[-1])
        assert json.loads(opened.recv(timeout=60))["next"] != first["next"]
        path.write_bytes(before)
