"""Do two devices choose the same tokens?

    agreement.py write OUT.json        greedy text of the embedded model on this machine's device
    agreement.py compare OUT.json      the same on another device, against what was written

`write` continues four prompts greedily; `compare` does the same and says where each text first
differs, and how often the most likely token is the same at every position of the written texts.
The second figure is the rate of agreement: after the first difference of a free text the others
follow from it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import gpt2gl
from gpt2gl.generation import Generation, Token
from gpt2gl.sampling import Sampling
from gpt2gl.session import Session

PROMPTS = ("Once upon a time", "The little robot", "A king and his cat", "In the deep forest")
TOKENS_EACH = 500


def greedy(session: Session, prompt: list[int]) -> list[int]:
    """The prompt and `TOKENS_EACH` tokens, each the most likely one."""
    # No token ends the text, so that every device makes as many.
    options = Generation(
        Sampling(temperature=0, min_new_tokens=TOKENS_EACH), max_tokens=TOKENS_EACH
    )
    made = [e.id for e in session.generate(prompt, options) if isinstance(e, Token)]
    return [*prompt, *made]


def most_likely(session: Session, tokens: list[int]) -> list[int]:
    """The most likely token after each position."""
    return [int(i) for rows in session.row_logits(tokens) for i in np.argmax(rows, axis=1)]


def write(session: Session, path: Path) -> None:
    texts = [greedy(session, session.prompt_tokens(prompt)) for prompt in PROMPTS]
    found = {
        "renderer": session.model.device.limits.renderer,
        "texts": texts,
        "most_likely": [most_likely(session, text) for text in texts],
    }
    path.write_text(json.dumps(found), encoding="utf-8")


def compare(session: Session, path: Path) -> None:
    other = json.loads(path.read_text(encoding="utf-8"))
    print(f"{session.model.device.limits.renderer} against {other['renderer']}")
    same, total = 0, 0
    for prompt, text, expected in zip(PROMPTS, other["texts"], other["most_likely"], strict=True):
        here = greedy(session, session.prompt_tokens(prompt))
        differing = [i for i, (a, b) in enumerate(zip(here, text, strict=True)) if a != b]
        where = f"first differs at token {differing[0]}" if differing else "is the same"
        print(f"  {prompt!r}: the greedy text of {len(text)} tokens {where}")
        matches = np.equal(most_likely(session, text), expected)
        same, total = same + int(matches.sum()), total + matches.size
    rate = f"{same} of {total} positions ({same / total:.2%})"
    print(f"  the most likely token is the same at {rate}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--precision", default="fp32")
    arguments = parser.parse_args()
    with gpt2gl.load("storyteller", arguments.precision) as session:
        {"write": write, "compare": compare}[arguments.action](session, arguments.file)


if __name__ == "__main__":
    main()
