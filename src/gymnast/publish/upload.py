"""Publishing a folder: everything in one commit, or nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnast.archive.manifest import MOST_MANIFEST, NAME, BadArchive, read_manifest
from gymnast.errors import GymnastError
from gymnast.publish.hub import HubError, explained
from gymnast.runs.files import open_users_file, read_all

# Of an earlier publication of the same run, what this one does not have.
_OURS = [
    "checkpoints/*",
    "replay.mp4",
    "score.png",
    "results.json",
    "alerts.json",
    "status.json",
    "metrics.csv",
]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """One commit on the Hub."""

    url: str
    revision: str
    created: bool  # whether the repository was made for it


@dataclass(frozen=True, slots=True)
class Place:
    """A repository as it was found before anything is uploaded."""

    repo: str
    exists: bool
    head: str | None = None


def find_place(hub: Any, repo: str, run_id: str, *, force: bool) -> Place:
    """Where a run would go. Raises HubError if something else has that name, unless `force`."""
    from huggingface_hub.errors import RepositoryNotFoundError

    with explained(repo):
        try:
            info = hub.model_info(repo)
        except RepositoryNotFoundError as error:
            if getattr(error.response, "status_code", None) == 401:
                raise
            return Place(repo, exists=False)
        files = {sibling.rfilename for sibling in info.siblings or []}
        holds = _run_in(hub, repo, info.sha) if NAME in files else None
    if holds != run_id and not force and files - {".gitattributes"}:
        what = f"run {holds}" if holds else "something else"
        raise HubError(
            f"{repo} is taken: it holds {what}; choose another name with --repo OWNER/NAME, or give --force"
            " to commit into it (its history keeps what is there)"
        )
    return Place(repo, exists=True, head=info.sha)


def _run_in(hub: Any, repo: str, revision: str) -> str | None:
    """The id of the run that a repository holds."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = hub.hf_hub_download(repo, NAME, revision=revision, local_dir=folder)
        with suppress(BadArchive, OSError), open_users_file(Path(path), MOST_MANIFEST) as file:
            return read_manifest(read_all(file), repo).run
    return None


def upload_folder(hub: Any, folder: Path, place: Place, *, private: bool, message: str) -> Uploaded:
    """Commit the folder. If that fails, a repository that was made for it is removed again."""
    repo = place.repo
    if not place.exists:
        with explained(repo):
            hub.create_repo(repo, private=private, exist_ok=False)
    try:
        with explained(repo):
            commit = hub.upload_folder(
                repo_id=repo,
                folder_path=folder,
                commit_message=message,
                delete_patterns=_OURS if place.exists else None,
                parent_commit=place.head,
            )
    except BaseException as error:
        if place.exists:
            raise
        removed = _remove_empty(hub, repo)
        if isinstance(error, GymnastError):
            rest = (
                "" if removed else f"; the repository {repo} was made and stays there: remove it on its page"
            )
            raise HubError(f"{error}{rest}") from error
        raise
    return Uploaded(str(commit.commit_url).partition("/commit/")[0], commit.oid, not place.exists)


def _remove_empty(hub: Any, repo: str) -> bool:
    """Remove a repository that was made a moment ago and got nothing; whether it is gone."""
    try:
        files = {sibling.rfilename for sibling in hub.model_info(repo).siblings or []}
        if files - {".gitattributes"}:  # the commit arrived, though its answer did not
            return False
        hub.delete_repo(repo, missing_ok=True)
    except Exception:  # whatever keeps us from it, the user is told that it stays
        return False
    return True
