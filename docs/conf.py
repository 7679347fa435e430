"""Settings of the documentation site: `make docs` builds it into docs/_build/html, without a network."""

import importlib.metadata

project = "quantascope"
author = "the quantascope developers"
copyright = author
release = importlib.metadata.version("quantascope")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}

html_theme = "furo"
html_title = "quantascope"
html_show_sourcelink = False
html_copy_source = False
templates_path: list[str] = []
