"""Everything about one text in a folder of files: what `gpt2gl inspect` writes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpt2gl import __version__, plots
from gpt2gl.analysis import entropy, next_rollout, probabilities, ranks, top_k
from gpt2gl.array_files import ArrayFile, array_file, whole_file
from gpt2gl.errors import OptionError
from gpt2gl.inside import Hook
from gpt2gl.lens import Lens, check_top
from gpt2gl.session import Session
from gpt2gl.small_files import shown_path

Array = npt.NDArray[Any]

PROGRAM = "gpt2gl inspect"
INDEX = "inspect.json"
ATTENTION, RESIDUALS, TRACE = "attention.npz", "residuals.npz", "trace.npz"
LENS, TOKENS = "lens.npz", "tokens.npz"
# Raw bytes of attention that are written; beyond, only the rollout is.
MOST_ATTENTION = 1 << 30
# Positions that the picture of the lens shows, the last ones.
LENS_COLUMNS = 24


@dataclass(frozen=True)
class Inspection:
    """What to write.

    Attributes:
        names: patterns of further tensors, for `trace.npz`.
        top: guesses to keep of each token and each layer of the lens.
        lens_positions: how many positions the lens looks at, the last of the text; 0 for all.
        plots: whether to draw pictures.
    """

    names: Sequence[str] = ()
    top: int = 10
    lens_positions: int = 64
    plots: bool = True


def inspect(
    session: Session,
    tokens: Sequence[int],
    folder: Path,
    options: Inspection,
    settings: dict[str, Any],
    progress: Callable[[str], None] = lambda what: None,
) -> dict[str, Any]:
    """Run `tokens` through the model and write what is inside to files in `folder`.

    Args:
        settings: how the model was loaded and what it runs under, for the index.
        progress: called with what is done next.

    Returns:
        The index, as in `inspect.json`: files, arrays and shapes, tokens, what was left out.

    Raises:
        OptionError: the folder cannot be written or holds files of others under the same names;
            an option does not fit.
        ContextLengthError, Gpt2glError: as `Session.trace`.
    """
    return _Writer(session, list(tokens), folder, options, settings, progress).run()


class _Writer:
    """One inspection while it runs."""

    def __init__(
        self,
        session: Session,
        tokens: list[int],
        folder: Path,
        options: Inspection,
        settings: dict[str, Any],
        progress: Callable[[str], None],
    ) -> None:
        self.session, self.tokens, self.folder = session, tokens, folder
        self.options, self.settings, self.progress = options, settings, progress
        model = session.model
        self.config = model.config
        model.check_tokens(tokens)
        self.names = model.tensor_names(options.names)  # none of no patterns
        self.top = check_top(min(options.top, self.config.vocab_size), self.config.vocab_size)
        self.labels = [session.tokenizer.token_text(token) for token in tokens]
        self.arrays: dict[str, dict[str, tuple[int, ...]]] = {}
        self.files: list[str] = []
        self.left_out: list[str] = []
        self.residuals: list[Array] = []
        self.rollout: npt.NDArray[np.float64] | None = None

    def run(self) -> dict[str, Any]:
        _claim(self.folder, self._file_names())
        self._write_index(complete=False)
        self.progress("attention and residuals")
        self._trace()
        self.progress("logit lens")
        lens = self._lens_rows(self._lens())
        self.progress("token probabilities")
        return self._write_index(complete=True, tokens=self._token_rows(), lens=lens)

    def _text(self, token: int) -> str:
        return self.session.tokenizer.token_text(token)

    def _file_names(self) -> list[str]:
        """All that may be written."""
        arrays = [ATTENTION, RESIDUALS, TRACE, LENS, TOKENS]
        pictures = ["rollout.png", "residual_norms.png", "lens.png", "token_probabilities.png"]
        layers = [f"attention_h.{i}.png" for i in range(self.config.n_layer)]
        return [*arrays, *pictures, *layers]

    # The pass ----------------------------------------------------------------------------------

    def _trace(self) -> None:
        """Attention, residuals and named tensors, each written as it comes."""
        hooks: dict[str, Hook] = {}
        with ExitStack() as files:
            takers = [
                (self._match("h.*.attn.probs"), self._attention_hook(files)),
                (self._match("embed", "h.*.resid_post"), self._on_residual),
            ]
            if self.names:
                takers.append((self.names, self._open(files, TRACE).add))
            for name in dict.fromkeys(name for names, _ in takers for name in names):
                hooks[name] = _all([take for names, take in takers if name in names])
            self.session.trace(self.tokens, hooks=hooks)
        residuals = np.stack(self.residuals)  # [N, T, n_embd]
        lengths = np.linalg.norm(residuals.astype(np.float64), axis=-1)
        self._save(RESIDUALS, residuals=residuals, norms=lengths.astype(np.float32))
        self._draw("residual_norms.png", plots.norms, lengths, self._residual_names(), self.labels)
        title = "Attention rollout over all layers"
        self._draw("rollout.png", plots.square, self.rollout, self.labels, title)

    def _match(self, *patterns: str) -> tuple[str, ...]:
        return self.session.model.tensor_names(patterns)

    def _residual_names(self) -> tuple[str, ...]:
        return self._match("embed", "h.*.resid_post")

    def _attention_hook(self, files: ExitStack) -> Hook:
        """Writes each layer's attention, draws it, and adds it to the rollout."""
        n = len(self.tokens)
        shape = (self.config.n_layer, self.config.n_head, n, n)
        append = self._attention_file(files, shape)

        def on_layer(name: str, probs: Array) -> None:
            append(probs)
            self.rollout = next_rollout(self.rollout, probs)
            layer = name.split(".")[1]
            title = f"Attention of layer {layer}: queries down, keys across"
            self._draw(f"attention_h.{layer}.png", plots.attention_grid, probs, self.labels, title)

        return on_layer

    def _attention_file(
        self, files: ExitStack, shape: tuple[int, int, int, int]
    ) -> Callable[[Array], None]:
        """What takes the layers' attention, one after the other."""
        size = 4 * math.prod(shape)
        if size <= MOST_ATTENTION:
            file = self._open(files, ATTENTION)
            return files.enter_context(file.stack("attention", shape, np.float32))
        self.left_out.append(
            f"{ATTENTION} would hold {size >> 20} MiB, over {MOST_ATTENTION >> 20}:"
            " give a shorter text, or single layers by --names"
        )
        return lambda probs: None

    def _on_residual(self, name: str, values: Array) -> None:
        self.residuals.append(values)

    # Lens and tokens ---------------------------------------------------------------------------

    def _lens(self) -> Lens:
        n = len(self.tokens)
        count = self.options.lens_positions or n
        if count < n:
            self.left_out.append(f"the lens at the first {n - count} tokens: --lens 0 for all")
        where = range(max(0, n - count), n)
        lens = self.session.lens(self.tokens, where, self.top)
        self._save(
            LENS,
            positions=np.array(lens.positions),
            tokens=lens.tokens,
            probabilities=lens.probabilities,
            chosen=lens.chosen,
            chosen_probabilities=lens.chosen_probabilities,
            chosen_ranks=lens.chosen_ranks,
        )
        last = slice(-LENS_COLUMNS, None)
        guesses = [[self._text(token) for token in row[last]] for row in lens.tokens[..., 0]]
        labels = [self.labels[position] for position in lens.positions[last]]
        p = lens.probabilities[:, last, 0]
        self._draw("lens.png", plots.lens_table, lens.names, labels, guesses, p)
        return lens

    def _token_rows(self) -> list[dict[str, Any]]:
        """An object for each token of the text, with what the model expects after it."""
        found = self._predictions()
        self._save(TOKENS, ids=np.array(self.tokens), **found)
        given, bits = found["probabilities"], found["entropies"]
        self._draw("token_probabilities.png", plots.token_probabilities, self.labels, given, bits)
        return [
            {
                "position": i,
                "id": token,
                "text": self.labels[i],
                "probability": _number(given[i]),
                "rank": int(found["ranks"][i]) or None,
                "entropy_bits": _number(bits[i]),
                "next": self._guesses(found["next_ids"][i], found["next_probabilities"][i]),
            }
            for i, token in enumerate(self.tokens)
        ]

    def _predictions(self) -> dict[str, Array]:
        """Of each token [T] its probability and rank, and the entropy of what was expected there;
        after each token the most probable next ones [T, top]."""
        n = len(self.tokens)
        given, bits, place = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, np.int64)
        expected, chances = np.zeros((n, self.top), np.int64), np.zeros((n, self.top))
        first = 0
        for logits in self.session.row_logits(self.tokens):
            p = probabilities(logits)  # [rows, vocab_size]
            rows = slice(first, first + len(p))
            expected[rows] = top_k(logits, self.top)
            chances[rows] = np.take_along_axis(p, expected[rows], axis=-1)
            after = self.tokens[first + 1 : first + len(p) + 1]
            of = slice(first + 1, first + 1 + len(after))
            given[of] = p[np.arange(len(after)), after]
            place[of] = ranks(logits[: len(after)], after)
            bits[of] = entropy(p[: len(after)])
            first += len(p)
        return {
            "probabilities": given,
            "ranks": place,
            "entropies": bits,
            "next_ids": expected,
            "next_probabilities": chances,
        }

    def _guesses(self, tokens: Array, chances: Array) -> list[dict[str, Any]]:
        pairs = zip(tokens.tolist(), chances.tolist(), strict=True)
        return [{"id": t, "text": self._text(t), "probability": round(p, 6)} for t, p in pairs]

    def _lens_rows(self, lens: Lens) -> list[dict[str, Any]]:
        """An object for each position and residual: its guesses, and the token it is judged by."""
        return [
            {
                "position": position,
                "tensor": name,
                "guesses": self._guesses(lens.tokens[i, j], lens.probabilities[i, j]),
                "chosen": self._text(int(lens.chosen[j])),
                "chosen_probability": round(float(lens.chosen_probabilities[i, j]), 6),
                "chosen_rank": int(lens.chosen_ranks[i, j]),
            }
            for j, position in enumerate(lens.positions)
            for i, name in enumerate(lens.names)
        ]

    # Files -------------------------------------------------------------------------------------

    def _open(self, files: ExitStack, name: str) -> ArrayFile:
        """An array file that is closed with the others; the index tells its shapes."""
        file = files.enter_context(array_file(self.folder / name))
        self.arrays[name] = file.shapes
        self.files.append(name)
        return file

    def _save(self, name: str, **arrays: Array) -> None:
        with ExitStack() as files:
            file = self._open(files, name)
            for key, values in arrays.items():
                file.add(key, values)

    def _draw(self, name: str, picture: Callable[..., bytes], *arguments: Any) -> None:
        if not self.options.plots:
            return
        with whole_file(self.folder / name) as file:
            file.write(picture(*arguments))
        self.files.append(name)

    def _write_index(self, **more: Any) -> dict[str, Any]:
        """The index with what is known by now."""
        index = {
            "program": PROGRAM,
            "version": __version__,
            **self.settings,
            "n_layer": self.config.n_layer,
            "n_head": self.config.n_head,
            "n_embd": self.config.n_embd,
            "files": self.files,
            "arrays": self.arrays,
            "left_out": self.left_out,
            **more,
        }
        with whole_file(self.folder / INDEX) as file:
            file.write(json.dumps(index, ensure_ascii=False, indent=1).encode("utf-8"))
        return index


def _all(takers: Sequence[Hook]) -> Hook:
    def take(name: str, values: Array) -> None:
        for each in takers:
            each(name, values)

    return take


def _number(value: float) -> float | None:
    """A number for JSON, which has no NaN."""
    return None if math.isnan(value) else round(float(value), 6)


def _claim(folder: Path, names: Sequence[str]) -> None:
    """Make the folder, or see that no file of somebody else would be overwritten.

    Raises:
        OptionError: it cannot be made, or holds such a file.
    """
    where = shown_path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        present = {each.name for each in folder.iterdir()}
        ours = INDEX in present and _is_index(folder / INDEX)
    # ValueError: a zero byte in the name.
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable name"
        raise OptionError(f"--out {where}: {reason}: choose another folder") from None
    taken = sorted(present & {INDEX, *names})
    if taken and not ours:
        raise OptionError(
            f"--out {where}: {taken[0]} is there already, and not by '{PROGRAM}':"
            " choose another folder"
        )


def _is_index(path: Path) -> bool:
    """Whether an earlier inspection wrote this file."""
    with path.open("rb") as file:
        return PROGRAM.encode() in file.read(100)
