"""The error of this tool: a sentence that names the thing and the remedy."""
import errno
import shutil

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Problem(Exception):
    """An error that the user can remedy, printed without a traceback."""


def size_text(size):
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"


def refuse_full_disk(folder, needed, what):
    """Raises Problem if `needed` bytes do not fit on the folder's disk."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise Problem(f"{what} needs {size_text(needed)} on the disk of {folder}, where {size_text(free)} are free. Free some, "
                      "or set REPRISE_DATA to a folder on another disk.")


def write_problem(error, folder, what, missing):
    """The Problem of an OSError in a data folder; `missing` bytes of `what` were still to be written, None if unknown."""
    if error.errno not in FULL:
        file = f" ({error.filename})" if error.filename else ""
        return Problem(f"cannot bring {what} to {folder}: {error.strerror}{file}. May you read and write there? "
                       "REPRISE_DATA names another folder.")
    more = "" if missing is None else f"; {size_text(missing)} more are needed"
    is_quota = error.errno == errno.EDQUOT  # the disk's free bytes would say nothing about it
    room = "your quota there is used up" if is_quota else f"{size_text(shutil.disk_usage(folder).free)} are free"
    return Problem(f"no space left for {what} in {folder}: {room}{more}. Free some space and run the same command again, which "
                   "goes on where it stopped.")
