"""A model hub on loopback that speaks the parts of the real one's HTTP that the client uses.

It lists a model's files with sizes and checksums, answers HEAD and GET of `resolve` with the
hub's headers, redirects large files to a second server that stands for the content network, and
honours ranges. `Faults` say what goes wrong, and for how many requests.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import close_session, constants

from tests.checkpoints import tiny_config, write_checkpoint

COMMIT = "c0ffee" * 6 + "c0ff"
NOT_INHERITED = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
LARGE_SUFFIXES = (".safetensors", ".gguf", ".bin")


@dataclass
class Faults:
    """What goes wrong. Counts are of requests that it still happens to; -1 is always."""

    cut_after: int | None = None  # bytes of a body, then the connection ends
    cuts: int = -1
    longer_by: int = 0  # bytes sent beyond the file
    lie_about_length: int = 0  # added to Content-Length
    wrong_bytes: int = 0  # large files with a flipped byte
    status: int | None = None  # answered instead of large files
    statuses: int = -1
    info_status: int | None = None  # answered instead of the model's list of files
    info_statuses: int = -1
    info_headers: Mapping[str, str] = field(default_factory=dict)
    info_body: bytes | None = None  # a page instead of the list
    retry_after: str | None = None
    seconds_per_chunk: float = 0.0
    stall_after: int | None = None  # bytes of a body, then silence
    stalls: int = -1
    no_ranges: bool = False
    no_metadata: bool = False  # sizes and checksums only by HEAD
    need_token: str | None = None

    def takes(self, name: str) -> bool:
        """Whether a counted fault happens now; counts it."""
        left: int = getattr(self, name)
        if left > 0:
            setattr(self, name, left - 1)
        return left != 0


@dataclass
class Hub:
    """The state of the server: repositories, faults, and the requests that came."""

    endpoint: str = ""
    content_endpoint: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    commit: str = COMMIT
    faults: Faults = field(default_factory=Faults)
    requests: list[Request] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def bodies(self, name: str) -> list[Request]:
        """GET requests for a file's bytes that reached the one who has them."""
        found = [r for r in self.requests if r.method == "GET" and r.path.endswith(f"/{name}")]
        return [r for r in found if not r.redirected]


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    redirected: bool = False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def _answer(self) -> None:
        path = self.path.split("?")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.request_seen = Request(self.command, path, headers)
        self.hub.requests.append(self.request_seen)
        if info := re.fullmatch(r"/api/models/([^/]+/[^/]+)", path):
            self._info(info[1])
        elif file := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self._resolve(file[1], file[3])
        elif content := re.fullmatch(r"/cdn/([^/]+/[^/]+)/(.+)", path):
            self._body(self.hub.repositories[content[1]][content[2]], content[2])
        else:
            self._status(404)

    def _info(self, model_id: str) -> None:
        faults = self.hub.faults
        if faults.info_status is not None and faults.takes("info_statuses"):
            self._status(faults.info_status, faults.info_headers)
        elif model_id not in self.hub.repositories:
            self._status(401, {"X-Error-Code": "RepoNotFound"})
        elif faults.need_token and not self._has_token(faults.need_token):
            self._status(401, {"X-Error-Code": "GatedRepo"})
        elif faults.info_body is not None:
            self._send(200, faults.info_body, {})
        else:
            self._send(200, json.dumps(self._listing(model_id)).encode(), {})

    def _has_token(self, token: str) -> bool:
        return self.request_seen.headers.get("authorization") == f"Bearer {token}"

    def _listing(self, model_id: str) -> dict[str, Any]:
        files = self.hub.repositories[model_id].items()
        siblings = [self._sibling(name, data) for name, data in files]
        tags = ["gpt2", "license:mit"]
        return {"id": model_id, "sha": self.hub.commit, "siblings": siblings, "tags": tags}

    def _sibling(self, name: str, data: bytes) -> dict[str, Any]:
        if self.hub.faults.no_metadata:
            return {"rfilename": name}
        entry: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": git_sha1(data)}
        if is_large(name):
            sha256 = hashlib.sha256(data).hexdigest()
            entry["lfs"] = {"sha256": sha256, "size": len(data), "pointerSize": 134}
        return entry

    def _resolve(self, model_id: str, name: str) -> None:
        data = self.hub.repositories.get(model_id, {}).get(name)
        faults = self.hub.faults
        if data is None:
            self._status(404, {"X-Error-Code": "EntryNotFound"})
        elif faults.need_token and not self._has_token(faults.need_token):
            self._status(403, {"X-Error-Code": "GatedRepo"})
        elif is_large(name):
            self.request_seen.redirected = True
            place = f"{self.hub.content_endpoint}/cdn/{model_id}/{name}"
            self._send(302, b"", {**self._file_headers(name, data), "Location": place})
        else:
            self._body(data, name, self._file_headers(name, data))

    def _file_headers(self, name: str, data: bytes) -> dict[str, str]:
        headers = {"X-Repo-Commit": self.hub.commit, "Accept-Ranges": "bytes"}
        if is_large(name):
            etag = hashlib.sha256(data).hexdigest()
            return {**headers, "X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(data))}
        return {**headers, "ETag": f'"{git_sha1(data)}"'}

    def _body(self, data: bytes, name: str, headers: Mapping[str, str] | None = None) -> None:
        faults, headers = self.hub.faults, dict(headers or {})
        if is_large(name) and faults.status is not None and faults.takes("statuses"):
            return self._status(faults.status)
        if is_large(name) and faults.wrong_bytes and faults.takes("wrong_bytes"):
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = self._range_start()
        if start >= len(data) > 0:
            return self._status(416)
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        payload = data[start:] + (b"x" * faults.longer_by if is_large(name) else b"")
        self._send(206 if start else 200, payload, headers, is_large(name))
        return None

    def _range_start(self) -> int:
        wanted = re.fullmatch(r"bytes=(\d+)-", self.request_seen.headers.get("range", ""))
        return 0 if wanted is None or self.hub.faults.no_ranges else int(wanted[1])

    def _status(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        extra = {"Retry-After": after} if (after := self.hub.faults.retry_after) else {}
        self._send(status, b"", {**extra, **(headers or {})})

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str], faulty: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        lie = self.hub.faults.lie_about_length if faulty else 0
        self.send_header("Content-Length", str(len(body) + lie))
        self.end_headers()
        if self.command == "HEAD":
            return
        if faulty:
            self._send_faulty(body)
        else:
            self.wfile.write(body)

    def _send_faulty(self, body: bytes) -> None:
        faults = self.hub.faults
        end = len(body)
        if faults.cut_after is not None and faults.takes("cuts"):
            end = min(end, faults.cut_after)
        stalls = faults.stall_after is not None and faults.takes("stalls")
        if stalls:
            end = min(end, faults.stall_after or 0)
        for start in range(0, end, 1 << 14):
            self.wfile.write(body[start : min(end, start + (1 << 14))])
            time.sleep(faults.seconds_per_chunk)
        if stalls:
            self.hub.closing.wait(30)
        if end < len(body) or faults.lie_about_length:
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


def is_large(name: str) -> bool:
    """Whether the hub keeps a file outside git."""
    return name.endswith(LARGE_SUFFIXES)


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def serve() -> Iterator[Hub]:
    """A hub without repositories, on two free ports of 127.0.0.1."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    servers = [_Server(("127.0.0.1", 0), handler) for _ in range(2)]
    hub.endpoint, hub.content_endpoint = (
        f"http://127.0.0.1:{server.server_address[1]}" for server in servers
    )
    threads = [threading.Thread(target=s.serve_forever, args=(0.02,)) for s in servers]
    for thread in threads:
        thread.start()
    try:
        yield hub
    finally:
        hub.closing.set()
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()


# The client, pointed at it ----------------------------------------------------------------------


@contextmanager
def served(patch: pytest.MonkeyPatch, cache: Path) -> Iterator[Hub]:
    """A hub that this process's client talks to, with an empty cache and no saved token.

    Delays are short; the environment of child processes says the same.
    """
    with serve() as hub:
        for name in NOT_INHERITED:
            patch.delenv(name, raising=False)
        for name, value in child_environment(hub, cache).items():
            patch.setenv(name, value)
        # The client reads its environment once; without both it would ask the real hub.
        patch.setattr(constants, "ENDPOINT", hub.endpoint)
        template = f"{hub.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(constants, "HF_TOKEN_PATH", str(cache / "no-token"))
        patch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 1)
        patch.setattr("gpt2gl.hub.failures.FIRST_DELAY", 0.01)
        close_session()
        yield hub
        close_session()


def child_environment(hub: Hub, cache: Path) -> dict[str, str]:
    """What a process needs to use this hub and that cache, whatever proxies the machine has."""
    return {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(cache / "hf-home"),
        "NO_PROXY": "127.0.0.1",
        "GPT2GL_CACHE_DIR": str(cache),
    }


def repository(folder: Path, **write: Any) -> dict[str, bytes]:
    """The files of a random model of 1.3 MB, and some that nobody needs."""
    config = tiny_config(vocab_size=1000, n_embd=96)
    write_checkpoint(folder, config, **write)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return {**files, "README.md": b"# A model", "pytorch_model.bin": b"pickled " * 1000}
