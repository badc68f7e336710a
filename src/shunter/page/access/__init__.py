"""Who may ask the page: the guard of every request, logins and sessions.

guard.py       what is refused of a request before anything looks at it: Host, origin, method, code
logins.py      to which session a request belongs: cookie, bearer token, a proxy's headers
sessions.py    viewers with their credentials, their client and their views; when they end

Tests: tests/page/access/, tests/page/test_security.py; sessions.py in tests/page/test_server.py and the latter.
"""
