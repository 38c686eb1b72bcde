"""Configuration of the documentation: `make docs` builds it, and warnings are errors."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import themed_figures  # noqa: E402

import corekernels  # noqa: E402

project = html_title = "corekernels"
copyright = "the corekernels developers, BSD-3-Clause"  # noqa: A001
release = version = corekernels.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "matplotlib.sphinxext.plot_directive",
    "myst_nb",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "public_names",
    "themed_figures",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/used"]
default_role = "public"  # a link where the name is public: _ext/public_names.py
nitpicky = True  # every reference resolves, but for those to other packages
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|np|scipy|sparse|sklearn|matplotlib|collections|pathlib|typing|os|io)\..*"),
]

# API: a page per public name, from its docstring
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say what arguments are
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Markdown
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = ["http", "https", "mailto"]
html_math_renderer = "mathml"  # nothing to load, no script: _ext/mathml.py

# the notebook
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

# gallery and pictures
SECTIONS = ("kernels", "learning", "search", "documents")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_.*\.py",
    "image_scrapers": ["themed_figures.scrape"],
    "reset_modules": ["matplotlib", "themed_figures.use_style"],
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "thumbnail_size": (400, 280),
    "backreferences_dir": "gallery/used",
    "doc_module": ("corekernels",),
    "inspect_global_variables": False,
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "write_computation_times": False,
}
plot_formats = ["svg"]
plot_rcparams = themed_figures.STYLE
plot_apply_rcparams = True
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "corekernels"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# a sidebar only where a section has several pages
ALONE = "index start idea choosing theory contract benchmarks design changes"
html_sidebars = {page: [] for page in ALONE.split()}
toc_object_entries_show_parents = "hide"


def skip_foreign(app, what, name, obj, skip, options):
    """Methods inherited from other packages are described there."""
    function = getattr(obj, "fget", None) or getattr(obj, "__func__", obj)
    module = getattr(function, "__module__", None) or "corekernels"
    return skip or not module.startswith("corekernels")


def name_anchors(app, name, source):
    """The anchors of the report, which are HTML, as targets that links can be checked against."""
    if name == "reproduction/report":
        text = re.sub(r'<a id="(\w+)"></a>', r"{#\1}", source[0])
        # every Sphinx project has a page of the name `search`
        source[0] = text.replace("{#search}", "{#near-search}").replace(
            "(#search)", "(#near-search)"
        )


def setup(app):
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("source-read", name_anchors)
