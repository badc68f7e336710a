"""Why a job does not train, hangs or failed: `shunter doctor`.

    evidence.py     what was seen of one job, as one value that can be written to a directory and read back
    case.py         the same with what follows from it: ranks, endings, causes
    rules/          a module a rule, each pure: what it needs, what it says, and what it must not claim
    diagnosing.py   evidence -> report: verdicts in order, and what could not be checked
    collecting.py   reads the cluster; the only module with I/O beside stacks.py and recording.py

`operator.causes` decides from API evidence why a job does not train; the K rules carry that into
verdicts and decide nothing twice.
"""
