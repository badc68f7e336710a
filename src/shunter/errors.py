"""The errors a user may see. Each names the object, the field and the value, and says what to do about it.

    ShunterError
    +-- InputError            the user's file, flag or object is wrong
    +-- EnvironmentProblem    the machine or the cluster is not as needed (port taken, directory not writable, no server)
    +-- ApiError              a Kubernetes API server refused a request (shunter.kube.errors draws its branches)

A ShunterError that reaches the command line is printed as one message with its remedy; anything else is our own bug and keeps
its traceback.
"""


class ShunterError(Exception):
    """A problem the user can act on: what is wrong in `message`, what to do in `remedy` (may be empty)."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy


class InputError(ShunterError):
    """What the user wrote is wrong: names object, field and value."""

    exit_code = 2


class EnvironmentProblem(ShunterError):
    """The machine or the cluster cannot do what was asked."""

    exit_code = 3
