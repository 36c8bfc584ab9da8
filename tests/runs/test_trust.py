"""Runs from elsewhere: nothing that their configs name is imported before the user says so."""

from __future__ import annotations

import ast
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import gymnast
from gymnast import api
from gymnast.config.load import load_config
from gymnast.errors import GymnastError, UntrustedRun
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import imported_paths, is_trusted, load_run_config, mark_run

SOURCE = Path(gymnast.__file__).parent
MODULE = """
from pathlib import Path
Path(__file__).with_suffix(".imported").touch()
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv
from gymnast.api import Hook, Sink
class Env(CartPoleEnv):
    def __init__(self, note="", render_mode=None):
        super().__init__(render_mode=render_mode)
class Wrapper(gym.Wrapper): pass
class MyHook(Hook): pass
class MySink(Sink): pass
gym.register("trusted/Cart-v0", Env, max_episode_steps=20)
"""
TINY = ["env.n_envs=2", "env.backend=sync", "algo.n_steps=8", "algo.batch_size=16", "eval.every=0"]
EVAL = ("--episodes", "2", "--n-envs", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with a module that leaves a trace when it is imported, and a run of its env."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "elsewhere.py").write_text(MODULE)
    words = ["train", "elsewhere:Env", *TINY, "--max-env-steps", "32", "--json", "--runs-dir", "runs"]
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return folder, folder / json.loads(done.stdout)["path"]


@pytest.fixture
def folder(made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(made[0])
    monkeypatch.setenv("GYMNAST_RUNS_DIR", str(tmp_path / "runs"))
    was_imported(made[0])
    return made[0]


@pytest.fixture
def own(folder: Path, made: tuple[Path, Path], tmp_path: Path) -> RunFolder:
    """The run, in the runs folder of this test."""
    return RunFolder(shutil.copytree(made[1], tmp_path / "runs" / made[1].name))


def gymnast_command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words],
        check=False, capture_output=True, text=True, timeout=100, env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture
def plain(folder: Path, tmp_path: Path) -> RunFolder:
    """A run whose config names no code."""
    run = api.train("FrozenLake-v1:ppo", overrides=[*TINY, "env.kwargs.map_name=4x4"], max_env_steps=32)
    return run.folder


def was_imported(folder: Path) -> bool:
    """Whether it was since the last question."""
    traced = folder / "elsewhere.imported"
    found = traced.exists()
    traced.unlink(missing_ok=True)
    return found


@pytest.fixture
def other_user(tmp_path: Path) -> dict[str, str]:
    return {"GYMNAST_STATE_DIR": str(tmp_path / "another state")}


def test_run_made_here_is_used_without_asking(folder: Path, own: RunFolder) -> None:
    for words in (("eval", *EVAL), ("train", "--resume", "--max-env-steps", "64", "-q"), ("eval", *EVAL)):
        done = gymnast_command(*words)
        assert done.returncode == 0, done.stderr
    assert len(json.loads(own.mark_path.read_text())["marks"]) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("eval",),
        ("video", "record"),
        ("video", "progress"),
        ("train", "--resume"),
        ("train", "--resume", "--detach"),
    ],
    ids=" ".join,
)
def test_commands_refuse_a_run_from_elsewhere_before_anything_is_imported(
    folder: Path, own: RunFolder, other_user: dict[str, str], words: tuple[str, ...]
) -> None:
    if "video" in words:
        pytest.importorskip("av")
    before = {path: path.stat().st_mtime_ns for path in own.path.rglob("*") if path.is_file()}
    done = gymnast_command(*words, **other_user)
    assert done.returncode == 2
    assert not was_imported(folder)
    assert f"env.id elsewhere:Env imports {folder / 'elsewhere.py'}" in done.stderr
    assert "--trust" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before, "nothing is written either"


def test_commands_that_only_read_a_run_import_nothing(
    folder: Path, own: RunFolder, plain: RunFolder, other_user: dict[str, str]
) -> None:
    one, two = own, plain
    for words in (("runs",), ("runs", "show", one.id), ("runs", "compare", one.id, two.id), ("runs", "best")):
        gymnast_command(*words, **other_user)
        assert not was_imported(folder)
    # Weights are data: a new run may start from those of any other.
    done = gymnast_command(
        "train", "CartPole-v1:ppo", *TINY, "--init-from", one.id, "--max-env-steps", "32", "-q", **other_user
    )
    assert "not trusted" not in done.stderr
    assert not was_imported(folder)


def test_trusted_resume_makes_the_run_ones_own(own: RunFolder, other_user: dict[str, str]) -> None:
    assert gymnast_command("eval", "--trust", *EVAL, **other_user).returncode == 0
    assert gymnast_command("eval", *EVAL, **other_user).returncode == 2, "an evaluation marks nothing"
    done = gymnast_command("train", "--resume", "--trust", "--max-env-steps", "64", "-q", **other_user)
    assert done.returncode == 0, done.stderr
    for state in (other_user, {}):  # and stays that of the user who made it
        assert gymnast_command("eval", *EVAL, **state).returncode == 0


@pytest.mark.parametrize("answer", ["y", "n"])
def test_terminal_is_asked(folder: Path, own: RunFolder, other_user: dict[str, str], answer: str) -> None:
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(other_user)
        os.execv(sys.executable, [sys.executable, "-m", "gymnast", "eval", *EVAL])
    shown, end, asked = "", time.monotonic() + 60, False
    while time.monotonic() < end and select.select([fd], [], [], 60)[0]:
        try:
            shown += os.read(fd, 4096).decode()
        except OSError:
            break
        if not asked and "trust it? [y/N]" in shown:
            asked = True
            assert f"env.id elsewhere:Env imports {folder / 'elsewhere.py'}" in shown.replace("\r\n", "")
            assert not was_imported(folder)
            os.write(fd, f"{answer}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert asked, shown
    assert code == (0 if answer == "y" else 2), shown
    assert was_imported(folder) == (answer == "y")


def test_python_callers_are_refused_unless_they_trust(
    folder: Path, own: RunFolder, other_user: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYMNAST_STATE_DIR", other_user["GYMNAST_STATE_DIR"])
    monkeypatch.setattr("sys.path", list(sys.path))
    calls: list[Any] = [
        api.load_policy,
        api.record_trace,
        api.evaluate,
        lambda name: api.resume(name, max_env_steps=64),
        lambda name: api.start_detached(resume=name),
    ]
    for call in calls:
        with pytest.raises(UntrustedRun, match=r"elsewhere:Env imports .*elsewhere\.py[\s\S]*trust=True"):
            call(own.id)
        assert not was_imported(folder)
    assert api.evaluate(own.id, episodes=1, n_envs=1, trust=True).episodes == 1
    assert was_imported(folder)


EDITS = {
    "env.id": ("id: FrozenLake-v1", "id: elsewhere:Env"),
    "env.id of a package": ("id: FrozenLake-v1", "id: elsewhere:trusted/Cart-v0"),
    "env.wrappers.0": ("wrappers: []", "wrappers: [elsewhere:Wrapper]"),
    "policy.encoder": ("encoder: auto", 'encoder: "elsewhere:Encoder"'),
    "hooks.0": ("hooks: []", "hooks: [{name: elsewhere:MyHook}]"),
    "sinks.0": ("sinks: []", "sinks: [elsewhere:MySink]"),
    "env.mix.1": ("mix: null", "mix: [{id: FrozenLake-v1}, {id: elsewhere:Env}]"),
    "env.mix.0.wrappers": ("mix: null", "mix: [{wrappers: [elsewhere:Wrapper]}]"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edited_config_is_not_trusted(folder: Path, plain: RunFolder, edit: tuple[str, str]) -> None:
    run = plain
    text = run.config_text()
    assert edit[0] in text
    assert load_run_config(run)
    run.config_path.write_text(text.replace(*edit, 1))
    with pytest.raises(UntrustedRun, match=r"elsewhere:\S+ imports .*elsewhere\.py"):
        load_run_config(run)
    with pytest.raises(UntrustedRun):
        api.resume(run.id)
    assert not was_imported(folder)
    assert load_run_config(run, trust=True)


def test_plain_run_from_elsewhere_needs_no_trust(plain: RunFolder, other_user: dict[str, str]) -> None:
    run = plain
    assert json.loads(run.mark_path.read_text())["marks"]
    run.mark_path.unlink()
    assert gymnast_command("eval", *EVAL, **other_user).returncode == 0


def edited(run: RunFolder, before: str, after: str) -> RunFolder:
    assert before in run.config_text()
    run.config_path.write_text(run.config_text().replace(before, after, 1))
    return run


def test_overrides_are_the_users_own_and_cover_nothing_else(plain: RunFolder) -> None:
    run = plain
    assert imported_paths(load_run_config(run, ["env.id=elsewhere:Env"])) == ["elsewhere:Env"]
    assert load_run_config(run, {"env": {"wrappers": [{"name": "elsewhere:Wrapper"}]}})
    edited(run, "wrappers: []", 'wrappers: [{name: "elsewhere:Wrapper", x: 1}]')
    for overrides in ((), ["env.wrappers.0.x=2"], ["env.id=elsewhere:Env"], {"seed": 1}):
        with pytest.raises(UntrustedRun, match="elsewhere:Wrapper"):
            load_run_config(run, overrides)
    assert load_run_config(run, ["env.wrappers=[]"])
    mark_run(run, load_config(str(run.config_path)).config)
    assert load_run_config(run, ["env.wrappers.0.x=2", "env.id=elsewhere:Env"]), "over a trusted config"


def test_mark_covers_arguments_the_run_and_the_file(folder: Path, plain: RunFolder, tmp_path: Path) -> None:
    run = edited(plain, "id: FrozenLake-v1", "id: elsewhere:Env")
    config = load_config(str(run.config_path)).config
    assert not is_trusted(run, config)
    mark_run(run, config)
    assert is_trusted(run, config)
    changed = load_config(str(run.config_path), ["env.kwargs.note=x"]).config
    assert not is_trusted(run, changed)
    assert is_trusted(run, load_config(str(run.config_path), ["seed=7"]).config)
    other = RunFolder(shutil.copytree(run.path, run.path.with_name("abcdefgh")))
    assert not is_trusted(other, config), "a mark copied to another run"
    moved = tmp_path / "another folder"
    shutil.copytree(run.path, moved / "runs" / run.id)
    shutil.copy("elsewhere.py", moved)
    os.chdir(moved)  # the fixture changes back
    there = RunFolder(moved / "runs" / run.id)
    assert not is_trusted(there, config), "a module of the same name is other code"
    os.chdir(folder)
    assert is_trusted(there, config), "the run alone may move"


@pytest.mark.parametrize("content", ["", "[]", '{"marks": 3}', '{"marks": [null, "ü", "00"]}', "\0"])
def test_forged_or_damaged_marks_count_for_nothing(plain: RunFolder, content: str) -> None:
    run = edited(plain, "id: FrozenLake-v1", "id: elsewhere:Env")
    run.mark_path.write_text(content)
    with pytest.raises(UntrustedRun):
        load_run_config(run)


def test_run_from_elsewhere_reads_no_environment_variable(plain: RunFolder) -> None:
    run = edited(plain, "map_name", 'desc: ["${HOME}"], map_name')
    with pytest.raises(UntrustedRun, match=r"env\.kwargs reads the environment variable HOME"):
        load_run_config(run)
    assert load_run_config(run, trust=True)
    assert load_run_config(run, ["env.kwargs.desc=${HOME}"]), "named by the user"


def test_key_is_private_and_made_once_by_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "deep" / "state"
    monkeypatch.setenv("GYMNAST_STATE_DIR", str(state))
    code = "from gymnast.runs.marks import _make_key; print(_make_key().hex())"
    command = [sys.executable, "-c", code]
    with ThreadPoolExecutor(6) as pool:
        keys = set(pool.map(lambda _: subprocess.check_output(command, text=True).strip(), range(6)))
    assert len(keys) == 1
    assert [path.name for path in state.iterdir()] == ["key"]
    assert (state / "key").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("fault", ["no folder", "readable by all", "damaged", "a link"])
def test_key_that_cannot_be_used_is_reported_and_trusts_nothing(
    plain: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: str,
) -> None:
    state = tmp_path / "state"
    if fault == "no folder":
        state.write_text("a file")
    else:
        state.mkdir()
        (state / "key").write_text("" if fault == "damaged" else "ab" * 32)
        (state / "key").chmod(0o644 if fault == "readable by all" else 0o600)
        if fault == "a link":
            (state / "key").rename(tmp_path / "real")
            (state / "key").symlink_to(tmp_path / "real")
    monkeypatch.setenv("GYMNAST_STATE_DIR", str(state))
    mark_run(plain, load_run_config(plain))
    assert not caplog.messages, "it needs no mark"
    config = load_run_config(edited(plain, "id: FrozenLake-v1", "id: elsewhere:Env"), trust=True)
    mark_run(plain, config)
    assert "cannot be marked as made here" in caplog.text
    assert str(state) in caplog.text
    assert not is_trusted(plain, config)


@pytest.mark.slow
def test_run_that_cannot_be_marked_trains_and_warns(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    environment = {"GYMNAST_STATE_DIR": str(tmp_path / "state")}
    done = gymnast_command("train", "elsewhere:Env", *TINY, "--max-env-steps", "32", **environment)
    assert done.returncode == 0, done.stderr
    assert "this run cannot be marked as made here" in done.stdout
    assert gymnast_command("eval", *EVAL, **environment).returncode == 2
    assert gymnast_command("eval", "--trust", *EVAL, **environment).returncode == 0


@pytest.mark.slow
def test_evaluation_and_workers_of_a_trusted_run_need_no_further_answer(
    own: RunFolder, other_user: dict[str, str]
) -> None:
    processes = ["env.backend=workers", "eval.background=true", "eval.every=16", "eval.episodes=2"]
    words = ("train", "--resume", *processes, "--max-env-steps", "64", "-q")
    assert gymnast_command(*words, **other_user).returncode == 2
    done = gymnast_command(*words, "--trust", **other_user)
    assert done.returncode == 0, done.stderr


def sources() -> dict[str, str]:
    return {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}


def test_every_user_of_import_paths_is_known_to_trust() -> None:
    """A new one must be added to `trust._accesses`, and to EDITS here."""
    users = {name for name, text in sources().items() if "gymnast.import_path" in text}
    assert users == {
        "config/plugins.py",
        "envs/single.py",
        "envs/wrappers/__init__.py",
        "policies/torch/encoder.py",
        "runs/trust.py",
    }
    plugins = {name for name, text in sources().items() if "PluginConfig" in text}
    known = {"config/plugins.py", "config/schema.py", "envs/settings.py", "metrics/sinks/table.py"}
    tracked = "metrics/sinks/trackers/settings.py"  # makes entries of `sinks` out of `--track`
    assert plugins == known | {"runs/trust.py", tracked}


def test_configs_of_runs_are_loaded_in_one_place() -> None:
    loading = {
        name
        for name, text in sources().items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and "load_config" in ast.unparse(node.func)
        and "config_path" in ast.unparse(node)
    }
    # restore.py compares configs and builds nothing of them
    assert loading == {"runs/trust.py", "training/run/restore.py"}


def test_hidden_value_of_an_older_run_is_refused(plain: RunFolder) -> None:
    run = edited(plain, "map_name", 'token: "***", map_name')
    with pytest.raises(GymnastError, match=r"env\.kwargs\.token of run .* is hidden"):
        load_run_config(run)
    assert load_run_config(run, ["env.kwargs.token=abc"])


def test_import_path_of_another_file_in_the_folder_is_seen(folder: Path, plain: RunFolder) -> None:
    (plain.path / "more.yaml").write_text("hooks: [elsewhere:MyHook]\n")
    edited(plain, "hooks: []\n", "")
    plain.config_path.write_text(f"extends: more.yaml\n{plain.config_text()}")
    with pytest.raises(UntrustedRun, match="elsewhere:MyHook"):
        load_run_config(plain)
    kept = plain.checkpoints / "config-1.yaml"  # such as the config of one checkpoint
    kept.write_text(plain.config_text().replace("more.yaml", "../more.yaml"))
    with pytest.raises(UntrustedRun, match="elsewhere:MyHook"):
        load_run_config(plain, file=kept)
    mark_run(plain, load_run_config(plain, trust=True))
    assert load_run_config(plain, file=kept), "the same import, whichever file names it"
    assert not was_imported(folder)
