"""The documentation site: `script/site` builds it."""

import meshwright

project = "Meshwright"
copyright = "the Meshwright authors"
version = release = meshwright.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["conf.py", "Doxyfile"]
html_theme = "furo"
html_title = "Meshwright"
html_extra_path = ["../build/doxygen"]  # cpp/: the C++ headers

# Links to headings as on GitHub; a link to a file of the repository becomes a download.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "dollarmath"]
# The outputs that stand in the notebooks; tests execute them.
nb_execution_mode = "off"
nb_number_source_lines = False

autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
# What prompts and outputs are: only commands are copied.
copybutton_prompt_text = "$ "
