"""The one place that draws.

A device owns everything it makes on its OpenGL context: textures, framebuffers, programs, the
vertex array, uniform buffers. `begin` sets the state that passes rely on and `end` puts back what
a window toolkit expects, without ever asking GL what was set before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np
from OpenGL import GL

from gpt2gl.gl import limits as gl_limits
from gpt2gl.gl import state
from gpt2gl.gl.call import Band, Bands, Block, Call, GLCalls, Prepared, Script, Step
from gpt2gl.gl.calls import Calls
from gpt2gl.gl.context import Context
from gpt2gl.gl.faults import described, device_errors, release
from gpt2gl.gl.framebuffers import Framebuffers
from gpt2gl.gl.limits import Limits
from gpt2gl.gl.pool import TexturePool
from gpt2gl.gl.program import ProgramCache
from gpt2gl.gl.tuning import Tuning, default_tuning

# PyOpenGL's constants are objects that cost a conversion at every call.
(
    BLEND,
    COLOR_ATTACHMENT0,
    TRIANGLES,
    FRAMEBUFFER,
    TEXTURE_2D_ARRAY,
    PIXEL_PACK_BUFFER,
    RGBA,
    FLOAT,
) = map(
    int,
    (
        GL.GL_BLEND,
        GL.GL_COLOR_ATTACHMENT0,
        GL.GL_TRIANGLES,
        GL.GL_FRAMEBUFFER,
        GL.GL_TEXTURE_2D_ARRAY,
        GL.GL_PIXEL_PACK_BUFFER,
        GL.GL_RGBA,
        GL.GL_FLOAT,
    ),
)
# Rows of one forward pass at most: longer prompts go through in chunks of this.
MAX_ROWS = 128
STEP_BINDING = 0
# Binding 0 of a window toolkit (pyglet keeps its matrices there) must survive, see `end`.
FIRST_BLOCK_BINDING = 4


class Device:
    """Draws passes on one OpenGL context.

    Args:
        context: where to draw; it is made current.
        tuning: how to draw, by default what suits most devices of its kind.
        limit: largest values to plan for, by name of a `Limits` field, below the driver's own.

    Raises:
        DeviceError: the driver is too old, out of memory or lost.
    """

    @device_errors()
    def __init__(self, context: Context, *, tuning: Tuning | None = None, **limit: int) -> None:
        self.context = context
        context.make_current()
        own = gl_limits.query()
        lowered = {name: min(value, getattr(own, name)) for name, value in limit.items()}
        self.limits: Limits = replace(own, **lowered)
        self.tuning = tuning or default_tuning(self.limits)
        self.fetches_per_draw = self.tuning.fetches_per_draw
        self.pool = TexturePool()
        self.framebuffers = Framebuffers()
        self.programs = ProgramCache(self.limits.glsl)
        self._gl = Calls()
        self._buffers: list[int] = []
        self._blocks: list[Block] = []
        self._epoch = 0
        self._step_data = np.zeros(4 + MAX_ROWS, np.int32)
        self.draws = 0
        self._vertex_array = int(GL.glGenVertexArrays(1))
        try:
            self._step = self._buffer(self._step_data.nbytes)
            self.begin()
        except BaseException:
            self.close()
            raise

    # State -------------------------------------------------------------------------------------

    @device_errors()
    def begin(self) -> None:
        """Take over the context: set every state a pass depends on."""
        state.take_over(self._vertex_array)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, FIRST_BLOCK_BINDING + STEP_BINDING, self._step)
        for block in self._blocks:
            GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, block.binding, block.buffer)
        self._epoch += 1
        self.context.owner = self

    @device_errors()
    def end(self) -> None:
        """Give the context back: no framebuffer, program, vertex array or buffer of ours bound."""
        self.context.owner = None
        _make(state.hand_back())

    def take(self) -> None:
        """`begin`, unless the context is in this device's hands already."""
        if self.context.owner is not self:
            self.context.make_current()
            self.begin()

    def check(self) -> None:
        """Report an error that GL has noted since the last check.

        Raises:
            DeviceError: out of memory, context lost, or a mistake of ours.
        """
        code = int(GL.glGetError())
        if code != GL.GL_NO_ERROR:
            raise described(code, f"on {self.limits.renderer}")

    # Passes ------------------------------------------------------------------------------------

    def prepare(self, call: Call) -> Prepared:
        """Compile and bind what a call needs, once.

        Raises:
            ShaderError: the pass does not compile for these tensors.
            DeviceError: its targets cannot be drawn to.
        """
        self.take()
        units = {name: unit for unit, name in enumerate(call.operation.inputs)}
        blocks = {"Step": FIRST_BLOCK_BINDING + STEP_BINDING}
        if call.x_block is not None:
            blocks["X"] = call.x_block.binding
        defines = {"TOKENS4": MAX_ROWS // 4, **call.defines}
        program = self.programs.get(
            call.operation.name, call.operation.shader, "fullscreen.vert", defines, units, blocks
        )
        framebuffers = tuple(self.framebuffers.get(target) for target in call.targets)
        textures = tuple(
            (int(GL.GL_TEXTURE0) + units[name], tensor.texture)
            for name, tensor in call.inputs.items()
        )
        extra = 3 * (call.splits - 1)
        slices = ((0, 3), (3, extra)) if extra else ((0, 3),)
        return Prepared(call, program, framebuffers, textures, textures, slices)

    def set_step(self, step: Step, tokens: Sequence[int]) -> None:
        """Tell the passes how many rows are cached and which tokens the new rows hold."""
        self.take()
        data = self._step_data
        data[:4] = (step.n_past, step.n_rows, step.n_rows - 1, step.prefix)
        data[4 : 4 + len(tokens)] = tokens
        self._gl.glBindBuffer(GL.GL_UNIFORM_BUFFER, self._step)
        self._gl.glBufferSubData(GL.GL_UNIFORM_BUFFER, 0, 16 + 4 * len(tokens), data.ctypes.data)

    def record(self, calls: Sequence[Call]) -> list[Prepared]:
        """Prepare calls that are always drawn in this order.

        What one pass leaves bound the next need not bind again; found out here, once.
        """
        plan = [self.prepare(call) for call in calls]
        bound: dict[int, int] = {}
        for prepared in plan:
            fresh = [(u, t) for u, t in prepared.textures if bound.get(u) != t]
            bound.update(fresh)
            prepared.changes = tuple(fresh)
        return plan

    def draw(self, plan: Sequence[Prepared], step: Step) -> Iterator[None]:
        """Draw passes one after the other, yielding whenever a bounded amount of work is done.

        Whoever holds the iterator may use the context in between, if `end` and `begin` are called
        around that. Nothing is allocated, compiled or asked of GL here.
        """
        try:
            yield from self._draw(plan, step)
        except BaseException:
            # It may have ended between two calls that belong together, such as those around a
            # blended draw: whoever draws next sets all state anew.
            self.context.owner = None
            raise

    def _draw(self, plan: Sequence[Prepared], step: Step) -> Iterator[None]:
        budget = self.fetches_per_draw
        work = 0
        epoch = -1
        self._epoch += 1  # a plan that waits at a yield binds again what this one changes
        for index, prepared in enumerate(plan):
            script = prepared.script
            if (
                script is None
                or script.gl is not self._gl
                or script.of.budget != budget
                or not prepared.is_fixed
            ):
                script = self._script(prepared, prepared.bands(step, budget))
            self.draws += script.draws
            if epoch == self._epoch and work + script.fetches <= budget:
                for function, arguments in script.whole:
                    function(*arguments)
                work += script.fetches
                continue
            if epoch == self._epoch:
                _make(script.bind)
            for fetches, calls in script.bands:
                if work and work + fetches > budget:
                    work = 0
                    yield
                if epoch != self._epoch:
                    self._bind_again(plan[: index + 1], script.of.variant)
                    epoch = self._epoch
                _make(calls)
                work += fetches
            _make(script.after)
        yield

    def run(self, call: Call, step: Step) -> None:
        """Prepare and draw a call at once; for tests, probes and single passes."""
        for _ in self.draw((self.prepare(call),), step):
            pass

    def _bind_again(self, plan: Sequence[Prepared], variant: int) -> None:
        """What the passes of a plan leave bound, after somebody else has used the context."""
        for prepared in plan:
            _make(self._bind_calls(prepared, 0, prepared.textures))
        _make(((self._gl.glBindFramebuffer, (FRAMEBUFFER, plan[-1].framebuffers[variant])),))

    def _script(self, prepared: Prepared, of: Bands) -> Script:
        """The GL calls of a pass; the last ones where they are the same again."""
        script = prepared.script
        if script is not None and script.gl is not self._gl:
            prepared.binds.clear()
        elif script is not None and script.of is of:
            return script
        bind = prepared.binds.get(of.variant)
        if bind is None:
            bind = self._bind_calls(prepared, of.variant, prepared.changes)
            prepared.binds[of.variant] = bind
        drawn = tuple([(band.fetches, self._band_calls(prepared, band)) for band in of.bands])
        block = prepared.call.capture
        after = () if block is None else self._capture_calls(block, of.bands)
        whole = (*bind, *[call for _, calls in drawn for call in calls], *after)
        fetches = sum([band.fetches for band in of.bands])
        draws = len(of.bands) * len(prepared.slices)
        prepared.script = Script(of, self._gl, fetches, draws, bind, drawn, after, whole)
        return prepared.script

    def _bind_calls(
        self, prepared: Prepared, variant: int, textures: tuple[tuple[int, int], ...]
    ) -> GLCalls:
        gl = self._gl
        calls: list[Any] = [
            (gl.glUseProgram, (prepared.program,)),
            (gl.glBindFramebuffer, (FRAMEBUFFER, prepared.framebuffers[variant])),
        ]
        for unit, texture in textures:
            calls.append((gl.glActiveTexture, (unit,)))
            calls.append((gl.glBindTexture, (TEXTURE_2D_ARRAY, texture)))
        return tuple(calls)

    def _band_calls(self, prepared: Prepared, band: Band) -> GLCalls:
        gl = self._gl
        calls: list[Any] = [(gl.glViewport, band[:4])]
        for first, count in prepared.slices:
            draw = (gl.glDrawArrays, (TRIANGLES, first, count))
            blended = ((gl.glEnable, (BLEND,)), draw, (gl.glDisable, (BLEND,)))
            calls += blended if first else (draw,)
        return tuple(calls)

    def _capture_calls(self, block: Block, bands: Sequence[Band]) -> GLCalls:
        """Copy what was just drawn into a uniform block, on the device."""
        gl = self._gl
        area = (*bands[0][:3], sum(band.height for band in bands))
        calls: list[Any] = [(gl.glBindBuffer, (PIXEL_PACK_BUFFER, block.buffer))]
        for row in range(block.rows):
            if block.rows > 1:
                calls.append((gl.glReadBuffer, (COLOR_ATTACHMENT0 + row,)))
            offset = row * (block.nbytes // block.rows)
            calls.append((gl.glReadPixels, (*area, RGBA, FLOAT, offset)))
        return (*calls, (gl.glBindBuffer, (PIXEL_PACK_BUFFER, 0)))

    # Buffers -----------------------------------------------------------------------------------

    @device_errors()
    def block(self, nbytes: int, rows: int = 1) -> Block:
        """A uniform block for rows of activations, bound for good to a binding of its own."""
        binding = FIRST_BLOCK_BINDING + STEP_BINDING + 1 + len(self._blocks)
        buffer = self._buffer(nbytes)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, binding, buffer)
        self._blocks.append(Block(buffer, binding, nbytes, rows))
        return self._blocks[-1]

    @device_errors()
    def _buffer(self, nbytes: int) -> int:
        buffer = int(GL.glGenBuffers(1))
        self._buffers.append(buffer)
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, buffer)
        GL.glBufferData(GL.GL_UNIFORM_BUFFER, nbytes, None, GL.GL_DYNAMIC_COPY)
        return buffer

    @device_errors()
    def finish(self) -> None:
        """Wait until everything drawn so far is done; for timing."""
        GL.glFinish()

    # Reading -----------------------------------------------------------------------------------

    def read_texels(
        self, texture: int, layer: int, x: int, y: int, width: int, height: int
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        """RGBA float texels [height, width, 4] of one layer, from texel (x, y) on.

        Raises:
            DeviceError: as `check`.
        """
        self.take()
        self._epoch += 1
        texels = np.empty((height, width, 4), np.float32)
        framebuffer = self.framebuffers.get(((texture, layer),))
        self._gl.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        pointer = texels.ctypes.data_as(ctypes.c_void_p)
        self._gl.glReadPixels(x, y, width, height, GL.GL_RGBA, GL.GL_FLOAT, pointer)
        # Whatever fails on the device shows here at the latest, and memory then holds anything.
        self.check()
        return texels

    def trim(self) -> None:
        """Delete the textures that wait to be used again, and the framebuffers they are in."""
        self.framebuffers.forget(set(self.pool.trim()))

    # Lifetime ----------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Live objects by kind, for leak tests."""
        return {
            "textures": self.pool.total,
            "framebuffers": self.framebuffers.live,
            "programs": self.programs.live,
            "buffers": len(self._buffers),
        }

    def close(self) -> None:
        """Delete everything this device made; safe to call twice."""
        if self._vertex_array == 0:
            return
        self.context.make_current()
        self.context.owner = None
        release(*state.hand_back())  # GL keeps a deleted program for as long as it is in use
        self.framebuffers.close()
        self.pool.close()
        self.programs.close()
        release(
            (GL.glDeleteBuffers, (len(self._buffers), self._buffers)),
            (GL.glDeleteVertexArrays, (1, [self._vertex_array])),
        )
        self._buffers.clear()
        self._blocks.clear()
        self._vertex_array = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _make(calls: GLCalls) -> None:
    for function, arguments in calls:
        function(*arguments)
