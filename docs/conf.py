"""The documentation site: `make docs` builds it, offline, with warnings as errors."""

import os
import sys
from pathlib import Path

import harmonium

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*sys.path]))  # for workers of examples

project = "harmonium"
author = "The harmonium developers"
copyright = author  # noqa: A001  # the name that Sphinx reads
version = release = harmonium.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "reference",
    "titles",
]
exclude_patterns = ["_build", "_templates", "**/GALLERY_HEADER.rst", "**sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = False
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["../tutorials", "../examples"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"\.py$",
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib|altair",
    "remove_config_comments": True,
    "min_reported_time": 3600,
    "show_signature": False,
    "show_memory": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = f"harmonium {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # browsers do not fetch pages from disk
html_theme_options = {
    "logo": {
        "text": "harmonium",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "harmonium, the first page",
    },
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "changelog": []}
