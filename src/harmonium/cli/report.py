"""`harmonium report` and `harmonium study watch`: a study as one page, in a file or served."""

import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import typer

from harmonium.cli.options import StoreArgument
from harmonium.cli.study import app, open_store
from harmonium.cli.terminal import messages, output
from harmonium.specs import SpecError


def report(
    store: StoreArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The page to write.",
            show_default="STORE's name with .html, in the current folder",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Also write each figure as a file into this folder.", metavar="DIR"),
    ] = None,
    form: Annotated[
        Literal["pdf", "svg", "png"], typer.Option("--format", help="Format of the figures.")
    ] = "pdf",
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> int:
    """Write the report of a study as one HTML file; the study may still run."""
    from harmonium.reports import write_report  # noqa: PLC0415  # charts take a second to import

    with open_store(store):
        pass
    path = out or Path(store.with_suffix(".html").name)
    file = path.absolute()  # runs that are repeated may change the folder
    try:
        written = write_report(store, path, figures, form)
    except OSError as error:
        target = path if figures is None else f"{path} or {figures}"
        raise SpecError(
            f"{error.filename or target}: cannot be written: {error.strerror}"
        ) from error
    console = output()
    console.print(f"report: {path} ({file.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)
    if figures is not None:
        console.print(f"figures: {len(written) - 1} in {figures}", soft_wrap=True)
    if show:
        webbrowser.open(file.as_uri())
    return 0


@app.command("watch")
def watch(
    store: StoreArgument,
    port: Annotated[
        int, typer.Option(help="Port on 127.0.0.1; 0: any free one.", min=0, max=65535)
    ] = 8765,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> int:
    """Serve the report of a study on this machine; it is updated while the study runs."""
    from harmonium.reports.watch import Server  # noqa: PLC0415  # charts take a second to import

    with open_store(store):
        pass  # refuse a file that is not a store, or not trusted
    try:
        server = Server(store, port)
    except OSError as error:
        raise SpecError(
            f"port {port} cannot be used: {error.strerror}; choose another with --port"
        ) from None
    with server:
        server.watched.page()  # refuse a store that cannot be shown now
        output().print(f"{store}: {server.address}", soft_wrap=True)
        messages().print("stop with Ctrl-C")
        if show:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            messages().print("stopped")
    return 0
