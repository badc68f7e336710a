"""The web page (`shunter ui`): watches the cluster with the viewer's credentials, sends rows over one event stream per tab.

    addresses.py    routes, and the checks of their parameters                                         no I/O
    guard.py        a request + settings -> a refusal, or none                                         no I/O
    logins.py       authentication: by cookie, bearer token, or a proxy's headers
    sessions.py     credentials, client and views of one viewer; sessions share nothing
    running.py      a running view: its watches and readings; hidden.py describes missing permissions
    live.py         rows by id, coalesced: a snapshot, then changes                                    no I/O
    views/          objects + now -> rows of `wire`, a module per view; view.py defines a view         no I/O
    tables.py       the views and other functions by name, imported when first used
    actions.py      the actions that a viewer may perform, with their command lines                    no I/O
    logs.py         log lines of chosen ranks, limited in rate
    server.py       answers each route; serving.py starts it, record.py is the file by which other commands find it
    assets/         the page itself: ES modules, style sheet, shell

Tests are in tests/page, those with a browser in tests/page/browser.
"""
