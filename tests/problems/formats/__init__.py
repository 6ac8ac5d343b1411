"""Instance files, and what is read from them."""

from pathlib import Path
from typing import Final

ASSETS: Final = Path(__file__).parent / "assets"
