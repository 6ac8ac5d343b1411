"""Take docs/report.png, the top of the report that `make study` writes.

make study
python benchmarks/picture.py quick.html     # needs playwright and Chromium
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent.parent / "docs" / "report.png"
DRAWN = "[...document.querySelectorAll('.chart')].every((c) => c.querySelector('svg.marks'))"


def take(report: Path) -> None:
    """Open a report, wait for its charts and save the top of it."""
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=browser_path, args=sandbox)
        page = browser.new_page(viewport={"width": 1260, "height": 1316}, color_scheme="light")
        page.goto(report.resolve().as_uri(), timeout=600_000)
        page.wait_for_function(DRAWN, timeout=600_000)
        page.screenshot(path=PICTURE, timeout=600_000)
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
