"""What a container finds: its image, environment, volumes, and the objects that these refer to.

images.py, image_environments.py          what `image:` means here (environment, root, entrypoint); with --strict-images nothing;
                                          environments of `images add`
environment.py, expansion.py              env and envFrom; the program: command, else the image's entrypoint, with args; `$(VAR)`
downward.py, service_links.py             the downward API; variables of Services
substitution.py                           addresses, ports and paths at level `plain`
volumes.py, mounts.py                     where each volume is (emptyDir, hostPath), and each volumeMount, subPath
volume_files.py                           files of ConfigMaps, Secrets, tokens, downwardAPI: items, modes, updates
references.py, sources.py                 what a pod refers to; how it is fetched
ignored_fields.py                         what a pod asks for that the node does not do
service_account_tokens.py, user_identity.py, warm_start.py    token renewal; users and groups; forks of a warm parent

Tests: tests/cluster/node/content; sources in those of whole pods, tests/cluster/node/test_pods.py and test_service_accounts.py.
"""
