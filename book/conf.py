"""How Sphinx makes the book: Markdown and notebooks as they are, nothing executed, nothing from the network."""

project = "wb"
extensions = ["myst_nb"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Policy documents into guards for LLM agents",
    "page_width": "1240px",
    "body_max_width": "none",
    "code_font_size": "0.78em",
}
html_title = "The book of wb"
html_copy_source = False
html_show_copyright = False
highlight_language = "sh"
nb_execution_mode = "off"
suppress_warnings = ["mystnb.unknown_mime_type"]  # a figure that plotly would draw has its still picture beside it
nb_ipywidgets_js = {}  # a widget lives in JupyterLab; its script would come from the network
myst_enable_extensions = []  # a dollar is a dollar
myst_heading_anchors = 3
