"""Every error of ours, in one tree, so that whose fault it is can be told from the type.

::

    TurngapError                  message and remedy, both for people
    ├── ConfigurationError        the developer asked for something that cannot be: a bad option, an unknown name
    ├── ModelError                a model is missing, damaged, or could not be fetched
    ├── ClientError               a client broke the protocol of its front door
    └── StageError                a stage failed while it worked on a turn
        └── StageTimeoutError     ... by not answering in time
    UnexpectedEvent               our own bug; never caught

Foreign errors are translated once, in the adapter that meets them.
"""

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


class UnexpectedEvent(AssertionError):
    """The turn machine was fed what its table forbids: a bug of ours."""
