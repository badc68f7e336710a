"""SSH between the nodes of a job: what images for MPI bring, and the environments that stand for images here do not.

settings.py says what a command line and a configuration ask for, server.py is the `/usr/sbin/sshd` of pods, client.py their
`ssh`; both run inside pods, started by the programs of cluster/node/programs/shims.py. Pods run as the user that the node runs
as, so any user name is theirs. OpenSSH's client, where a machine has it, refuses the keys of a job, as upstream's plugin lets the
group read them.

Tests: tests/cluster/node/ssh; server.py and client.py in test_sessions.py there.
"""
