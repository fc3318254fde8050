"""What it costs to look inside: a token with the inspector open over one with it closed.

    python tools/bench_inspector.py [MODEL] [--context N] [--repeats N]

Medians of interleaved rounds: closed, captured only, with thumbnails of all heads after every
token. A token's time is from its id to its logits in host memory and its pictures drawn; CPU time
is that of all threads, which means something on a busy machine too if OpenGL runs on the CPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

import gpt2gl
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.session import Session
from gpt2gl.views import Views

PRECISIONS = ("fp32", "int8")


Times = tuple[float, float]  # milliseconds of wall and CPU time


def token_ms(session: Session, tokens: list[int], after: Callable[[], object]) -> Times:
    """Time of the last of the tokens, all others being in the cache."""
    model = session.model
    start, cpu = time.perf_counter(), time.process_time()
    for _ in model.encode(tokens, len(tokens) - 1):
        pass
    after()
    model.logits()
    model.device.finish()
    return 1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - cpu)


def rounds(session: Session, context: int, repeats: int) -> dict[str, list[Times]]:
    model = session.model
    rng = np.random.default_rng(0)
    tokens = rng.integers(1, model.config.vocab_size, context).tolist()
    capture = session.capture("attention")
    assert isinstance(capture, Capture)
    views = Views(model)
    thumbnails = views.thumbnails()
    for _ in session.encode_steps(tokens):
        pass
    variants: dict[str, tuple[Capture | None, Callable[[], object]]] = {
        "closed": (None, lambda: None),
        "captured": (capture, lambda: None),
        "thumbnails": (capture, thumbnails.draw),
    }
    times: dict[str, list[Times]] = {name: [] for name in variants}
    for repeat in range(-2, repeats):
        tokens[-1] = int(rng.integers(1, model.config.vocab_size))
        for name, (kept, after) in variants.items():
            model.capture = kept
            ms = token_ms(session, tokens, after)
            if repeat >= 0:
                times[name].append(ms)
    views.close()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="storyteller")
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args()
    print(f"{options.model}, context {options.context}, medians of {options.repeats} rounds")
    for precision in PRECISIONS:
        with gpt2gl.load(options.model, precision) as session:
            times = rounds(session, options.context, options.repeats)
            print(f"{precision} on {session.model.device.limits.renderer}")
        for name, values in times.items():
            print(f"  {name:<11}{described(values, times['closed'])}")


def described(values: list[Times], closed: list[Times]) -> str:
    """Medians, and those of the ratios of each round."""
    parts = []
    for i, clock in enumerate(("ms", "ms CPU")):
        ratios = [100 * (a[i] / b[i] - 1) for a, b in zip(values, closed, strict=True)]
        parts.append(f"{median(v[i] for v in values):7.1f} {clock} {median(ratios):+6.1f} %")
    return "  ".join(parts)


if __name__ == "__main__":
    main()
