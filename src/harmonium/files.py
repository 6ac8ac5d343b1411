"""Files written in one step: a kill or a full disk leaves the old file or the new one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def write_atomically(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` when the block ends without an error.

    The content is synced to the disk before the old file is replaced. A pipe or device cannot be
    replaced and is written directly.

    Parameters
    ----------
    path : path-like
        The file to write.
    mode : str
        "wb" for bytes, "w" for UTF-8 text; line ends are written as they are.
    """
    final = Path(path)
    replaceable = final.is_file() or not final.exists()
    part = final.with_name(f"{final.name}.part") if replaceable else final
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        with part.open(mode, **text) as file:
            yield file
            file.flush()
            if replaceable:
                os.fsync(file.fileno())
        if replaceable:
            part.replace(final)
    except BaseException:
        if replaceable:
            part.unlink(missing_ok=True)
        raise
