"""Settings of the documentation site: `make docs` builds it into docs/_build/html, without a network."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "quantascope"
author = "the quantascope developers"
copyright = author
release = importlib.metadata.version("quantascope")

extensions = ["myst_parser", "notebooks", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".ipynb": "notebook"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

highlight_language = "text"  # of blocks that do not name one: commands and their output

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = "quantascope"
html_show_sourcelink = False
html_copy_source = False
templates_path: list[str] = []
