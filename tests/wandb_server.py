"""As much of W&B's server as its client needs, on loopback: GraphQL, the file stream and uploads."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from wandb_artifacts import ArtifactStore

Manner = Literal["good", "hangs", "rubbish", "empty"]


class WandbServer(ThreadingHTTPServer):
    """What it received is in `history`, `runs`, `uploads` and `exit_codes`."""

    daemon_threads = True

    def __init__(self, manner: Manner) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.manner = manner
        self.history: dict[int, dict[str, Any]] = {}  # by line
        self.runs: dict[str, dict[str, Any]] = {}  # the last upsert of each id
        self.summary: dict[str, Any] = {}
        self.uploads: dict[str, bytes] = {}
        self.exit_codes: list[int] = []
        self.views: dict[str, dict[str, Any]] = {}  # workspaces by id
        self.operations: list[str] = []
        self.store = ArtifactStore(self.url)
        self.refuses_artifacts = 0  # or the status with which it does
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, operation: str, variables: dict[str, Any]) -> dict[str, Any]:
        self.operations.append(operation)
        if (known := self.store.answer(operation, variables)) is not None:
            return known
        if operation == "RunResumeStatus":
            known = self.runs.get(variables["name"])
            return {"model": None if known is None else {**_project(), "bucket": self._bucket(known)}}
        if operation == "UpsertBucket":
            known = self.runs.get(variables["name"] or "", {})
            given = {key: value for key, value in variables.items() if value is not None}
            self.runs[variables["name"]] = {**known, **given}
            bucket = {"id": "1", "name": variables["name"], "displayName": variables["displayName"]}
            return {
                "upsertBucket": {
                    "bucket": {**bucket, "project": _project(), "historyLineCount": len(self.history)},
                    "inserted": not known,
                }
            }
        if operation == "CreateRunFiles":
            files = [{"name": name, "uploadUrl": f"{self.url}/upload/{name}"} for name in variables["files"]]
            return {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": files}}
        if operation in ("Viewer", "GetDefaultEntity"):
            return {
                "viewer": {
                    "id": "1",
                    "username": "tester",
                    "entity": "tester",
                    "defaultEntity": {"name": "tester"},
                }
            }
        if operation == "UpsertView2":
            inserted = "id" not in variables
            view = {"id": variables.get("id") or f"view-{len(self.views)}", "name": variables["name"]}
            self.views[view["id"]] = variables | view
            return {"upsertView": {"view": view, "inserted": inserted}}
        if operation == "View":
            found = [view for view in self.views.values() if view["name"] == variables["viewName"]]
            return {"project": {"allViews": {"edges": [{"node": view} for view in found]}}}
        return {}

    def _bucket(self, known: dict[str, Any]) -> dict[str, Any]:
        lines = len(self.history)
        return {
            "id": "1",
            "name": known["name"],
            "displayName": known.get("displayName"),
            "historyLineCount": lines,
            "eventsLineCount": 0,
            "logLineCount": 0,
            "historyTail": json.dumps([json.dumps(self.history[lines - 1])] if lines else []),
            "eventsTail": "[]",
            "summaryMetrics": json.dumps(self.summary),
            "config": known.get("config", "{}"),
            "tags": known.get("tags", []),
            "notes": "",
            "wandbConfig": '{"t": 1}',  # the run was started before
        }

    def stream(self, message: dict[str, Any]) -> None:
        for name, part in (message.get("files") or {}).items():
            if name == "wandb-summary.json":
                self.summary = json.loads(part["content"][-1])
            if name == "wandb-history.jsonl":
                for line, text in enumerate(part["content"], start=part["offset"]):
                    self.history[line] = json.loads(text)
        if message.get("complete"):
            self.exit_codes.append(message["exitcode"])


def _project() -> dict[str, Any]:
    return {"id": "1", "name": "gymnast", "entity": {"id": "1", "name": "tester"}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WandbServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        manner = self.server.manner
        if manner == "hangs":
            self.server.released.wait(600)
            self.close_connection = True
        elif manner == "rubbish":
            self._send(b"<html><body>Sign in to the hotel's network</body></html>", "text/html")
        elif manner == "empty":
            self._send(b'{"data": {}}')
        elif self.path == "/graphql":
            message = json.loads(body)
            operation = re.search(r"(?:query|mutation)\s+(\w+)", message["query"])
            answer = self.server.answer(operation[1] if operation else "", message.get("variables") or {})
            self._send(json.dumps({"data": answer}).encode())
        else:
            if self.path.endswith("/file_stream"):
                self.server.stream(json.loads(body))
            self._send(b"{}")

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/artifact/") and self.server.refuses_artifacts:
            self.send_error(self.server.refuses_artifacts)
            return
        if not self.server.store.put(self.path, body):
            self.server.uploads[self.path.removeprefix("/upload/")] = body
        self._send(b"")

    def do_GET(self) -> None:
        content = self.server.store.get(self.path)
        if content is None:
            self.do_POST()
        else:
            self._send(content, "application/octet-stream")

    def _send(self, content: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Nothing: the test reads what arrived."""


@contextmanager
def wandb_server(manner: Manner = "good") -> Iterator[WandbServer]:
    server = WandbServer(manner)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
