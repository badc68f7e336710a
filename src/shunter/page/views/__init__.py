"""The views of the page by the name that stands in `/api/live?view=NAME`; view.py says what one is."""
