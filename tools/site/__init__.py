"""The site: the pages under `docs/` as HTML, with references made from docstrings and commands.

Sphinx reads the pages as the forge does (MyST is CommonMark with tables), resolves links between
them, and writes a search that works from a disk without a server. Furo is the theme.
"""
