from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gymnast.errors import GymnastError
from gymnast.runs import registry, store
from gymnast.runs.checkpoint import Checkpoint
from gymnast.runs.references import find_checkpoint, find_run, parse_reference
from gymnast.runs.store import RunFolder

NewRun = Callable[..., RunFolder]
Save = Callable[..., Checkpoint]


@pytest.fixture
def named(root: Path, new_run: NewRun, monkeypatch: pytest.MonkeyPatch) -> dict[str, RunFolder]:
    runs = {}
    for name in ("kaaaaaa1", "kaaabbb2", "zebra123"):
        monkeypatch.setattr(store, "free_id", lambda _, name=name: name)
        runs[name] = new_run()
    return runs


def test_ids_prefixes_and_last(root: Path, named: dict[str, RunFolder]) -> None:
    assert find_run(root, "kaaaaaa1").id == "kaaaaaa1"
    assert find_run(root, "kaaab").id == "kaaabbb2"
    assert find_run(root, "z").id == "zebra123"
    assert find_run(root, "@last").id == "zebra123"
    with pytest.raises(GymnastError, match=r"'kaa' begins the id of 2 runs: kaaaaaa1, kaaabbb2"):
        find_run(root, "kaa")
    with pytest.raises(GymnastError, match=r"no run 'zebra124' in .*did you mean 'zebra123'"):
        find_run(root, "zebra124")
    with pytest.raises(GymnastError, match=r"did you mean '@last'"):
        find_run(root, "@lsat")


def test_no_runs_at_all(root: Path) -> None:
    with pytest.raises(GymnastError, match=r"there are no runs in .*; start one with: gymnast train"):
        find_run(root, "@last")
    with pytest.raises(GymnastError, match=r"there are no runs in"):
        find_run(root, "abc")
    assert not root.exists()


def test_best_run(
    root: Path, named: dict[str, RunFolder], new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GymnastError, match=r"no run in .* was evaluated yet"):
        find_run(root, "@best")
    registry.update(root, "kaaaaaa1", best_score=-5.0)
    registry.update(root, "kaaabbb2", best_score=-3.0)
    assert find_run(root, "@best").id == "kaaabbb2"
    monkeypatch.setattr(store, "free_id", lambda _: "pendulum")
    registry.update(root, new_run("Pendulum-v1").id, best_score=-200.0)
    with pytest.raises(GymnastError, match=r"scores of CartPole-v1, Pendulum-v1 do not compare"):
        find_run(root, "@best")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("@last", ("@last", None)),
        ("@last/@best", ("@last", "@best")),
        ("kaa/12288", ("kaa", "12288")),
        ("kaa/@bset", ("kaa", "@bset")),
        ("kaa/nonsense", ("kaa", "nonsense")),
        ("kaa/", ("kaa", None)),
        ("runs/kaaaaaa1", ("runs/kaaaaaa1", None)),
        ("runs/kaaaaaa1/", ("runs/kaaaaaa1", None)),
        ("runs/kaaaaaa1/@last", ("runs/kaaaaaa1", "@last")),
        ("./runs/kaaaaaa1/300", ("./runs/kaaaaaa1", "300")),
        ("runs/kaaaaaa1/checkpoints/000000000300", ("runs/kaaaaaa1", "000000000300")),
        ("runs/kaaaaaa1/checkpoints/000000000300.json", ("runs/kaaaaaa1", "000000000300")),
        ("runs/kaaaaaa1/checkpoints/000000000300-1.policy.safetensors", ("runs/kaaaaaa1", "000000000300")),
    ],
)
def test_parse(
    root: Path,
    named: dict[str, RunFolder],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    parsed: tuple[str, str | None],
) -> None:
    monkeypatch.chdir(root.parent)
    assert parse_reference(text) == parsed


def test_checkpoints_by_name_and_path(
    root: Path, named: dict[str, RunFolder], save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = named["kaaaaaa1"]
    save(run, 300, score=8.0)
    save(run, 400, score=2.0)
    assert find_checkpoint(root, "kaaaa").env_steps == 300
    assert find_checkpoint(root, "kaaaa", default="@last").env_steps == 400
    assert find_checkpoint(root, "kaaaa/400").env_steps == 400
    assert find_checkpoint(root, str(run.path / "@best")).env_steps == 300
    monkeypatch.chdir(root)
    path = "kaaaaaa1/checkpoints/000000000400.state.safetensors"
    assert find_checkpoint(Path("elsewhere"), path) == Checkpoint(RunFolder(run.path.resolve()), 400)


@pytest.mark.parametrize(
    "bad",
    [
        "..",
        ".",
        "../runs/kaaaaaa1",
        "/etc/passwd",
        "a\x00b",
        "x" * 5000,
        "~",
        "~nobody/x",
        "kaaaaaa1/..",
        "",
        "/",
    ],
)
def test_references_from_outside_stay_inside(root: Path, named: dict[str, RunFolder], bad: str) -> None:
    with pytest.raises(GymnastError):
        find_run(root, bad, allow_paths=False)
    with pytest.raises(GymnastError):
        find_checkpoint(root, bad, allow_paths=False)
    with pytest.raises(GymnastError):
        find_checkpoint(root, f"{bad}/@last", allow_paths=False)


@pytest.mark.parametrize("bad", ["..", "/etc/passwd", "a\x00/b", "x/" * 3000, "~nobody/x", "", "/"])
def test_paths_that_are_not_runs(root: Path, named: dict[str, RunFolder], bad: str) -> None:
    with pytest.raises(GymnastError, match=r"is not a run folder|no run"):
        find_run(root, bad)
    with pytest.raises(GymnastError):
        find_checkpoint(root, bad)


def test_a_half_copied_run_is_not_said_to_be_missing(root: Path, named: dict[str, RunFolder]) -> None:
    named["zebra123"].info_path.unlink()
    with pytest.raises(
        GymnastError, match=r"'zebra123' in .*: its folder there has no run.json; copy it again"
    ):
        find_run(root, "zebra123")


def test_a_link_out_of_the_folder_is_refused_from_outside(
    root: Path, named: dict[str, RunFolder], tmp_path: Path
) -> None:
    hidden = tmp_path / "secrets"
    hidden.mkdir()
    (root / "linked12").symlink_to(hidden)
    with pytest.raises(GymnastError, match=r"no run 'linked12'"):
        find_run(root, "linked12", allow_paths=False)
