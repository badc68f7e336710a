"""From a program and options to the Kubernetes objects that run it: what `shunter run train.py` does, as functions.

    from shunter.launch.objects import launch
    from shunter.launch.options import LaunchOptions, Program
    from shunter.launch.tree import packed_code

    program = Program(path="train.py", arguments=("--lr", "3e-4"))
    options = LaunchOptions(program=program, nodes=2)
    code = packed_code(Path("."), program)                        # which files travel, and their archive
    objects = launch(options, code, Runtime("torch-distributed", "torch"), name="train", namespace="default")

`launch` is pure: it returns the ConfigMaps and the TrainJob, ready for `kubectl apply`. `submitting.submit` writes them, in an
order that allows a kill between any two writes, and `submitting.wait` follows a job to its end:

    async with connect(load(None)) as client:                     # shunter.kube.client, shunter.kube.kubeconfig
        made = await submit(client, options, code)
        outcome = await wait(client, made.job)                    # outcome.state is Succeeded or Failed

In a notebook, which runs a loop of its own, these lines stand as they are; in a script within `asyncio.run`.
"""
