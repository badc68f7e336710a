"""Who may ask the page: the guard of every request, logins and sessions. Tests: tests/page/access/,
tests/page/test_security.py."""
