"""The site: the pages of docs/, a start page, and a page for each operator, as HTML by sphinx."""
