"""A guard that keeps tests off the network, this process's part of it."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

INTERNET = (socket.AF_INET, socket.AF_INET6)
# Fixtures that serve on the loopback.
SOCKET_FIXTURES = {"hub"}


class Guard:
    """Refuses sockets; with `loopback` only those to other machines."""

    def __init__(self) -> None:
        self.loopback = False

    def watch(self, replace: Callable[[object, str, object], None]) -> None:
        """Wrap what opens and connects; `replace` is a monkeypatch's setattr."""
        replace(socket.socket, "__init__", self._opening(socket.socket.__init__))
        for name in ("connect", "connect_ex", "sendto"):
            replace(socket.socket, name, self._reaching(getattr(socket.socket, name)))
        replace(socket, "getaddrinfo", self._resolving(socket.getaddrinfo))

    def _opening(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def opened(sock: socket.socket, *arguments: Any, **options: Any) -> None:
            original(sock, *arguments, **options)
            if sock.family in INTERNET and not self.loopback:
                sock.close()
                raise AssertionError("a test without the marker `loopback` opens a socket")

        return opened

    def _reaching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def reached(sock: socket.socket, *arguments: Any) -> Any:
            if sock.family in INTERNET:
                _require_loopback(arguments[-1][0])
            return original(sock, *arguments)

        return reached

    def _resolving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def resolved(host: Any, *arguments: Any, **options: Any) -> Any:
            _require_loopback(host)
            return original(host, *arguments, **options)

        return resolved


def _require_loopback(host: Any) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return
    try:
        near = ipaddress.ip_address(name).is_loopback
    except ValueError:
        near = False
    if not near:
        raise AssertionError(f"a test reaches for {name}")
