"""The card: the metadata that the Hub reads, what it says, and that it gives nothing away."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.publish.metadata import front_matter
from gymnast.publish.names import check_repo, parse_source, usual_name
from gymnast.publish.score import PublishedScore
from gymnast.runs.store import RunFolder


def card_of(run: RunFolder, **options: Any) -> str:
    return api.publish_run(run.path, dry_run=True, episodes=2, video=False, **options).card


LINKS = {"score.png", "results.json", "config.yaml", "gymnast-run.json", "replay.mp4"}


def rendered(card: str) -> str:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable("table").render(card.split("\n---\n", 1)[1])


def test_hub_reads_its_metadata(copied: RunFolder) -> None:
    card = ModelCard(card_of(copied))
    data = card.data.to_dict()
    assert data["library_name"] == "gymnast"
    assert data["license"] == "mit"
    assert set(data["tags"]) >= {
        "CartPole-v1", "deep-reinforcement-learning", "reinforcement-learning", "gymnast"
    }  # fmt: skip
    assert data["pipeline_tag"] == "reinforcement-learning"
    (result,) = card.data.eval_results or []
    assert (result.task_type, result.dataset_name) == ("reinforcement-learning", "CartPole-v1")
    assert result.metric_type == "mean_reward"
    mean, _, std = result.metric_value.partition(" +/- ")
    assert float(mean) > 0
    assert float(std) >= 0


def test_card_answers_what_a_reader_asks(copied: RunFolder) -> None:
    card = card_of(copied, repo="ada/cart", licence="apache-2.0")
    for expected in (
        "# PPO agent playing CartPole-v1",
        "gymnast pull hf:ada/cart",
        f"gymnast eval {copied.id}",
        f"gymnast train --resume {copied.id}",
        "over 2 fresh episodes",
        "the threshold is 475",
        "](score.png)",
        "`algo.n_steps`",
        f"`{copied.id}`",
        "apache-2.0",
        "runs no code",
    ):
        assert expected in card, expected


@pytest.mark.parametrize(
    "name",
    ['x"\n---\nlicense: evil', "a: b", "{{7*7}}", "- x", "ALE/Pong-v5", "my_env:Door", "\u202egnp", "'"],
)
def test_no_text_breaks_out_of_the_metadata(name: str) -> None:
    score = PublishedScore(1.0, 0.5, 10)
    data = ModelCard(front_matter(name, "ppo", "mit", score, has_video=False)).data
    assert data.license == "mit"
    (result,) = data.eval_results or []
    assert "\n" not in result.dataset_name
    assert result.metric_value == "1.00 +/- 0.50"


def test_hostile_texts_of_a_run_stay_texts(copied: RunFolder) -> None:
    info = json.loads((copied.path / "run.json").read_text())
    info["env"] = "<script>alert(1)</script>[x](javascript:alert(1))"
    info["command"] = ["gymnast", "train", "`; rm -rf ~`", "| a | b |", "![x](http://evil/x.png)"]
    (copied.path / "run.json").write_text(json.dumps(info))
    html = rendered(card_of(copied, evaluate_first=False))
    assert "<script" not in html
    assert "alert(1)" in html  # as a text
    assert not [link for link in re.findall(r'(?:href|src)="([^"]*)"', html) if link not in LINKS]


def test_secrets_and_places_are_not_published(copied: RunFolder, tmp_path: Path) -> None:
    token = "hf_" + "Z9" * 18
    info = json.loads((copied.path / "run.json").read_text())
    info["command"] = [
        "gymnast",
        "train",
        f"env.kwargs.token={token}",
        "--runs-dir",
        "/data/ada/private/runs",
    ]
    info["notes"] = "not one of ours"
    (copied.path / "run.json").write_text(json.dumps(info))
    status = json.loads((copied.path / "status.json").read_text())
    (copied.path / "status.json").write_text(json.dumps({**status, "reason": f"failed with {token}"}))
    done = api.publish_run(copied.path, dry_run=True, evaluate_first=False, video=False)
    assert done.folder is not None
    for path in done.folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert token.encode() not in data, path
            assert b"/data/ada" not in data, path
            assert b"not one of ours" not in data, path
            assert str(tmp_path).encode() not in data, path


def test_config_with_a_secret_is_refused(copied: RunFolder) -> None:
    text = copied.config_path.read_text().replace("kwargs: {}", "kwargs: {api_key: abcd1234efgh}", 1)
    copied.config_path.write_text(text)
    with pytest.raises(GymnastError, match=r"env\.kwargs\.api_key.*looks like a secret"):
        card_of(copied)
    assert not (copied.path / "hub").exists()


@pytest.fixture
def resumed(copied: RunFolder) -> RunFolder:
    """Trained further with another rate, by a command with a secret and a place in it."""
    api.resume(copied.path, overrides={"algo.lr": 0.0123}, max_env_steps=2048)
    info = json.loads((copied.path / "run.json").read_text())
    words = f"gymnast train --resume {copied.id} algo.lr=0.0123 env.kwargs.token=abcd1234efgh"
    info["resumes"][0]["command"] = [*words.split(), "--runs-dir", "/data/ada/runs"]
    (copied.path / "run.json").write_text(json.dumps(info))
    return copied


def test_a_resumed_run_is_not_passed_off_as_its_first_command(resumed: RunFolder) -> None:
    done = api.publish_run(f"{resumed.path}/@last", dry_run=True, episodes=2, video=False)
    words = f"gymnast train --resume {resumed.id} algo.lr=0.0123 env.kwargs.token=***"
    assert f"| resumed at 1,024 | `{words}` |" in done.card
    assert "| `algo.lr` | `0.0123` |" in done.card
    assert done.folder is not None
    info = json.loads((done.folder / "run.json").read_text())
    (resume,) = info["resumes"]
    assert set(resume) == {"env_steps", "created", "scores_from", "command"}  # not the config before
    assert resume["command"] == words.split()


def test_an_older_checkpoint_has_the_settings_it_was_trained_with(resumed: RunFolder) -> None:
    done = api.publish_run(f"{resumed.path}/1024", dry_run=True, episodes=2, video=False)
    assert "resumed" not in done.card
    assert "`0.0123`" not in done.card
    assert done.folder is not None
    assert "resumes" not in json.loads((done.folder / "run.json").read_text())


def test_many_resumes_are_counted(copied: RunFolder) -> None:
    info = json.loads((copied.path / "run.json").read_text())
    info["resumes"] = [{"env_steps": 7, "created": "2020", "command": f"no list {n}"} for n in range(3)]
    info["resumes"] += [{"env_steps": n, "created": "2020", "command": ["x", "`|"]} for n in range(20)]
    info["resumes"] += ["no map", {"env_steps": "5"}, {"env_steps": -1, "created": ""}]
    (copied.path / "run.json").write_text(json.dumps(info))
    html = rendered(card_of(copied, evaluate_first=False))
    assert "<td>23 times, at last:</td>" in html
    assert html.count("<td>resumed at ") == 8
    assert "<td>resumed at 19</td>\n<td><code>x '|</code></td>" in html


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "--episodes 2 # the score below"),
        ({"stochastic": True}, "--episodes 2 --stochastic # the score below"),
        ({"evaluate_first": False}, "--episodes 100 # its score over fresh episodes"),
    ],
)
def test_the_command_for_the_score_gives_it_again(
    copied: RunFolder, options: dict[str, Any], expected: str
) -> None:
    card = card_of(copied, **options)
    assert f"gymnast eval {copied.id} {expected}" in " ".join(card.split())
    assert ("fresh episodes" if "evaluate_first" not in options else "4 episodes during training") in card


def test_link_to_the_run_at_wandb(copied: RunFolder) -> None:
    trackers = copied.path / "trackers.json"
    trackers.write_text(json.dumps({"wandb": {"url": "https://wandb.ai/ada/gymnast/runs/k3v"}}))
    assert "](https://wandb.ai/ada/gymnast/runs/k3v)" in card_of(copied, evaluate_first=False)
    for bad in ("javascript:alert(1)", "http://127.0.0.1/x", "https://x) [evil](https://y", 3):
        trackers.write_text(json.dumps({"wandb": {"url": bad}}))
        assert "Weights & Biases" not in card_of(copied, evaluate_first=False)


def test_names() -> None:
    assert usual_name("ppo", "ALE/Pong-v5") == "ppo-ALE-Pong-v5"
    assert usual_name("ppo", "my_env:Door") == "ppo-my_env-Door"
    assert usual_name("", "../../x") == "agent-x"
    assert len(usual_name("ppo", "x" * 300)) <= 96
    assert str(parse_source("hf:ada/x@v1")) == "hf:ada/x@v1"
    for bad in (
        "ada",
        "ada/x/y",
        "../x",
        "ada/..",
        "ada/a--b",
        "ada/x.git",
        "ada/x y",
        "https://x/y",
        "ada/",
    ):
        with pytest.raises(GymnastError, match="is not the name of a repository"):
            check_repo(bad)
    for bad in ("hf:ada/x@../../etc", "hf:ada/x@", "hf:ada/x@-f"):
        with pytest.raises(GymnastError, match="is not a branch, tag or commit"):
            parse_source(bad)
