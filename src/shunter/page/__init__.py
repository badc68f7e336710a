"""The web page (`shunter ui`): the viewer's own requests to the API server, projected to rows, sent over one event stream a tab.

    guard.py        a request + settings -> a refusal, or whose session it is                         no I/O
    sessions.py     credentials, client and watches of one viewer; nothing is shared between two
    live.py         rows by id, coalesced; a snapshot, then what changed                               no I/O
    views/          objects + now -> rows of `wire`, a module a view                                   no I/O
    actions.py      the request that an action is, and its command line                                no I/O
    logs.py         lines of chosen ranks under a budget
    server.py       routes
    assets/         the page itself: ES modules, style sheet, shell

Tests are in tests/page, those with a browser in tests/page/browser.
"""
