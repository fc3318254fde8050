"""What can go wrong on the way to the hub: one line for each, or another attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from huggingface_hub import constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from gpt2gl.errors import DownloadError, ModelNotFound
from gpt2gl.hub.events import Event, Retrying

ATTEMPTS = 5
FIRST_DELAY = 0.5
LONGEST_DELAY = 60.0
TICK = 0.1

# The client's HTTP library is httpx in some of its versions and httpx2 in others; this is the
# base of all of that library's errors.
_HttpError: type[Exception] = HfHubHTTPError.__bases__[0]

_PASSING = (408, 425, 429, 500, 502, 503, 504)
_REASONS: Mapping[int, str] = {
    401: "the access token is refused: set HF_TOKEN to a valid one, or unset it",
    403: "access is forbidden: ask for it on the model's page, and set HF_TOKEN to a token that may"
    " read it",
    407: "a proxy wants a password: put it into HTTPS_PROXY",
}
_OTHER_REASON = "this is not what the hub should say: try again later, or set HF_ENDPOINT"

T = TypeVar("T")


class TryAgain(Exception):
    """A failure that may pass; `after` is the delay in seconds that the server asked for."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@contextmanager
def hub_errors(model_id: str) -> Iterator[None]:
    """Turn what the client raises into TryAgain or an error of one line."""
    at = constants.ENDPOINT
    try:
        yield
    except OfflineModeIsEnabled:
        raise DownloadError(
            f"{model_id} is not in the cache and HF_HUB_OFFLINE=1 forbids to fetch it:"
            " unset it, or give a folder"
        ) from None
    except GatedRepoError:
        raise DownloadError(
            f"{model_id} is gated: accept its conditions at {at}/{model_id},"
            " then set HF_TOKEN to your token"
        ) from None
    except RepositoryNotFoundError:
        raise ModelNotFound(
            f"no model {model_id} at {at}: check the spelling; a private one needs HF_TOKEN"
        ) from None
    except (EntryNotFoundError, RevisionNotFoundError):
        raise DownloadError(f"{model_id} at {at} has lost a file: try again later") from None
    except HfHubHTTPError as error:
        raise _of_status(model_id, error) from None
    except _HttpError as error:
        raise TryAgain(f"{_host(error)} cannot be reached ({_one_line(error)})") from None


def _of_status(model_id: str, error: HfHubHTTPError) -> Exception:
    status, at = error.response.status_code, constants.ENDPOINT
    if status in _PASSING:
        after = error.response.headers.get("Retry-After", "")
        delay = float(after) if after.isascii() and after.isdigit() else None
        return TryAgain(f"{at} answers {status} {error.response.reason_phrase}".rstrip(), delay)
    if status == 404:
        return ModelNotFound(f"no model {model_id} at {at}: check the spelling")
    reason = _REASONS.get(status, _OTHER_REASON)
    return DownloadError(f"{model_id}: {at} answers {status}, {reason}")


def _host(error: Exception) -> str:
    """The server that was asked, which for large files is another than the hub."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):
        return constants.ENDPOINT
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


def persistent(
    attempt: Callable[[], Generator[Event, None, T]], progress: Callable[[], int]
) -> Generator[Event, None, T]:
    """Run `attempt` until it does not raise TryAgain, at most ATTEMPTS times without progress.

    Delays double from FIRST_DELAY; a server's own wish goes before, up to LONGEST_DELAY.

    Raises:
        DownloadError: the attempts are used up.
    """
    failures = 0
    while True:
        before = progress()
        try:
            return (yield from attempt())
        except TryAgain as failure:
            failures = 1 if progress() > before else failures + 1
            if failures >= ATTEMPTS or (failure.after or 0) > LONGEST_DELAY:
                raise _given_up(failure) from None
            delay = FIRST_DELAY * 2 ** (failures - 1) if failure.after is None else failure.after
            yield from _pause(str(failure), failures, delay)


def _given_up(failure: TryAgain) -> DownloadError:
    wait = f" in {failure.after:.0f} seconds" if failure.after else ""
    return DownloadError(
        f"{failure}: check the connection and HTTPS_PROXY and run it again{wait},"
        " it goes on where it stopped"
    )


def _pause(reason: str, attempt: int, delay: float) -> Iterator[Event]:
    """In short pieces, so that whoever iterates can stop."""
    end = time.monotonic() + delay
    while (left := end - time.monotonic()) > 0:
        yield Retrying(reason, attempt, left)
        time.sleep(min(TICK, left))
