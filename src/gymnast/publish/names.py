"""Names on the Hub: those that users give, and the one that a run gets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gymnast.errors import GymnastError

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"
_REPO = re.compile(rf"({_PART})/({_PART})", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,200}", re.ASCII)
_LONGEST = 96


@dataclass(frozen=True, slots=True)
class HubSource:
    """`hf:OWNER/NAME@REVISION`."""

    repo: str
    revision: str | None = None

    def __str__(self) -> str:
        return f"hf:{self.repo}{f'@{self.revision}' if self.revision else ''}"


def check_repo(repo: str) -> str:
    """`repo`, if the Hub could have it."""
    match = _REPO.fullmatch(repo)
    if match is None or "--" in repo or ".." in repo or repo.endswith(".git") or len(match[2]) > _LONGEST:
        raise GymnastError(
            f"{repo!r} is not the name of a repository: OWNER/NAME, of letters, digits, '-', '_' and '.'"
            " (such as ada/ppo-CartPole-v1)"
        )
    return repo


def parse_source(source: str) -> HubSource:
    """What `hf:OWNER/NAME[@REVISION]` names."""
    repo, at, revision = source.removeprefix("hf:").partition("@")
    if at and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise GymnastError(f"{source}: {revision!r} is not a branch, tag or commit")
    return HubSource(check_repo(repo), revision if at else None)


def usual_name(algo: str, env: str) -> str:
    """`ppo-CartPole-v1`; what the Hub does not allow becomes a '-'."""
    name = re.sub(r"[^A-Za-z0-9._]+|\.{2,}", "-", f"{algo or 'agent'}-{env or 'env'}")
    name = re.sub(r"-{2,}", "-", name)[:_LONGEST].removesuffix(".git")
    return name.strip("-._") or "agent"
