"""Import paths: found without importing, and the working folder replaces nothing that is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gymnast.errors import GymnastError
from gymnast.import_path import import_module, load_class, locate_module

# Of Python, of ours and of what we depend on: all imported by one command or another.
SHADOWS = (
    *("random", "json", "re", "typing", "pathlib", "subprocess", "socket", "hmac", "secrets", "logging"),
    *("numpy", "gymnasium", "pydantic", "typer", "rich", "torch", "av", "filelock", "safetensors", "errors"),
)
TINY = ("env.n_envs=2", "algo.n_steps=8", "algo.batch_size=16", "--max-env-steps", "32", "-q")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose modules leave a trace when one of them is imported."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write('{name} ')\nraise SystemExit('hijacked')\n"
        )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words], check=False, capture_output=True, text=True, timeout=100
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("envs", "cart"),
        ("runs",),
        ("config", "show", "CartPole-v1:ppo"),
        ("wrappers",),
        ("train", "CartPole-v1:ppo", *TINY, "eval.every=16", "eval.episodes=2", "eval.background=true"),
        ("train", "CartPole-v1:ppo", *TINY, "eval.every=0", "env.backend=workers"),
    ],
    ids=lambda words: " ".join(words[:2] + words[-1:]),
)
def test_modules_of_the_working_folder_are_never_imported(hostile: Path, words: tuple[str, ...]) -> None:
    done = run(*words)
    traced = hostile / "imported"
    assert not traced.exists(), traced.read_text()
    if words[0] != "runs":
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_named_module_is_found_and_shadows_beside_it_are_not(hostile: Path) -> None:
    (hostile / "mine.py").write_text(
        "import random, numpy, beside\n"
        "from gymnasium.envs.classic_control import CartPoleEnv\n"
        "class Env(CartPoleEnv): pass\n"
    )
    (hostile / "beside.py").write_text("")
    words = ("train", "mine:Env", *TINY, "eval.every=16", "eval.episodes=2", "eval.background=true")
    for backend in ("sync", "workers"):
        done = run(*words, f"env.backend={backend}")
        assert done.returncode == 0, done.stderr
    assert not (hostile / "imported").exists()


@pytest.mark.slow
def test_package_in_the_working_folder_still_finds_itself(repository: Path) -> None:
    """`python -m gymnast` from within src: what it starts needs the folder too."""
    source = repository / "src"
    words = ["train", "CartPole-v1:ppo", *TINY, "eval.every=0", "env.backend=workers"]
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", *words],
        check=False, capture_output=True, text=True, cwd=source,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    return tmp_path


def test_locating_imports_nothing(folder: Path) -> None:
    for package in ("found_one", "found_one/inner", "loose", "loose/deep"):
        (folder / package).mkdir()
        for module in ("__init__", "leaf") if package.startswith("found") else ("leaf",):
            (folder / package / f"{module}.py").write_text("raise SystemExit('imported')")
    before = list(sys.path)
    for name in ("found_one", "found_one.leaf", "found_one.inner.leaf", "loose.leaf", "loose.deep.leaf"):
        file = locate_module(name)
        assert file is not None
        assert Path(file).is_relative_to(folder)
        assert name not in sys.modules
    for name in (
        "found_one.leaf.x",
        "found_one.none",
        "none",
        "",
        ".",
        "..x",
        "a b",
        "a/b",
        "x\0y",
        "found_one.",
    ):
        assert locate_module(name) is None
    assert locate_module("json") == json.__file__
    assert sys.path == before


def test_working_folder_goes_to_the_end_and_only_where_it_is_needed(folder: Path) -> None:
    before = list(sys.path)
    import_module("colorsys", "a test")
    assert sys.path == before
    with pytest.raises(GymnastError, match="no module 'none_such'"):
        import_module("none_such", "a test")
    assert sys.path == before
    (folder / "only_here_1.py").write_text("")
    import_module("only_here_1", "a test")
    assert sys.path == [*before, str(folder)]


def test_own_file_with_the_name_of_an_installed_module_is_named_in_the_error(folder: Path) -> None:
    (folder / "colorsys.py").write_text("class Env: pass")
    with pytest.raises(GymnastError, match=r"has no 'Env'.*colorsys\.py, which comes before .*rename yours"):
        load_class("colorsys:Env", object, "env")
