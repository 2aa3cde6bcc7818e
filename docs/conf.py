"""The site: Sphinx, pages in MyST Markdown whose code runs while they are built."""

import hashlib
import importlib.util
import sys
from pathlib import Path

import bayeskit._core

HERE = Path(__file__).parent
# The package carries MathJax; its extension is left aside, for it forbids to read pages in parallel.
MATHJAX = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
sys.path.insert(0, str(HERE))

import live  # noqa: E402
import pictures  # noqa: E402


def library_digest() -> str:
    """Pages run again when the library changes: jupyter-cache alone looks at the cells only."""
    digest = hashlib.sha256()
    package = Path(bayeskit.__file__).parent
    for file in [*sorted(package.rglob("*.py")), *sorted(package.rglob("*.js")), Path(bayeskit._core.__file__)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


project = "bayeskit"
author = "The bayeskit developers"
copyright = "The bayeskit developers"
version = release = bayeskit.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}  # autosummary writes the former
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
suppress_warnings = ["mystnb.unknown_mime_type"]

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / library_digest())
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_code_prompt_show = nb_code_prompt_hide = "Code"

autosummary_generate = True
autosummary_context = {  # methods of scikit-learn, and what parts of the library ask of each other
    "hidden": [
        "__init__",
        "score",
        "get_params",
        "get_metadata_routing",
        "fit_transform",
        "get_feature_names_out",
        "flips",
        "fold_spec",
        "honest_log_proba",
        "table_reader",
        "with_model",
        "settings_to_save",
        "spec",
        "restore",
        "around",
        "log_base",
        "log_shares",
        "draws",
        "splits",
        "of",
        "identifier",
        "fitted",
    ]
}
autodoc_typehints = "none"
smartquotes = False  # "auto" is what one types
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "bayeskit"
html_static_path = ["_static", str(MATHJAX / "static")]
mathjax_path = "mathjax/tex-chtml.js"
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_extra_path = ["_build/live"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "bayeskit", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}

live.write(HERE / "_build" / "live" / "live", library_digest())
pictures.write(HERE.parent / "examples", HERE / "gallery" / "examples", library_digest())


def setup(app: object) -> None:
    """The theme copies its logo also after a build that failed; without the folder, a file would take its name."""
    app.connect("builder-inited", lambda app: Path(app.outdir, "_static").mkdir(parents=True, exist_ok=True))
