"""What a driver is asked in a process of its own: the layers against NumPy, then a generation.

Prints one JSON object. Run by test_environments.py.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from gpt2gl.errors import DeviceError, OptionError
from gpt2gl.gl.context import headless
from gpt2gl.weights import random_checkpoint
from gpt2gl_reference import gpt2_numpy

N_NEW = 12


def main() -> None:
    try:
        context = headless()
    except (DeviceError, OptionError) as error:
        print(json.dumps({"absent": str(error)}))
        return
    # These import OpenGL, whose platform the context has chosen.
    from gpt2gl.calibration import candidates
    from gpt2gl.gl.device import Device
    from gpt2gl.gl.limits import query
    from gpt2gl.gl.tuning import GPU, SOFTWARE
    from gpt2gl.models.gpt2 import GPT2
    from gpt2gl.selftest import TINY, load_check_steps, plain

    limits = query()
    gpu = GPU if limits.blends_floats else plain(GPU)
    failures = []
    for layout, tuning in (("rgba32f", gpu), ("f16", SOFTWARE), ("int4", gpu)):
        try:
            for _ in load_check_steps(context, layout, tuning):
                pass
        except DeviceError as error:
            failures.append(str(error))
    checkpoint = random_checkpoint(TINY, seed=3, std=0.3)
    weights = {name: tensor.read() for name, tensor in checkpoint.tensors.items()}
    generated, expected = [1], [1]
    with Device(context, tuning=candidates(limits)[0]) as device:
        model = GPT2.load(device, checkpoint)
        for _ in range(N_NEW):
            for _ in model.encode(generated, len(generated) - 1):
                pass
            generated.append(int(model.logits().argmax()))
            logits = gpt2_numpy.forward(weights, TINY, expected)["logits"]
            expected.append(int(np.argmax(logits[-1])))
    found = {"renderer": limits.renderer, "version": limits.version, "glsl": limits.glsl}
    found |= {"failures": failures, "generated": generated, "expected": expected}
    found["platform"] = type(sys.modules["OpenGL.platform"].PLATFORM).__name__
    print(json.dumps(found))


if __name__ == "__main__":
    main()
