"""Shader sources and programs: includes, the cache, errors traced to file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpt2gl.errors import ShaderError
from gpt2gl.gl import program as program_module
from gpt2gl.gl.device import Device
from gpt2gl.gl.program import Source, describe_log, expand
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.passes import Passes
from tests.conftest import MakeDevice
from tests.engine import blank_rows, dims, normal, put_matrix, put_rows
from tests.models import checkpoint, config

# Cache ---------------------------------------------------------------------------------------


def test_one_compilation_for_each_source(device: Device) -> None:
    passes = Passes(device, dims(), 1)
    x, out = put_rows(device, normal((1, 8)), 1), blank_rows(device, 1, 8, 1)
    relu = device.prepare(passes.activate(x, out, "relu"))
    again = device.prepare(passes.activate(put_rows(device, normal((1, 8)), 1), out, "relu"))
    assert relu.program == again.program
    assert (device.programs.compiled, device.programs.live) == (1, 1)
    silu = device.prepare(passes.activate(x, out, "silu"))
    assert silu.program != relu.program
    assert (device.programs.compiled, device.programs.live) == (2, 2)


def test_one_source_with_two_blocks_is_two_programs(device: Device) -> None:
    """A block's binding is the program's, so programs are not shared across bindings."""
    passes = Passes(device, dims(), 1)
    x, out = put_rows(device, normal((1, 8)), 1), blank_rows(device, 1, 4, 1)
    w = put_matrix(device, "rgba32f", normal((8, 4)))
    blocks = [device.block(32), device.block(32)]
    calls = [passes.linear(x, w, None, out, x_block=block) for block in (*blocks, blocks[0])]
    programs = [device.prepare(call).program for call in calls]
    assert programs[0] == programs[2] != programs[1]


def test_a_model_compiles_each_plan_once(make_device: MakeDevice) -> None:
    model = GPT2.load(make_device(), checkpoint(config(n_layer=3)))
    calls = len(model.plan("decode"))
    compiled = model.device.programs.compiled
    assert compiled < calls
    model.plan("decode")
    assert model.device.programs.compiled == compiled


# Errors --------------------------------------------------------------------------------------


@pytest.fixture
def shaders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shaders in place of the package's own, without them where a test breaks one."""

    def path(name: str) -> Path:
        if not (tmp_path / name).is_file():
            raise ShaderError(f"no shader named {name!r} in {tmp_path}: check the name")
        return tmp_path / name

    (tmp_path / "lib").mkdir()
    (tmp_path / "fullscreen.vert").write_text("void main() { gl_Position = vec4(0.0); }\n")
    monkeypatch.setattr(program_module, "shader_path", path)
    return tmp_path


def write_broken(shaders: Path) -> None:
    (shaders / "lib" / "bad.glsl").write_text("// a helper\n\nfloat f() { return nothing; }\n")
    (shaders / "main.frag").write_text(
        '#include "lib/bad.glsl"\nout vec4 color;\nvoid main() { color = vec4(f()); }\n'
    )


def compile_main(device: Device) -> int:
    return device.programs.get("broken", "main.frag", "fullscreen.vert", {"N": 1}, {}, {})


def test_an_error_names_the_included_line(device: Device, shaders: Path) -> None:
    write_broken(shaders)
    with pytest.raises(ShaderError) as caught:
        compile_main(device)
    message = str(caught.value)
    assert message.startswith("pass broken: lib/bad.glsl:3: ")
    assert "nothing" in message
    assert message.endswith("in: float f() { return nothing; }")
    assert len(message.splitlines()) == 1
    assert device.programs.live == 0


def test_an_error_in_the_file_itself(device: Device, shaders: Path) -> None:
    (shaders / "lib" / "good.glsl").write_text("float f() { return 1.0; }\n\n\n")
    (shaders / "main.frag").write_text(
        '// one\n#include "lib/good.glsl"\nout vec4 color;\nvoid main() { color = f(; }\n'
    )
    with pytest.raises(ShaderError, match=r"pass broken: main\.frag:4: .*in: void main\(\)"):
        compile_main(device)


def test_a_program_that_does_not_link(device: Device, shaders: Path) -> None:
    (shaders / "main.frag").write_text(
        "flat in ivec3 absent;\nout vec4 color;\nvoid main() { color = vec4(absent, 1.0); }\n"
    )
    (shaders / "fullscreen.vert").write_text(
        "flat out vec2 absent;\nvoid main() { absent = vec2(1.0); gl_Position = vec4(0.0); }\n"
    )
    with pytest.raises(ShaderError, match=r"pass broken does not link: .*; run 'gpt2gl doctor'"):
        compile_main(device)


def test_a_missing_include_names_who_includes_it(shaders: Path) -> None:
    (shaders / "lib" / "middle.glsl").write_text('// here\n#include "lib/absent.glsl"\n')
    (shaders / "main.frag").write_text('#include "lib/middle.glsl"\n')
    with pytest.raises(ShaderError, match=r"lib/middle\.glsl:2 includes lib/absent\.glsl"):
        expand("main.frag", {})


def test_an_include_by_define(shaders: Path) -> None:
    (shaders / "lib" / "a.glsl").write_text("// a\n")
    (shaders / "main.frag").write_text('#include "lib/{NAME}.glsl"\n#include "lib/a.glsl"\n')
    source = expand("main.frag", {"NAME": "a"})
    assert source.lines == ["#version 330 core", "#define NAME a", "// a"]
    assert source.origins[-1] == ("lib/a.glsl", 1)


SAMPLE = Source(
    lines=["#version 330 core", "#define N 1", "float a;", "float b = c;"],
    origins=[("<header>", 0), ("<defines>", 0), ("lib/x.glsl", 7), ("main.frag", 2)],
)
LOGS = {
    "Mesa": "0:4(11): error: `c' undeclared\n0:4(11): error: initializer mismatch",
    "Mesa with a warning first": "0:3(1): warning: `a' used uninitialized\n0:4(2): error: bad",
    "NVIDIA": '0(4) : error C1503: undefined variable "c"',
    "Intel on Windows": "ERROR: 0:4: 'c' : undeclared identifier\nERROR: compilation failed",
    "AMD": "Fragment shader failed to compile with the following errors:\nERROR: 0:4: error(#143)",
    "Apple": "ERROR: 0:4: Use of undeclared identifier 'c'",
}


@pytest.mark.parametrize("driver", LOGS)
def test_logs_of_drivers(driver: str) -> None:
    message = describe_log("linear", SAMPLE, LOGS[driver])
    assert message.startswith("pass linear: main.frag:2: ")
    assert message.endswith("; in: float b = c;")


@pytest.mark.parametrize("log", ["internal error\nmore", "0:99(1): error: beyond the end"])
def test_a_log_without_a_line_of_ours(log: str) -> None:
    assert describe_log("add", SAMPLE, log) == f"pass add does not compile: {log.splitlines()[0]}"


def test_an_empty_log() -> None:
    assert describe_log("add", SAMPLE, " \n") == (
        "pass add does not compile: the driver gives no reason"
    )
