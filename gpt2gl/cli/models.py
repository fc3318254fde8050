"""`gpt2gl models`: what is here and what is known; fetch, remove, import, describe, check."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from gpt2gl import quantised_cache
from gpt2gl.cli import STYLE
from gpt2gl.cli.downloads import DownloadView
from gpt2gl.config import ModelConfig, shown
from gpt2gl.errors import Gpt2glError, ModelNotFound, OptionError
from gpt2gl.hub import library
from gpt2gl.hub.events import Event, Pulled
from gpt2gl.hub.importing import import_model
from gpt2gl.hub.known import KNOWN, KnownModel, hub_id
from gpt2gl.hub.paths import cache_root
from gpt2gl.loading import local_path
from gpt2gl.resources import embedded_models
from gpt2gl.small_files import printable, shown_path
from gpt2gl.weights import open_checkpoint

command = typer.Typer(help="List, fetch, import, check and remove models.", **STYLE)

NameArgument = Annotated[
    str, typer.Argument(help="A known model, owner/name on the hub, or an imported one.")
]
UNKNOWN = "?"


@command.callback(invoke_without_command=True)
def listing(context: typer.Context) -> None:
    """List the models that are here, and the known ones that can be fetched."""
    if context.invoked_subcommand is not None:
        return
    table = Table(box=None, pad_edge=False, header_style="")
    for heading in ("model", "where", "size", "parameters", "licence", "about"):
        right = heading in ("size", "parameters")
        table.add_column(heading, justify="right" if right else "left", no_wrap=heading != "about")
    for row in _rows():
        table.add_row(*map(printable, row))
    # A model's name must never be cut: it is there to be copied.
    Console(width=160, markup=False, highlight=False, emoji=False).print(table)
    typer.echo(f"cache: {shown_path(cache_root())}")


def _rows() -> Iterator[tuple[str, ...]]:
    for name, folder in embedded_models().items():
        size = _size(sum(path.stat().st_size for path in folder.iterdir()))
        yield name, "built in", size, _parameters(folder), "mit", "ships with gpt2gl"
    here = {model.id: model for model in library.installed()}
    for known in KNOWN.values():
        if (model := here.pop(known.id, None)) is not None:
            yield _row(model, known.name, known.description)
        else:
            yield _known_row(known)
    for model in here.values():
        yield _row(model, model.id, model.manifest.source)


def _row(model: library.Installed, name: str, about: str) -> tuple[str, ...]:
    where = "here" if model.is_complete else "damaged"
    size, licence = _size(model.manifest.nbytes), model.manifest.licence or UNKNOWN
    return name, where, size, _parameters(model.path), licence, about


def _known_row(known: KnownModel) -> tuple[str, ...]:
    size = f"~{_size(known.download_bytes)}"
    return known.name, "hub", size, _millions(known.parameters), known.licence, known.description


def _parameters(path: Path) -> str:
    """Counted in the file; a damaged model must not hide the others."""
    try:
        with open_checkpoint(path) as checkpoint:
            return _millions(sum(math.prod(t.shape) for t in checkpoint.tensors.values()))
    except Gpt2glError:
        return UNKNOWN


def _size(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.0f} M"


# Commands ---------------------------------------------------------------------------------------


@command.command("pull")
def pull_model(name: NameArgument) -> None:
    """Fetch a model, go on with an unfinished one, or repair one that is damaged."""
    from gpt2gl.hub.pull import pull

    done = _drain(pull(name))
    state = "fetched and checked" if done is not None and done.fetched else "here already, checked"
    typer.echo(f"{name}: {state}")


@command.command("remove")
def remove_model(name: NameArgument) -> None:
    """Remove a model from the cache, with what an unfinished download of it has left."""
    if name in embedded_models():
        raise OptionError(f"{name} ships with gpt2gl and cannot be removed")
    paths = [m.path for m in library.installed() if m.id == library.cache_id(name)]
    freed = library.remove(name) + sum(map(quantised_cache.remove, paths))
    typer.echo(f"removed {name}: {_size(freed)} freed")


@command.command("import")
def import_path(
    path: Annotated[Path, typer.Argument(help="A folder, a .safetensors or a .gguf file.")],
    name: Annotated[
        str | None, typer.Option(help="What to call it; as the file or folder if not given.")
    ] = None,
) -> None:
    """Copy a model from the disk into the cache, to be found by name."""
    done = _drain(import_model(path, name))
    typer.echo(f"imported {done.model if done else name}")


@command.command("verify")
def verify_model(name: NameArgument) -> None:
    """Read a model's files again and compare them with their checksums."""
    _drain(library.verify(name))
    typer.echo(f"{name}: every file is as it was when it came")


@command.command("info")
def info(name: NameArgument) -> None:
    """Say where a model is and comes from, its shape, and the GPU memory that it needs."""
    path = local_path(name)
    known = next((known for known in KNOWN.values() if known.id == hub_id(name)), None)
    if path is None and known is None:
        raise ModelNotFound(
            f"{shown(name)} is neither here nor known: 'gpt2gl models' lists what is,"
            " 'gpt2gl models pull' fetches others from the hub"
        )
    lines = {"model": name, **(_about_known(known) if known else {})}
    lines |= _about_cached(name)
    if path is not None:
        lines |= {"path": shown_path(path), **_about_path(path)}
    for label, text in lines.items():
        typer.echo(f"{label:12s} {printable(text)}")


def _about_known(known: KnownModel) -> dict[str, str]:
    return {
        "about": known.description,
        "hub": known.id,
        "parameters": f"{known.parameters:,}",
        "licence": known.licence,
        "size": f"about {_size(known.download_bytes)} to fetch",
    }


def _about_cached(name: str) -> dict[str, str]:
    model = library.find(name)
    if model is None:
        return {}
    manifest = model.manifest
    lines = {"source": manifest.source, "commit": manifest.commit, "licence": manifest.licence}
    files = ", ".join(f"{record.name} {_size(record.size)}" for record in manifest.files)
    found = {label: text for label, text in lines.items() if text}
    return {**found, "size": _size(manifest.nbytes), "files": files}


def _about_path(path: Path) -> dict[str, str]:
    with open_checkpoint(path) as checkpoint:
        count = sum(math.prod(t.shape) for t in checkpoint.tensors.values())
        untied = "lm_head.weight" in checkpoint.tensors
        return {"parameters": f"{count:,}", **_about_config(checkpoint.config, untied)}


def _about_config(config: ModelConfig, untied: bool) -> dict[str, str]:
    shape = (
        f"{config.n_layer} layers of width {config.n_embd}, {config.n_head} heads,"
        f" {config.n_positions} positions, vocabulary {config.vocab_size}"
    )
    return {"shape": shape, "GPU memory": _memory(config, untied)}


def _memory(config: ModelConfig, untied: bool) -> str:
    from gpt2gl.gl.layouts import LAYOUTS, PRECISIONS
    from gpt2gl.memory import needed_bytes

    needs = {p: needed_bytes(config, LAYOUTS[PRECISIONS[p]], untied) for p in PRECISIONS}
    return ", ".join(f"{precision} {_size(count)}" for precision, count in needs.items())


def _drain(events: Iterator[Event]) -> Pulled | None:
    """Show events until they end; the last one, if it says where the model is."""
    last: Event | None = None
    assert isinstance(events, Generator)
    with DownloadView() as view, closing(events):
        for last in events:
            view.show(last)
    return last if isinstance(last, Pulled) else None
