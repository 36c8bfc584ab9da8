"""The files in examples/remote: their commands are run as they stand, stopped, killed and run again.

Programs of the platforms stand in a folder of ours: `srun` and `hf jobs run` run what they are given here,
`pip` installs nothing, and `gymnast` is the real one, with a small environment in place of a large one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.store import RunFolder

pytestmark = pytest.mark.timeout(600)  # each runs a few processes, on a machine that may be busy

GYMNAST = """#!{python}
import os, sys
words = sys.argv[1:]
assert words[:2] == ["train", "LunarLander-v3:ppo"], words
words[1] = "CartPole-v1:ppo"
words[words.index("--runs-dir") + 1] = os.environ["TEST_RUNS"]
if "--max-duration" in words:
    del words[words.index("--max-duration") : words.index("--max-duration") + 2]
if os.environ.get("TEST_LIMIT"):
    words += ["--max-duration", os.environ["TEST_LIMIT"]]
words += ["eval.every=0", "checkpoint.every=4k", "--max-env-steps", os.environ.get("TEST_STEPS", "20k")]
os.execv(sys.executable, [sys.executable, "-m", "gymnast", *words])
"""
PROGRAMS = {
    "pip": '#!/bin/bash\n[ "$1" = install ]\n',
    "srun": '#!/bin/bash\nexec "$@"\n',
    "scontrol": '#!/bin/bash\necho "$@" >> "$TEST_RUNS.scontrol"\n',
    # Everything up to the image is for the platform; the rest is the command.
    "hf": '#!/bin/bash\necho "$@" >> "$TEST_RUNS.hf"\nwhile [ "$1" != python:3.12 ]; do shift; done\n'
    'shift\nexec "$@"\n',
}


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs folder that the examples write to, with stand-ins for the programs of the platforms."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {**PROGRAMS, "gymnast": GYMNAST.format(python=sys.executable)}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    runs = tmp_path / "runs"
    for name, value in {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TEST_RUNS": str(runs),
        "SLURM_JOB_ID": "4711",
        "HF_USER": "somebody",
    }.items():
        monkeypatch.setenv(name, value)
    return runs


def yaml(path: Path) -> list[Any]:
    return list(YAML(typ="safe").load_all(path.read_text()))


def command_of(folder: Path, name: str) -> str:
    """The part of an example that runs on the machine, as a program for bash."""
    path = folder / name
    if name.endswith(".sh"):
        return path.read_text()
    if name == "skypilot.yaml":
        (task,) = yaml(path)
        return f"set -e\n{task['setup']}\n{task['run']}"
    if name == "dstack.yml":
        (task,) = yaml(path)
        return "set -e\n" + "\n".join(task["commands"])
    (container,) = yaml(path)[1]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["bash", "-c"]
    (text,) = container["args"]
    return str(text)


def run(command: str, **env: str) -> int:
    return subprocess.run(
        ["bash", "-c", command],
        check=False,
        env=os.environ | env,
        stdout=subprocess.DEVNULL,
        timeout=300,
    ).returncode


NAMES = ("slurm.sh", "skypilot.yaml", "dstack.yml", "hf-jobs.sh", "kubernetes.yaml")


@pytest.fixture
def examples(repository: Path) -> Path:
    return repository / "examples" / "remote"


def test_every_example_is_tested(examples: Path) -> None:
    assert {path.name for path in examples.iterdir()} == set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_killed_and_run_again(examples: Path, platform: Path, name: str) -> None:
    command, folder = command_of(examples, name), RunFolder(platform / "lander-1")
    process = subprocess.Popen(
        ["bash", "-c", command],
        env=os.environ | {"TEST_STEPS": "100k"},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + 200
    while time.monotonic() < end and not (folder.path.is_dir() and list_checkpoints(folder)):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert run(command, TEST_STEPS="100k") == 0
    status = json.loads(folder.status_path.read_text())
    assert (status["status"], status["env_steps"]) == ("finished", 100_352)
    resumes = json.loads(folder.info_path.read_text())["resumes"]
    assert len(resumes) == 1
    assert resumes[0]["env_steps"] > 0


@pytest.mark.parametrize("name", [name for name in NAMES if name != "dstack.yml"])
def test_not_finished_is_exit_code_3(examples: Path, platform: Path, name: str) -> None:
    command = command_of(examples, name)
    assert run(command, TEST_STEPS="5M", TEST_LIMIT="1s") == 3
    if name == "slurm.sh":
        assert Path(f"{platform}.scontrol").read_text() == "requeue 4711\n"
    if name == "hf-jobs.sh":
        assert "--attempts 10" in Path(f"{platform}.hf").read_text()


@pytest.mark.slow
def test_dstack_continues_by_itself(examples: Path, platform: Path) -> None:
    command = command_of(examples, "dstack.yml")
    assert run(command, TEST_STEPS="8k", TEST_LIMIT="1s") == 0
    folder = RunFolder(platform / "lander-1")
    assert json.loads(folder.status_path.read_text())["status"] == "finished"


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_not_tried_again(examples: Path, platform: Path, name: str) -> None:
    command = command_of(examples, name).replace("--run-id lander-1", "--run-id Not_an_id")
    assert run(command) == 2
    assert not Path(f"{platform}.scontrol").exists()


def test_what_each_platform_needs_for_again(examples: Path) -> None:
    (sky,) = yaml(examples / "skypilot.yaml")
    assert sky["resources"]["job_recovery"]["recover_on_exit_codes"] == [3]
    assert sky["resources"]["job_recovery"]["max_restarts_on_errors"] == 0
    (dstack,) = yaml(examples / "dstack.yml")
    assert dstack["retry"]["on_events"] == ["no-capacity", "interruption"], "'error' would repeat bad input"
    assert dstack["volumes"][0]["path"] == "/runs"
    claim, job = yaml(examples / "kubernetes.yaml")
    rules = job["spec"]["podFailurePolicy"]["rules"]
    codes = {rule["action"]: rule["onExitCodes"]["values"] for rule in rules if "onExitCodes" in rule}
    assert codes == {"Ignore": [3], "FailJob": [1, 2]}
    pod = job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert pod["terminationGracePeriodSeconds"] >= 60
    slurm = (examples / "slurm.sh").read_text()
    for option in ("--requeue", "--signal=TERM@120", "--time=24:00:00"):
        assert f"#SBATCH {option}\n" in slurm
