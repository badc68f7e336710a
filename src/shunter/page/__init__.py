"""The web page (`shunter ui`): watches the cluster with the viewer's credentials, sends rows over one event stream per tab.

    addresses.py    routes, and the checks of their parameters                                         no I/O
    access/         guard.py: refuses requests; logins.py: authentication by cookie, bearer token, or a proxy's headers;
                    sessions.py: credentials, client and views of one viewer; sessions share nothing
    refresh/        view_refresh.py: when a view's objects are watched, read again, its permissions checked, and its rows made;
                    live.py: rows by id, coalesced: a snapshot, then changes
    views/          objects + now -> rows of wire.py, a module per view; view.py defines a view        no I/O
    job_readings.py, cluster_readings.py, conversions.py    what views read beside their watches
    migration_status.py, migration_job.py   how far the migration of each v1 job is; the page of one of them
    tables.py       the views and other functions by name, imported when first used; calls.py, answers.py: these functions
    actions.py      the actions that a viewer may perform, with their command lines; acting.py performs them
    logs.py         log lines of chosen ranks, limited in rate by log_buffer.py
    links.py        addresses of MLflow, TensorBoard, W&B that a job names; object_text.py: an object as YAML
    server.py       answers each route, streams.py those with a stream
    serving.py      starts it; record.py is the file by which other commands find it
    assets.py       the page itself (assets/): ES modules, style sheet, shell

Tests: tests/page, those with a browser in tests/page/browser; conversions.py, migration_status.py and migration_job.py in
tests/page/views/test_migration.py, acting.py and answers.py in test_views_at_work.py of tests/page, calls.py, streams.py and
tables.py in test_server.py there, wire.py in tests/page/views.
"""
