"""Links whose text is the name of a file, such as practice.md, get the title of its page.

On the site there are no files; the same links read well where Markdown is shown as it is.
"""

import re
from posixpath import dirname, join, normpath

from docutils import nodes
from sphinx.application import Sphinx

_FILE = re.compile(r"(?:docs/)?[\w-]+\.md")


def name_pages(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace the text of such links."""
    for link in doctree.findall(nodes.reference):
        if not _FILE.fullmatch(link.astext()):
            continue
        page = normpath(join(dirname(docname), link.get("refuri", "").partition("#")[0]))
        title = app.env.titles.get(page.removesuffix(".html"))
        if title is not None:
            link.children = [nodes.Text(f"“{title.astext()}”")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the step to Sphinx, after links are resolved."""
    app.connect("doctree-resolved", name_pages, priority=900)
    return {"parallel_read_safe": True}
