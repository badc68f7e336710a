"""What an MPIJob is made of: pods, access rights, a host list, and how they are kept up.

objects.py        hostfile with slots, discover_hosts.sh, kubexec.sh; Role and ServiceAccount of the launcher
pods.py           a worker that sleeps; the launcher with its variables and its kubectl
replica_sync.py   which of these are made, in which order; pods that ExitCode replaces
judgement.py      what pods mean: Succeeded, Failed, Restarting
names.py          names of objects; slotsPerWorker; whether the launcher trains too

What stops a job (faults, names, the mpi-operator's) is in operator/training/frameworks/mpi.py, admission in
api/training/mpi_rules.py.
Tests: tests/operator/training/mpi; tests/recordings/v1; names.py in test_objects.py there.
"""
