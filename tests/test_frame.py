"""The frame around the code: dependencies, pins, file sizes, and what a tracked file may not hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import gymnast


@pytest.fixture(scope="module")
def pyproject(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def tracked(repository: Path) -> list[Path]:
    """Files in git, or about to be: untracked ones that are not ignored count too."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for line in listed.stdout.splitlines() if (path := repository / line).is_file()]


@pytest.fixture(scope="module")
def texts(tracked: list[Path]) -> dict[Path, str]:
    found: dict[Path, str] = {}
    for path in tracked:
        try:
            found[path] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture
            continue
    return found


def name_of(requirement: str) -> str:
    """The package that a requirement or a pin names, in its normal form."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]).lower()


def declared(pyproject: dict[str, Any]) -> set[str]:
    project = pyproject["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return {name_of(requirement) for group in groups for requirement in group} - {"gymnast"}


def reachable_from(extra: str, pyproject: dict[str, Any]) -> set[str]:
    """Packages of an extra, and of the extras it includes."""
    extras = pyproject["project"]["optional-dependencies"]
    names: set[str] = set()
    for requirement in extras[extra]:
        inner = re.match(r"gymnast\[(.+)\]", requirement)
        if inner:
            for part in inner.group(1).split(","):
                names |= reachable_from(part.strip(), pyproject)
        else:
            names.add(name_of(requirement))
    return names


def test_core_has_no_torch(pyproject: dict[str, Any]) -> None:
    core = {name_of(requirement) for requirement in pyproject["project"]["dependencies"]}
    assert core.isdisjoint({"torch", "stable-baselines3", "envpool", "tensorboard", "wandb"})


@pytest.mark.parametrize("extra", ["dev", "bench"])
def test_extras_that_need_torch_include_it(extra: str, pyproject: dict[str, Any]) -> None:
    assert "torch" in reachable_from(extra, pyproject)


def test_constraints_pin_everything_that_is_declared(repository: Path, pyproject: dict[str, Any]) -> None:
    lines = (repository / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line.strip() and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", pin) for pin in pins), pins
    assert declared(pyproject) <= {name_of(pin) for pin in pins}


def test_version_is_stated_once(pyproject: dict[str, Any]) -> None:
    assert pyproject["project"]["version"] == gymnast.__version__


def test_readme_shows_both_commands(repository: Path) -> None:
    readme = (repository / "README.md").read_text()
    assert "make train" in readme
    assert "make test" in readme


def test_changelog_has_a_place_for_the_next_change(repository: Path) -> None:
    assert "## [Unreleased]" in (repository / "CHANGELOG.md").read_text()


# Written in pieces, so that this file passes its own test.
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:wo" + r"rk|ro" + r"ot|ho" + r"me|Us" + r"ers|op" + r"t)/[\w.-]+")
REGISTRIES = re.compile(
    "|".join(["py" + r"pi\.org", "pythonhos" + r"ted\.org", "--(?:extra-)?index" + "-url"])
)


@pytest.mark.parametrize("forbidden", [MACHINE_PATHS, REGISTRIES], ids=["machine paths", "registries"])
def test_tracked_files_name_no_machine(forbidden: re.Pattern[str], texts: dict[Path, str]) -> None:
    found = {path: match.group() for path, text in texts.items() if (match := forbidden.search(text))}
    assert not found


@pytest.mark.parametrize(
    ("pattern", "text"), [(MACHINE_PATHS, "see /ro" + "ot/x"), (REGISTRIES, "https://py" + "pi.org/simple")]
)
def test_patterns_find_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def test_source_files_stay_small(repository: Path, texts: dict[Path, str]) -> None:
    folders = [repository / "src", repository / "benchmarks"]
    sources = {p: t for p, t in texts.items() if p.suffix == ".py" and any(f in p.parents for f in folders)}
    assert sources
    long = {str(p.relative_to(repository)): n for p, t in sources.items() if (n := len(t.splitlines())) > 400}
    assert not long, "past 400 lines a file has a second reason to exist"


def test_no_catch_all_modules(repository: Path, tracked: list[Path]) -> None:
    catch_all = {"utils", "helpers", "common", "misc", "manager"}
    assert not [path for path in tracked if path.suffix == ".py" and path.stem in catch_all]


def imported_by(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after running `code`."""
    report = "import sys; print('\\nLOADED', *sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


HELP = """
import sys
from gymnast.cli.app import main
sys.argv = ["gymnast", "--help"]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
"""


def test_help_imports_nothing_heavy() -> None:
    assert imported_by(HELP).isdisjoint({"torch", "gymnasium", "numpy", "pydantic", "stable_baselines3"})


def test_api_imports_no_torch() -> None:
    assert "torch" not in imported_by("import gymnast.api")


TRAINING = """
from gymnast import api
api.train("CartPole-v1:ppo", overrides={"eval.every": 0}, max_env_steps=512)
"""


def test_training_a_small_network_imports_no_torch() -> None:
    loaded = imported_by(TRAINING)
    assert "numpy" in loaded
    assert "torch" not in loaded


def make(repository: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call make as a user would, also when this test itself was started by make."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(
        command, cwd=repository, env=outside, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize(
    "target", ["help", "train", "test", "check", "format", "bench", "results", "docs", "clean"]
)
def test_makefile_has_the_target(target: str, repository: Path) -> None:
    done = make(repository, "--dry-run", target)
    assert done.returncode == 0, done.stderr


def test_old_python_is_refused_with_one_clear_message(repository: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    done = make(repository, "train", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stdout
    assert "Python 3.9.2" in done.stdout
    assert not (tmp_path / "venv").exists()
