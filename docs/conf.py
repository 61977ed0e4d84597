"""Sphinx configuration: MyST pages in four kinds, and no network."""

project = "vq"
copyright = "the vq authors, MIT licence"  # noqa: A001 - Sphinx's own name
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "vq"
html_copy_source = False
html_show_sourcelink = False
exclude_patterns = ["_build"]
nitpicky = True
