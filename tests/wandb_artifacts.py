"""Artifacts as W&B's server keeps them: made, filled with files, committed, found by name, downloaded."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Artifact:
    """One version of a collection."""

    id: str
    collection: str
    kind: str
    metadata: str
    digest: str
    aliases: list[str]
    index: int
    project: str
    files: dict[str, bytes] = field(default_factory=dict)
    manifest: bytes = b"{}"
    committed: bool = False


class ArtifactStore:
    """What artifacts were logged; `uploads` arrive by PUT at the addresses that are given out here."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.artifacts: dict[str, Artifact] = {}
        self._urls: dict[str, tuple[Artifact, str]] = {}  # by path: what is put or got there

    def put(self, path: str, content: bytes) -> bool:
        """Take an upload; whether it is one of ours."""
        if path not in self._urls:
            return False
        artifact, name = self._urls[path]
        if name == "":
            artifact.manifest = content
        else:
            artifact.files[name] = content
        return True

    def get(self, path: str) -> bytes | None:
        if path not in self._urls:
            return None
        artifact, name = self._urls[path]
        return artifact.manifest if name == "" else artifact.files.get(name)

    def _address(self, artifact: Artifact, name: str) -> str:
        path = f"/artifact/{artifact.id}/{hashlib.md5(name.encode()).hexdigest()}"
        self._urls[path] = (artifact, name)
        return self._url + path

    def answer(self, operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
        """None for what has nothing to do with artifacts."""
        found = getattr(self, f"_{operation}", None)
        return None if found is None else found(given.get("input") or given)

    def _CreateArtifact(self, given: dict[str, Any]) -> dict[str, Any]:
        collection = given["artifactCollectionName"]
        versions = sum(one.collection == collection for one in self.artifacts.values())
        artifact = Artifact(
            id=f"artifact-{len(self.artifacts)}",
            collection=collection,
            kind=given["artifactTypeName"],
            metadata=given.get("metadata") or "{}",
            digest=given["digest"],
            aliases=[alias["alias"] for alias in given.get("aliases") or []],
            index=versions,
            project=given["projectName"],
        )
        for other in self.artifacts.values():
            if other.collection == collection:
                other.aliases = [alias for alias in other.aliases if alias not in artifact.aliases]
        self.artifacts[artifact.id] = artifact
        sequence = {"latestArtifact": None}
        return {
            "createArtifact": {
                "artifact": {"id": artifact.id, "state": "PENDING", "artifactSequence": sequence}
            }
        }

    def _CreateArtifactManifest(self, given: dict[str, Any]) -> dict[str, Any]:
        artifact = self.artifacts[given["artifactID"]]
        address = self._address(artifact, "")
        name = given.get("name") or "wandb_manifest.json"
        file: dict[str, Any] = {"id": "file-1", "name": name, "displayName": name}
        file |= {"uploadUrl": address, "uploadHeaders": []}
        made = {"artifactManifest": {"id": f"{artifact.id}/manifest", "file": file}}
        return {"createArtifactManifest": made, "updateArtifactManifest": made}

    def _UpdateArtifactManifest(self, given: dict[str, Any]) -> dict[str, Any]:
        return self._CreateArtifactManifest({"artifactID": given["artifactManifestID"].partition("/")[0]})

    def _CreateArtifactFiles(self, given: dict[str, Any]) -> dict[str, Any]:
        edges = []
        for wanted in given["artifactFiles"]:
            artifact = self.artifacts[wanted["artifactID"]]
            node = {"id": f"{artifact.id}-{wanted['name']}", "name": wanted["name"]}
            node |= {"displayName": wanted["name"], "storagePath": wanted["name"], "uploadHeaders": []}
            node |= {"uploadUrl": self._address(artifact, wanted["name"]), "uploadMultipartUrls": None}
            node |= {"artifact": {"id": artifact.id}}
            edges.append({"node": node})
        return {"createArtifactFiles": {"files": {"edges": edges}}}

    def _CommitArtifact(self, given: dict[str, Any]) -> dict[str, Any]:
        self.artifacts[given["artifactID"]].committed = True
        return {"commitArtifact": {"artifact": {"id": given["artifactID"], "digest": ""}}}

    def _ArtifactType(self, given: dict[str, Any]) -> dict[str, Any]:
        artifact = self._named(given["name"])
        found = None if artifact is None else {"artifactType": {"name": artifact.kind}}
        return {"project": {"artifact": found}}

    def _ArtifactByID(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"artifact": self._described(self.artifacts[given["id"]])}

    def _ArtifactMembershipByName(self, given: dict[str, Any]) -> dict[str, Any]:
        artifact = self._named(given["name"])
        if artifact is None:
            return {"project": {"artifactCollectionMembership": None}}
        return {"project": {"artifactCollectionMembership": self._membership(artifact)}}

    def _FetchArtifactManifest(self, given: dict[str, Any]) -> dict[str, Any]:
        address = self._address(self.artifacts[given["id"]], "")
        return {"artifact": {"currentManifest": {"id": "1", "file": {"id": "1", "directUrl": address}}}}

    def _GetArtifactMembershipFileUrls(self, given: dict[str, Any]) -> dict[str, Any]:
        artifact = self._named(f"{given['collection']}:{given['alias']}")
        assert artifact is not None
        edges = [
            {"node": {"name": name, "directUrl": self._address(artifact, name)}, "cursor": name}
            for name in json.loads(artifact.manifest)["contents"]
        ]
        page = {"endCursor": None, "hasNextPage": False}
        files = {"pageInfo": page, "edges": edges}
        collection = {"__typename": "ArtifactSequence", "artifactMembership": {"files": files}}
        return {"project": {"artifactCollection": collection}}

    def _named(self, name: str) -> Artifact | None:
        collection, _, alias = name.partition(":")
        for artifact in self.artifacts.values():
            known = [*artifact.aliases, f"v{artifact.index}"]
            if artifact.committed and artifact.collection == collection and alias in known:
                return artifact
        return None

    def _membership(self, artifact: Artifact) -> dict[str, Any]:
        collection = {
            "__typename": "ArtifactSequence",
            "name": artifact.collection,
            "project": self._project(artifact),
        }
        return {
            "id": "m1",
            "createdAt": "2026-01-01T00:00:00",
            "versionIndex": artifact.index,
            "aliases": self._aliases(artifact),
            "artifactCollection": collection,
            "artifact": self._described(artifact),
        }

    def _aliases(self, artifact: Artifact) -> list[dict[str, Any]]:
        collection = {
            "__typename": "ArtifactSequence",
            "name": artifact.collection,
            "project": self._project(artifact),
        }
        return [{"id": alias, "alias": alias, "artifactCollection": collection} for alias in artifact.aliases]

    def _project(self, artifact: Artifact) -> dict[str, Any]:
        return {"id": "1", "internalId": "1", "name": artifact.project, "entity": {"name": "tester"}}

    def _described(self, artifact: Artifact) -> dict[str, Any]:
        return {
            "__typename": "Artifact",
            "id": artifact.id,
            "artifactSequence": {
                "__typename": "ArtifactSequence",
                "name": artifact.collection,
                "project": self._project(artifact),
            },
            "versionIndex": artifact.index,
            "artifactType": {"name": artifact.kind},
            "description": "",
            "metadata": artifact.metadata,
            "ttlDurationSeconds": 0,
            "ttlIsInherited": True,
            "tags": [],
            "historyStep": None,
            "state": "COMMITTED" if artifact.committed else "PENDING",
            "size": sum(map(len, artifact.files.values())),
            "digest": artifact.digest,
            "digestAlgorithm": "MANIFEST_MD5",
            "commitHash": "0" * 20,
            "fileCount": len(artifact.files),
            "createdAt": "2026-01-01T00:00:00",
            "updatedAt": "2026-01-01T00:00:00",
            "aliases": self._aliases(artifact),
        }


def md5(content: bytes) -> str:
    """A checksum as W&B writes it."""
    return base64.b64encode(hashlib.md5(content).digest()).decode()
