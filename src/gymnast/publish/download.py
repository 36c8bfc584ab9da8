"""Pulling a run from the Hub: its list of files is checked first, then each file against that list."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from gymnast.archive.install import check_id, hidden_folder, install_run
from gymnast.archive.manifest import MOST_MANIFEST, NAME, Manifest, read_manifest
from gymnast.publish.hub import HubError, explained
from gymnast.publish.names import HubSource
from gymnast.runs.files import open_read, read_bytes
from gymnast.runs.store import RunFolder

_PICKLES = (".zip", ".pkl", ".pt", ".pth", ".bin", ".ckpt", ".joblib")


def pull_from_hub(
    hub: Any, source: HubSource, root: Path, *, force: bool = False, new_id: bool = False
) -> RunFolder:
    """Download a published run into the runs folder, whole or not at all."""
    where = str(source)
    with explained(where):
        info = hub.model_info(source.repo, revision=source.revision, files_metadata=True)
    sizes = {sibling.rfilename: sibling.size for sibling in info.siblings or []}
    if NAME not in sizes:
        raise HubError(_not_ours(where, sizes))
    size = sizes[NAME]
    if size is None or size > MOST_MANIFEST:
        raise HubError(f"{where}: its {NAME} has {size} bytes, more than the {MOST_MANIFEST:,} that are read")
    with hidden_folder(root) as scratch:

        def fetched(name: str) -> Path:
            with explained(where):
                hub.hf_hub_download(source.repo, name, revision=info.sha, local_dir=scratch.path)
            return scratch.path / name

        manifest = read_manifest(read_bytes(fetched(NAME), MOST_MANIFEST), where)
        check_id(root, manifest.run, force=force, new_id=new_id)  # before the rest is downloaded
        _compare(manifest, sizes, where)
        for name in manifest.files:
            fetched(name)

        def opened(name: str) -> BinaryIO:
            return open_read(scratch.path / name, manifest.files[name].bytes)

        origin = {"source": f"hf:{source.repo}", "asked": where, "revision": info.sha}
        return install_run(root, manifest, opened, where, origin=origin, force=force, new_id=new_id)


def _compare(manifest: Manifest, sizes: dict[str, int | None], where: str) -> None:
    for name, facts in manifest.files.items():
        if name not in sizes:
            raise HubError(f"{where} is incomplete: {name} is missing there")
        if sizes[name] != facts.bytes:
            raise HubError(f"{where}: {name} has another size than its list says; it was changed since")


def _not_ours(where: str, files: dict[str, int | None]) -> str:
    if any(name.endswith(_PICKLES) for name in files):
        return (
            f"{where} is not a run of Gymnast: its weights are pickled, as those of Stable-Baselines3 and RL"
            " Zoo are, and loading a pickle runs whatever code is in it; such models are not read"
        )
    return f"{where} is not a run of Gymnast: it has no {NAME} (gymnast publish makes such repositories)"
