"""Rules about what programs of the pods say and read.

pod_reads, whole_environment    names, addresses and variables of pods that v2 has otherwise; whether code decides by one or shows
                                it is judged in migrate/conversion/commands (shell_reads, shell_programs, python_reads)
new_variables, files_of_v1      what only v2 sets; what only v1's operator gave an MPIJob
hosts, built_names              host names of v1, written out or put together
container_names                 the training container's name of v1
ports_of_v1, ports_of_v2        ports at which pods meet
peers/                          the Master, or all peers, looked up in DNS; what programs make of the answers
cluster_requests                kubectl and the API, asked for what v1 made
programs_as_written             programs that Python code holds as texts
downward_files                  files of the downward API
ssh_clients                     programs that come into workers by ssh
texts                           the programs that can be read

Tests: tests/migrate/conversion/rules/programs; programs that none of them was written for in
tests/migrate/conversion/rules/test_indirect_reads.py; tests/scenarios/migrate; texts.py in test_built_names.py,
programs_as_written.py in peers/test_results_in_python.py, files_of_v1.py by these scenarios.
"""
