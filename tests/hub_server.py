"""As much of the Hugging Face Hub as its client needs to publish and to pull, on loopback: accounts,
repositories with commits, LFS uploads, downloads. Not Xet: set HF_HUB_DISABLE_XET=1."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

TOKEN, OWNER = "hf_" + "a1b2c3d4" * 4, "ada"
Fault = int | Literal["cut"]  # a status, or a connection that ends in the middle


@dataclass
class Repository:
    private: bool
    commits: list[dict[str, bytes]] = field(
        default_factory=lambda: [{".gitattributes": b"*.mp4 filter=lfs\n"}]
    )

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1]

    def revision(self, name: str) -> dict[str, bytes] | None:
        if name == "main":
            return self.files
        found = [files for number, files in enumerate(self.commits) if sha_of(number).startswith(name)]
        return found[0] if len(found) == 1 else None


def sha_of(number: int) -> str:
    return hashlib.sha1(f"commit {number}".encode()).hexdigest()


class HubServer(ThreadingHTTPServer):
    """What arrived is in `repositories`; `steps` are the requests by name. `faults` makes a step fail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.lfs: dict[str, bytes] = {}
        self.faults: dict[str, Fault] = {}
        self.steps: list[str] = []
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """For a process that talks to it."""
        return {"HF_ENDPOINT": self.url, "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": TOKEN}


_ROUTES = (
    ("GET", r"/api/whoami-v2", "whoami"),
    ("POST", r"/api/validate-yaml", "validate"),
    ("POST", r"/api/repos/create", "create"),
    ("DELETE", r"/api/repos/delete", "delete"),
    ("POST", r"/api/models/(?P<repo>[^/]+/[^/]+)/preupload/(?P<revision>[^/]+)", "preupload"),
    ("POST", r"/api/models/(?P<repo>[^/]+/[^/]+)/commit/(?P<revision>[^/]+)", "commit"),
    ("GET", r"/api/models/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)", "tree"),
    ("GET", r"/api/models/(?P<repo>[^/]+/[^/]+)(?:/revision/(?P<revision>[^/]+))?", "info"),
    ("POST", r"/(?P<repo>[^/]+/[^/]+)\.git/info/lfs/objects/batch", "batch"),
    ("PUT", r"/lfs/(?P<oid>[0-9a-f]{64})", "upload"),
    ("POST", r"/lfs/verify", "verify"),
    ("HEAD", r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)", "head"),
    ("GET", r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)", "download"),
)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer takes 40 ms
    server: HubServer

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._chunks()
        self.server.bodies.append(body)
        path = unquote(urlsplit(self.path).path)
        for method, pattern, step in _ROUTES:
            match = re.fullmatch(pattern, path)
            if method != self.command or match is None:
                continue
            self.server.steps.append(step)
            fault = self.server.faults.get(step)
            if fault == "cut":
                self._cut(step, match)
            elif fault is not None:
                self._send({"error": "of this test's making"}, int(fault))
            elif not self._is_allowed(step):
                self._send({"error": "Invalid username or password."}, 401)
            else:
                getattr(self, f"_{step}")(body, match.groupdict())
            return
        self._send({"error": "Not Found"}, 404)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _is_allowed(self, step: str) -> bool:
        given = self.headers.get("Authorization")
        if given is None:
            return step in ("info", "tree", "head", "download", "upload")
        return given == f"Bearer {TOKEN}"

    def _cut(self, step: str, match: re.Match[str]) -> None:
        """End the connection; of a download in the middle of the file."""
        if step == "download":
            repo = self.server.repositories[match["repo"]]
            content = repo.files[match["file"]]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
        self.close_connection = True
        self.connection.close()

    # The steps, each named in _ROUTES.

    def _whoami(self, body: bytes, given: dict[str, str]) -> None:
        self._send({"type": "user", "id": "1", "name": OWNER, "orgs": [], "auth": {"type": "access_token"}})

    def _validate(self, body: bytes, given: dict[str, str]) -> None:
        content = json.loads(body)["content"]
        good = content.startswith("---\n") and "\n---\n" in content
        self._send(
            {"errors": [] if good else [{"message": "no metadata"}], "warnings": []}, 200 if good else 400
        )

    def _create(self, body: bytes, given: dict[str, str]) -> None:
        order = json.loads(body)
        owner = order.get("organization") or OWNER
        name = f"{owner}/{order['name']}"
        if owner != OWNER:
            self._send({"error": f"You don't have the rights to create a model under {owner}"}, 403)
        elif name in self.server.repositories:
            self._send(
                {"error": "You already created this model repo", "url": f"{self.server.url}/{name}"}, 409
            )
        else:
            private = bool(order.get("private")) or order.get("visibility") == "private"
            self.server.repositories[name] = Repository(private)
            self._send({"url": f"{self.server.url}/{name}", "name": name, "id": "1"})

    def _delete(self, body: bytes, given: dict[str, str]) -> None:
        order = json.loads(body)
        self.server.repositories.pop(f"{order.get('organization') or OWNER}/{order['name']}", None)
        self._send({})

    def _repository(self, given: dict[str, str]) -> tuple[Repository, dict[str, bytes]] | None:
        repo = self.server.repositories.get(given["repo"])
        if repo is None or (repo.private and self.headers.get("Authorization") is None):
            code = 404 if self.headers.get("Authorization") else 401
            self._send({"error": "Repository not found"}, code, {"X-Error-Code": "RepoNotFound"})
            return None
        files = repo.revision(given.get("revision") or "main")
        if files is None:
            self._send({"error": "Invalid rev id"}, 404, {"X-Error-Code": "RevisionNotFound"})
            return None
        return repo, files

    def _info(self, body: bytes, given: dict[str, str]) -> None:
        if (found := self._repository(given)) is not None:
            repo, files = found
            siblings = [{"rfilename": name, "size": len(data), "blobId": "0"} for name, data in files.items()]
            sha = sha_of(repo.commits.index(files))
            self._send({"id": given["repo"], "sha": sha, "private": repo.private, "siblings": siblings})

    def _tree(self, body: bytes, given: dict[str, str]) -> None:
        if (found := self._repository(given)) is not None:
            files = found[1].items()
            self._send([{"type": "file", "path": n, "size": len(d), "oid": git_oid(d)} for n, d in files])

    def _preupload(self, body: bytes, given: dict[str, str]) -> None:
        if (found := self._repository(given)) is not None:
            answers = []
            for file in json.loads(body)["files"]:
                large = file["path"].endswith((".safetensors", ".mp4", ".png"))
                known = found[1].get(file["path"])
                answers.append({
                    "path": file["path"], "uploadMode": "lfs" if large else "regular", "shouldIgnore": False,
                    "oid": None if known is None or large else git_oid(known),
                })  # fmt: skip
            self._send({"files": answers})

    def _batch(self, body: bytes, given: dict[str, str]) -> None:
        objects = []
        for wanted in json.loads(body)["objects"]:
            actions = {
                "upload": {"href": f"{self.server.url}/lfs/{wanted['oid']}", "header": {}},
                "verify": {"href": f"{self.server.url}/lfs/verify", "header": {}},
            }
            known = wanted["oid"] in self.server.lfs
            objects.append({**wanted, "authenticated": True, **({} if known else {"actions": actions})})
        self._send({"transfer": "basic", "objects": objects})

    def _upload(self, body: bytes, given: dict[str, str]) -> None:
        if hashlib.sha256(body).hexdigest() != given["oid"]:
            self._send({"error": "the content does not match"}, 400)
            return
        self.server.lfs[given["oid"]] = body
        self._send({})

    def _verify(self, body: bytes, given: dict[str, str]) -> None:
        self._send({}, 200 if json.loads(body)["oid"] in self.server.lfs else 404)

    def _commit(self, body: bytes, given: dict[str, str]) -> None:
        if (found := self._repository(given)) is None:
            return
        repo, files = found[0], dict(found[1])
        for line in body.splitlines():
            item = json.loads(line)
            value: Any = item["value"]
            if item["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "lfsFile":
                files[value["path"]] = self.server.lfs[value["oid"]]
            elif item["key"] == "deletedFile":
                del files[value["path"]]
            elif value.get("parentCommit") not in (None, sha_of(len(repo.commits) - 1)):
                self._send({"error": "A commit has happened since. Please refresh and try again."}, 412)
                return
        repo.commits.append(files)
        sha = sha_of(len(repo.commits) - 1)
        url = f"{self.server.url}/{given['repo']}/commit/{sha}"
        self._send({"success": True, "commitOid": sha, "commitUrl": url, "hookOutput": ""})

    def _head(self, body: bytes, given: dict[str, str]) -> None:
        self._file(given, with_content=False)

    def _download(self, body: bytes, given: dict[str, str]) -> None:
        self._file(given, with_content=True)

    def _file(self, given: dict[str, str], *, with_content: bool) -> None:
        if (found := self._repository(given)) is None:
            return
        content = found[1].get(given["file"])
        if content is None:
            self._send({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
            return
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("X-Repo-Commit", sha_of(found[0].commits.index(found[1])))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if with_content:
            self.wfile.write(content[start:])

    def _send(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Nothing: the test reads what arrived."""


def git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def hub_server() -> Iterator[HubServer]:
    server = HubServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
