"""What the hub says about a model, through its own client: files, sizes, checksums, licence.

The client brings the endpoint (`HF_ENDPOINT`), the access token (`HF_TOKEN` or a saved one),
proxies and offline mode.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_url

from gpt2gl.config import shown
from gpt2gl.errors import DownloadError
from gpt2gl.hub.events import Contacting, Event
from gpt2gl.hub.failures import hub_errors
from gpt2gl.hub.files import needed_files
from gpt2gl.hub.manifest import FileRecord

_COMMIT = re.compile(r"[0-9a-f]{40}")
# Length of an etag -> the digest that it is.
_ETAG_KINDS = {64: "sha256", 40: "git-sha1"}


@dataclass(frozen=True)
class RemoteModel:
    """A model at one commit, with the files that are needed of it."""

    id: str
    commit: str
    licence: str
    files: tuple[FileRecord, ...]

    @property
    def source(self) -> str:
        """Its page."""
        return f"{constants.ENDPOINT}/{self.id}"

    def url(self, record: FileRecord) -> str:
        """Where a file's bytes are."""
        return file_url(self.id, record.name, self.commit)


def file_url(model_id: str, name: str, commit: str) -> str:
    """The address of one file at one commit."""
    return hf_hub_url(model_id, name, revision=commit, endpoint=constants.ENDPOINT)


def describe(model_id: str) -> Generator[Event, None, RemoteModel]:
    """Ask the hub about a model.

    Raises:
        ModelNotFound: there is none of that name, or it is private.
        DownloadError: it cannot be had, or has no weights that can be read.
        TryAgain: the hub is busy or cannot be reached.
    """
    yield Contacting(model_id, constants.ENDPOINT)
    with hub_errors(model_id):
        try:
            return _described(model_id)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise DownloadError(
                f"{constants.ENDPOINT} does not answer as the hub does:"
                " check HF_ENDPOINT, and whether a proxy or login page stands in between"
            ) from None


def _described(model_id: str) -> RemoteModel:
    timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT
    info = HfApi().model_info(model_id, files_metadata=True, timeout=timeout)
    commit = info.sha
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise ValueError(f"commit {shown(commit)}")
    siblings = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    names = needed_files(siblings.keys(), model_id)
    files = tuple(_record(model_id, commit, siblings[name]) for name in names)
    return RemoteModel(model_id, commit, _licence(info.tags or ()), files)


def _record(model_id: str, commit: str, sibling: Any) -> FileRecord:
    """A file's record from the list of files, else from a question about this one file."""
    if sibling.lfs is not None:
        return FileRecord(sibling.rfilename, sibling.lfs.size, f"sha256:{sibling.lfs.sha256}")
    if sibling.size is not None and sibling.blob_id:
        return FileRecord(sibling.rfilename, sibling.size, f"git-sha1:{sibling.blob_id}")
    url = file_url(model_id, sibling.rfilename, commit)
    found = get_hf_file_metadata(url, endpoint=constants.ENDPOINT)
    etag, size = found.etag or "", found.size
    if size is None or len(etag) not in _ETAG_KINDS:
        raise ValueError(f"no size or checksum for {shown(sibling.rfilename)}")
    return FileRecord(sibling.rfilename, size, f"{_ETAG_KINDS[len(etag)]}:{etag}")


def _licence(tags: Any) -> str:
    names = [str(tag).removeprefix("license:") for tag in tags if str(tag).startswith("license:")]
    return names[0][:40] if names else ""
