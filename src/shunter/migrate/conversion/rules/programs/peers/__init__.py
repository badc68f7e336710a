"""Programs that look up other pods of their job, in DNS or in the cluster, and what they make of the answers.

master_lookups        rule: the Master is looked up once, before its name may be known
peer_lookups          rule: a name of several pods is looked up, to count or list peers; a rank or a number of ranks taken from it
peer_services         names of Services that stand for several pods of a job
peer_numbers          which names mean a rank or a number of ranks; what is known of the answers, as a value
peer_texts            a text of a program: what its variables hold, and what it makes of the answers
results_in_shell      what a shell text makes of the answers
shell_control_flow    loops over answers in a shell text, and conditions that test them
results_in_python     what Python code makes of them, statement by statement
results_in_javascript    what JavaScript makes of them, statement by statement
results_in_expressions, results_in_calls    what an expression, and a call, of Python holds of the answers
cluster_results       which commands and calls ask the cluster for pods or jobs, which of them answer a number,
                      and which may be about the job's

Tests: tests/migrate/conversion/rules/programs/peers; tests/scenarios/migrate; master_lookups.py, peer_services.py in
test_peer_lookups.py, peer_numbers.py and shell_control_flow.py in test_results_in_shell.py, results_in_calls.py and
results_in_expressions.py in test_results_in_python.py.
"""
