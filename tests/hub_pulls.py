"""What tests of fetching share: a model's name, pulls, and what must be there afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpt2gl.errors import Gpt2glError
from gpt2gl.hub.events import Downloading, Event, Pulled
from gpt2gl.hub.manifest import MANIFEST_NAME
from gpt2gl.hub.paths import download_folder, model_folder
from gpt2gl.hub.pull import pull

MODEL = "someone/tiny-gpt2"
WEIGHTS = "model.safetensors"


def refusal(kind: type[Gpt2glError], name: str = MODEL) -> str:
    """The one line with which a pull is refused; nothing appears under a final name."""
    with pytest.raises(kind) as caught:
        list(pull(name))
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_code == 2
    assert not model_folder(name).exists()
    return message


def pulled(name: str = MODEL) -> list[Event]:
    events = list(pull(name))
    assert isinstance(events[-1], Pulled)
    return events


def content(name: str = MODEL) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in model_folder(name).iterdir()}


def assert_whole(files: dict[str, bytes]) -> None:
    """The cache holds the right bytes of what is needed, and no trace of the download."""
    found = content()
    assert found.pop(MANIFEST_NAME)
    assert found == {name: files[name] for name in ("config.json", WEIGHTS)}
    assert not download_folder(MODEL).exists()


def interrupt(events: Iterator[Event], after: int) -> None:
    """Close a pull once so many bytes of the weights are there."""
    for event in events:
        if isinstance(event, Downloading) and event.file == WEIGHTS and event.done >= after:
            break
    events.close()  # type: ignore[attr-defined]
