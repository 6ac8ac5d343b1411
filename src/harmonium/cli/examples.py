"""One example for each command, shown below its help."""

from typing import Final

import typer

EXAMPLES: Final = {
    "": "optimize numpy:sum --length 20 --target 20",
    "solve": "solve trap:length=20,order=5 --model rbm --model boa",
    "optimize": "optimize mine:score --length 40 --max-calls 5000",
    "study": "study run studies/quick.toml --store quick.db",
    "study run": "study run studies/quick.toml --store quick.db",
    "study status": "study status quick.db",
    "study export": "study export quick.db --what summary -o summary.csv",
    "study watch": "study watch quick.db --open",
    "bisect": "bisect trap:length=20,order=5 --model boa --runs 5",
    "compare": "compare trap:length=20,order=5 --models rbm,boa,tree",
    "report": "report quick.db -o quick.html --figures figures",
    "generate": "generate maxsat:length=50,clauses=200 -o planted.cnf",
    "problems": "problems",
    "models": "models",
    "algorithms": "algorithms",
    "doctor": "doctor",
}
"""By command; the empty name is the program itself."""


def add_examples(app: typer.Typer, name: str = "") -> None:
    """Add to the help of an app, of its commands and of the apps below it their examples."""
    app.info.epilog = _show(name)
    for command in app.registered_commands:
        command.epilog = _show(f"{name} {command.name}".strip())
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_examples(group.typer_instance, f"{name} {group.name}".strip())


def _show(name: str) -> str | None:
    return f"Example: harmonium {EXAMPLES[name]}" if name in EXAMPLES else None
