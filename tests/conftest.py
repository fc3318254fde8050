"""Devices for tests, and the checks around each test: objects left over, errors, sockets.

A test that asks for a device gets it on the process's one headless context. Before and after it
no GL error may be pending, and afterwards every object that was made must be gone: by the
device's own count, and by asking the driver about each name. Whatever a test asks for, what it
makes in any context must be deleted when it ends, or when its module ends if a fixture of the
module holds it.

No test reaches the network: see `tests/sockets.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gpt2gl.errors import DeviceError
from gpt2gl.gl.context import Context, headless
from gpt2gl.gl.device import Device
from tests.gl_objects import GLObjects
from tests.sockets import SOCKET_FIXTURES, Guard

NOTHING = {"textures": 0, "framebuffers": 0, "programs": 0, "buffers": 0}

MakeDevice = Callable[..., Device]


@pytest.fixture(scope="session", autouse=True)
def folders_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests leave the user's cache and settings alone, those in subprocesses too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GPT2GL_CACHE_DIR", "GPT2GL_CONFIG_DIR", "GPT2GL_DATA_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="session")
def context() -> Context:
    """The headless context. Without a driver these tests fail: nothing else tests the engine."""
    try:
        return headless()
    except DeviceError as error:
        pytest.fail(f"the engine's tests need an OpenGL driver: {error}", pytrace=False)


@pytest.fixture(scope="session")
def gl_objects() -> Iterator[GLObjects]:
    objects = GLObjects()
    with pytest.MonkeyPatch.context() as patch:
        objects.watch(patch.setattr)
        yield objects


@pytest.fixture(scope="module", autouse=True)
def clean_module(gl_objects: GLObjects) -> Iterator[None]:
    """A module deletes every object that it makes, in whatever context."""
    before = gl_objects.counted()
    yield
    assert gl_objects.counted() == before, "the module's tests have left objects"


@pytest.fixture(autouse=True)
def clean_gl(request: pytest.FixtureRequest, gl_objects: GLObjects) -> Iterator[None]:
    """No error pending around a test with a context; no object left by one that shares none."""
    counted = gl_objects.counted()
    if "context" not in request.fixturenames:
        yield
        if not _module_fixtures(request):
            assert gl_objects.counted() == counted
        return
    request.getfixturevalue("context")
    before = gl_objects.alive()
    assert pending_errors() == []
    yield
    assert pending_errors() == []
    if not MODULE_WIDE & set(request.fixturenames):
        assert gl_objects.alive() == before
        assert gl_objects.counted() == counted


def _module_fixtures(request: pytest.FixtureRequest) -> list[str]:
    """Fixtures of a test that live longer than it, those of this file left out."""
    known = request.node._fixtureinfo.name2fixturedefs
    found = [name for name, definitions in known.items() if definitions[-1].scope != "function"]
    return [name for name in found if name not in globals()]


@pytest.fixture(scope="session")
def guard() -> Iterator[Guard]:
    guard = Guard()
    with pytest.MonkeyPatch.context() as patch:
        guard.watch(patch.setattr)
        yield guard


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, guard: Guard) -> Iterator[None]:
    """Sockets of the internet's kinds only for tests of the hub, and those to this machine only."""
    allowed = SOCKET_FIXTURES & set(request.fixturenames)
    marked = request.node.get_closest_marker("loopback")
    guard.loopback = bool(allowed or marked)
    yield
    guard.loopback = False


def pending_errors() -> list[int]:
    """Errors that GL has noted and nobody has asked for."""
    from OpenGL import GL

    return [int(code) for code in iter(GL.glGetError, GL.GL_NO_ERROR)]


@pytest.fixture
def make_device(context: Context, gl_objects: GLObjects) -> Iterator[MakeDevice]:
    """Makes devices, with limits lowered where asked: `make_device(max_side=2048)`."""
    yield from devices(context, gl_objects)


@pytest.fixture
def device(make_device: MakeDevice) -> Device:
    """A device of the test's own, closed and checked for leaks after it."""
    return make_device()


@pytest.fixture(scope="module")
def make_module_device(context: Context, gl_objects: GLObjects) -> Iterator[MakeDevice]:
    """The same for all tests of a module: leaks are checked after the last of them."""
    yield from devices(context, gl_objects)


@pytest.fixture(scope="module")
def module_device(make_module_device: MakeDevice) -> Device:
    """One device for a module's tests, so that they share compiled programs."""
    return make_module_device()


@pytest.fixture(scope="module")
def module_objects(context: Context) -> None:
    """For a module whose own fixtures keep objects from test to test."""


MODULE_WIDE = {"make_module_device", "module_device", "module_objects"}


def devices(context: Context, objects: GLObjects) -> Iterator[MakeDevice]:
    """A factory of devices; afterwards closes them all and checks that nothing is left."""
    before = objects.alive()
    made: list[Device] = []

    def make(**limit: int) -> Device:
        made.append(Device(context, **limit))
        return made[-1]

    yield make
    for each in made:
        each.close()
        assert each.counts() == NOTHING
    assert objects.alive() == before
