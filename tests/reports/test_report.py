"""Reports of a real run: as Markdown with pictures, as data; and of runs that are damaged or hostile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError, RunFailed
from gymnast.metrics.alerts.alert import Alert
from gymnast.reports.markdown import markdown
from gymnast.reports.text import clean, code, plain
from gymnast.runs.alerts import read_alerts
from gymnast.runs.store import RunFolder
from gymnast.traces.png import decode_png
from reports.conftest import OVERRIDES

KL = Alert("kl.high", "warning", "train/kl", "KL is 0.31", "algo.lr is 0.3: try 0.001", 3, 1024, 2048)


def put_alerts(run: RunFolder, *alerts: dict[str, Any]) -> None:
    run.alerts_path.write_text(json.dumps({"alerts": alerts}))


def test_every_run_ends_with_its_report(trained: RunFolder) -> None:
    first, _, rest = trained.report_path.read_text().partition("\n")
    assert re.fullmatch(
        r"# CartPole-v1:ppo finished after 3,072 env steps \(\d+\.\d s\): best score [\d.]+ ± [\d.]+"
        r" over 4 episodes, threshold 475 not reached",
        first,
    )
    assert "| `algo.lr` | `0.3` | `0.0003` | `{kind: linear, start: 0.005, end: 0.0}` |" in rest
    assert "gymnast train --resume" in rest
    assert "`checkpoint.every` | `512` | `0` | `0`" in rest
    assert "no report" not in trained.log_path.read_text()
    assert not trained.pictures.exists()  # of so short a run only on demand


def test_pictures_are_drawn_on_demand(copied: RunFolder) -> None:
    found = api.write_report(copied.path, tables=False)
    assert found.path == copied.report_path
    text = copied.report_path.read_text()
    shown = re.findall(r"!\[[^]]+\]\((report/\w+\.png)\)", text)
    assert {"report/score.png", "report/kl.png", "report/entropy.png", "report/value.png"} <= set(shown)
    assert sorted(shown) == sorted(f"report/{path.name}" for path in copied.pictures.iterdir())
    for path in shown:
        picture = decode_png((copied.path / path).read_bytes())
        assert len({tuple(pixel) for row in picture[::7] for pixel in row[::7].tolist()}) > 3  # not blank
    for name in re.findall(r"\]\((checkpoints/[^)]+)\)", text):
        assert (copied.path / name).is_file()


def test_report_elsewhere_leaves_the_run_alone(copied: RunFolder, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in copied.path.rglob("*") if path.is_file()}
    api.write_report(copied.path, out=tmp_path / "mine.md")
    assert "](mine/score.png)" in (tmp_path / "mine.md").read_text()
    assert (tmp_path / "mine" / "score.png").is_file()
    assert {path: path.read_bytes() for path in copied.path.rglob("*") if path.is_file()} == before
    with pytest.raises(GymnastError, match="is a folder"):
        api.write_report(copied.path, out=tmp_path)


def test_data_is_the_same_facts(trained: RunFolder) -> None:
    found = api.read_report(trained.path)
    data = json.loads(json.dumps(found.to_json()))
    assert trained.report_path.read_text().startswith(f"# {data['outcome']}\n")
    assert data["threshold"] == 475.0
    assert data["best"]["score"] == data["run"]["best_score"]
    assert [one["env_steps"] for one in data["evaluations"]] == [512, 1024, 1536, 2048, 2560, 3072]
    assert sum(data["timing"]["shares"].values()) == pytest.approx(1.0, abs=0.01)
    assert {"train/kl", "eval/return/mean"} <= {metric["name"] for metric in data["metrics"]}
    assert {setting["key"] for setting in data["settings"]} >= {"algo.lr", "env.n_envs"}


def test_alerts_are_in_the_report_the_worst_first(copied: RunFolder) -> None:
    info = Alert("a.low", "info", "train/kl", "m", "")
    put_alerts(copied, info.to_json(), KL.to_json())
    text = api.read_report(copied.path).markdown()
    row = "| `kl.high` | warning | 3 | 1,024 – 2,048 | KL is 0.31 | algo.lr is 0.3: try 0.001 |"
    assert f"{row} `docs/alerts/kl.high.md` |" in text
    assert text.index("kl.high") < text.index("a.low")


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"id": "../x"}, 1),
        ({"id": "x" * 100}, 1),
        ({"severity": "mild"}, 1),
        ({"severity": ["info"]}, 1),
        ({"count": -1}, 1),
        ({"count": True}, 1),
        ({"last_step": 1e300}, 1),
        ({"message": None}, 1),
        ({"metric": 3}, 1),
        ({"first_step": 0}, 0),
    ],
)
def test_damaged_alerts_are_left_out(copied: RunFolder, change: dict[str, Any], lost: int) -> None:
    put_alerts(copied, KL.to_json(), KL.to_json() | change)
    warned: list[str] = []
    assert len(read_alerts(copied, warned.append)) == 2 - lost
    assert len(warned) == lost


@pytest.mark.parametrize("content", ["", "{", "[]", '{"alerts": 3}', '{"alerts": [' * 200])
def test_damaged_alerts_file_is_named_in_the_report(copied: RunFolder, content: str) -> None:
    copied.alerts_path.write_text(content)
    found = api.read_report(copied.path)
    assert not found.facts.alerts
    assert "alerts.json is damaged" in found.markdown()
    assert "best score" in found.outcome


HOSTILE = "x<script>alert(1)</script>|`a`[l](http://e.example)\n# h *b* www.e.example ![i](j) <!-- \x1b[31m"


def test_hostile_texts_stay_texts(copied: RunFolder) -> None:
    info = json.loads(copied.info_path.read_text())
    info |= {"name": HOSTILE, "env": HOSTILE, "algo": HOSTILE, "command": [HOSTILE], "git_commit": HOSTILE}
    info |= {"versions": {HOSTILE: HOSTILE}, "machine": {"platform": HOSTILE, "cpus": HOSTILE}}
    copied.info_path.write_text(json.dumps(info))
    put_alerts(copied, KL.to_json() | {"message": HOSTILE, "advice": HOSTILE, "metric": HOSTILE})
    copied.config_path.write_text(f"algo: {{name: ppo, lr: {json.dumps(HOSTILE)}}}\nenv: {{id: x}}\n")
    copied.videos.mkdir()
    (copied.videos / "a](http:x).mp4").write_bytes(b"x")
    (copied.videos / "best.mp4").symlink_to("/etc/passwd")
    found = api.read_report(copied.path)
    text = markdown(found.facts, ())
    outside_code = re.sub(
        r"`[^`\n]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL).replace("\\`", "")
    )
    assert "\x1b" not in text
    assert "passwd" not in text
    assert not re.search(r"(?<!\\)<", outside_code)
    assert not re.search(r"(?<!\\)\]\((?!checkpoints/|videos/)", outside_code)
    assert not re.search(r"https?://|(?<!\\)!\[|www\.", outside_code)
    for line in text.splitlines():
        if line.startswith("| `kl.high`"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 8
            break
    else:
        pytest.fail("the alert has no row of its own")
    found.llm()


def test_secrets_and_homes_are_hidden() -> None:
    homes = [str(Path.home()), *(f"/{place}/ann" for place in ("home", "Users"))]
    assert clean(" and ".join(f"{home}/x" for home in homes)) == "~/x and ~/x and ~/x"
    assert "hunter22" not in clean("api_key=hunter22")
    assert "hf_abcdefgh1234" not in plain("token hf_abcdefgh1234") + code("hf_abcdefgh1234")
    assert clean("a\nb") == "a\\nb"


def remove_metrics(run: RunFolder) -> None:
    run.metrics_path.unlink()


def cut_row(run: RunFolder) -> None:
    run.metrics_path.write_text(run.metrics_path.read_text() + "123,4")


def remove_config(run: RunFolder) -> None:
    run.config_path.unlink()


def remove_status(run: RunFolder) -> None:
    run.status_path.unlink()


def break_run_json(run: RunFolder) -> None:
    run.info_path.write_text("{")


def link_checkpoints(run: RunFolder) -> None:
    run.checkpoints.rename(run.path / "other")
    run.checkpoints.symlink_to("other")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (remove_metrics, "metrics.csv has no rows"),
        (cut_row, ""),
        (remove_config, "has no config.yaml"),
        (remove_status, ""),
        (break_run_json, "run.json cannot be read"),
        (link_checkpoints, "links inside a run folder"),
    ],
)
def test_damaged_run_is_reported_as_far_as_it_can_be_read(copied: RunFolder, damage: Any, named: str) -> None:
    damage(copied)
    found = api.read_report(copied.path)
    assert any(named in problem for problem in found.facts.problems) if named else not found.facts.problems
    assert "best score" in found.outcome
    assert len(found.llm().encode()) <= 8000
    json.dumps(found.to_json())


def test_running_run_is_reported_without_a_file(copied: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    copied.report_path.unlink()
    with copied.lock():
        found = api.write_report(copied.path)
    assert found.path is None
    assert not copied.report_path.exists()
    assert "is being trained" in caplog.text


def test_killed_run_is_not_reported_as_running(copied: RunFolder) -> None:
    """Writing the report holds the run's lock, as training does."""
    status = json.loads(copied.status_path.read_text())
    copied.status_path.write_text(json.dumps({**status, "status": "running", "reason": None}))
    outcome = api.write_report(copied.path).outcome
    assert re.search(r"interrupted after .*; killed$", outcome), outcome
    assert outcome in copied.report_path.read_text()


def test_failed_run_leaves_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    overrides = {key: value for key, value in OVERRIDES.items() if not key.startswith("checkpoint")}
    with pytest.raises(RunFailed, match="track lost"):
        api.train("failing_env:Failing", overrides=overrides, runs_dir=tmp_path)
    (path,) = tmp_path.glob("*/report.md")
    assert re.match(r"# failing_env:Failing\S* failed after 768 env steps .* track lost", path.read_text())


def test_report_that_cannot_be_written_fails_no_run(tmp_path: Path) -> None:
    """A folder has the report's name: one line in the log, and the run is finished."""

    class PutsAFolderThere(api.Sink):
        def take(self, report: api.Report) -> None:
            for path in tmp_path.glob("*/run.json"):
                (path.parent / "report.md").mkdir(exist_ok=True)

    overrides = {**OVERRIDES, "budget.env_steps": 512}
    run = api.train("CartPole-v1:ppo", overrides=overrides, runs_dir=tmp_path, sinks=[PutsAFolderThere()])
    assert run.outcome.status == "finished"
    assert api.show_run(run).run.status == "finished"
    assert run.folder.log_path.read_text().count("no report: could not write") == 1
