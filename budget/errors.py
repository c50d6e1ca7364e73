"""Every error of ours, in one tree, so that whose fault it is can be told from the type.

::

    TurngapError                  message and remedy, both for people
    ├── ConfigurationError        the developer asked for something that cannot be: a bad option, an unknown name
    ├── ModelError                a model is missing, damaged, or could not be fetched
    ├── ClientError               a client broke the protocol of its front door
    └── StageError                a stage failed while it worked on a turn
        ├── StageTimeoutError     ... by not answering in time
        └── RemoteError           ... at a server of somebody else's; says whether asking again may help
            ├── RequestRefused    the developer's fault: key, model, parameter, account
            ├── ServiceBusy       the server has no room now: a limit, its capacity, a model that still loads
            ├── ServiceFailed     the server broke: its own error, a stream cut short, an answer nobody can read
            └── ConnectionFailed  the network in between: no connection, or one that was lost
    UnexpectedEvent               our own bug; never caught

Foreign errors are translated once, in the adapter that meets them.
"""

from turngap.budget.clock import Ns
from turngap.budget.marks import Stage


class TurngapError(Exception):
    """What went wrong, and in ``remedy`` what the reader can do about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class ConfigurationError(TurngapError):
    """An option, a file or a name that cannot be used as given."""


class ModelError(TurngapError):
    """A model that is missing, damaged, or could not be fetched."""


class ClientError(TurngapError):
    """A message that the front door cannot accept; ``code`` is stable and for programs."""

    def __init__(self, code: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class StageError(TurngapError):
    """A stage failed while it worked on a turn; the conversation goes on with the next one."""

    def __init__(self, stage: Stage, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.stage = stage


class StageTimeoutError(StageError):
    """A stage did not answer within its deadline."""


class RemoteError(StageError):
    """A server that does the stage's work did not. ``detail`` has its words, which may quote a prompt: never log it."""

    retryable = False
    """Whether the same request may succeed when it is made again."""

    def __init__(
        self,
        stage: Stage,
        message: str,
        *,
        remedy: str = "",
        status: int | None = None,
        code: str = "",
        retry_after: Ns | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(stage, message, remedy=remedy)
        self.status = status
        self.code = code
        self.retry_after = retry_after
        """How long the server asks to be left alone; None where it does not say."""
        self.detail = detail


class RequestRefused(RemoteError):
    """The request cannot be served as it is, and asking again is of no use."""


class ServiceBusy(RemoteError):
    """The server has no room for the request now."""

    retryable = True


class ServiceFailed(RemoteError):
    """The server broke while it worked."""

    retryable = True


class ConnectionFailed(RemoteError):
    """The server was not reached, or was lost on the way."""

    retryable = True


class UnexpectedEvent(AssertionError):
    """The turn machine was fed what its table forbids: a bug of ours."""
