"""What was typed to train a checkpoint, as others may read it: the start of its run, and each resume."""

from __future__ import annotations

from typing import Any

from gymnast.redact import redacted_arguments
from gymnast.runs.checkpoint import Checkpoint

_MOST_WORDS = 200
_MOST_RESUMES = 100


def shared_command(command: Any) -> list[str]:
    """A command line without secrets, and without `--runs-dir DIR`: where runs are kept here is nobody's
    business. Empty if there is none."""
    if not isinstance(command, (list, tuple)):
        return []
    words = redacted_arguments([str(word) for word in command[:_MOST_WORDS]])
    kept = zip(words, ["", *words[:-1]], strict=True)
    return [word for word, last in kept if not word.startswith("--runs-dir") and last != "--runs-dir"]


def resumes_before(checkpoint: Checkpoint) -> list[dict[str, Any]]:
    """The last of the resumes that these weights went through, as run.json has them, without the configs
    that they replaced."""
    known = checkpoint.run.info().get("resumes")
    saved = checkpoint.sidecar().created
    found = [
        {
            **{key: resume[key] for key in ("env_steps", "created", "scores_from") if key in resume},
            "command": shared_command(resume.get("command")),
        }
        for resume in (known if isinstance(known, list) else [])
        if isinstance(resume, dict)
        and type(steps := resume.get("env_steps")) is int
        and 0 <= steps < 2**63
        and str(resume.get("created")) <= saved
    ]
    return found[-_MOST_RESUMES:]
