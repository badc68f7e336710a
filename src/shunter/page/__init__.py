"""The web page (`shunter ui`): the viewer's own requests to the API server, projected to rows, sent over one event stream a tab.

    addresses.py    routes, and what may stand in their parameters                                     no I/O
    guard.py        a request + settings -> a refusal, or none                                         no I/O
    logins.py       how a request shows whose it is: cookie, bearer token, or a proxy's headers
    sessions.py     credentials, client and views of one viewer; nothing is shared between two
    running.py      a view at work: its watches and readings; hidden.py says what may not be read
    live.py         rows by id, coalesced; a snapshot, then what changed                               no I/O
    views/          objects + now -> rows of `wire`, a module a view; view.py says what one is         no I/O
    tables.py       the views and other functions by name, imported when they are asked for
    actions.py      the request that an action is, and its command line                                no I/O
    logs.py         lines of chosen ranks under a budget
    server.py       answers each route; serving.py is it in a cluster, record.py tells other commands where it is
    assets/         the page itself: ES modules, style sheet, shell

Tests are in tests/page, those with a browser in tests/page/browser.
"""
