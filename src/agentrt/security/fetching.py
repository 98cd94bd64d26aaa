"""Where `curl` and `wget` save what they download. Pure."""

from __future__ import annotations

import re

from .calls import Call, names, options

CURL_VALUED = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
CURL_LONG = tuple(
    names(
        "output output-dir data data-ascii data-binary data-raw data-urlencode form form-string header user "
        "request url upload-file config cookie cookie-jar user-agent referer proxy resolve connect-to max-time "
        "connect-timeout retry retry-delay write-out cacert cert key json netrc-file range dump-header interface "
        "unix-socket variable expand-data limit-rate max-redirs url-query stderr trace trace-ascii continue-at "
        "time-cond oauth2-bearer"
    )
)


WGET_VALUED = "oaeiBtOTwQPUlARDIX"
WGET_LONG = tuple(
    names(
        "post-data post-file body-file body-data output-document header method directory-prefix user-agent input-file"
        " use-askpass execute output-file tries timeout"
    )
)


def fetch_target(call: Call) -> str | None:
    """Return the file to which a call saves its download; None if it prints it, or is neither `curl` nor `wget`."""
    if call.name == "curl":
        read = options(call.words, CURL_VALUED, CURL_LONG)
        named = read.all("o", "output")
        directory = (*read.all("output-dir"), "")[0]
        if not named and not read.has("O", "remote-name", "remote-name-all"):
            return None
    elif call.name == "wget":
        read = options(call.words, WGET_VALUED, WGET_LONG)
        named = read.all("O", "output-document")
        directory = (*read.all("P", "directory-prefix"), "")[0]
        if named[-1:] == ("-",):
            return None
    else:
        return None
    if named:
        return (
            None
            if named[-1] == "-"
            else f"{directory}/{named[-1]}".lstrip("/" if not directory else "")
            if directory
            else named[-1]
        )
    urls = [word for word in read.operands if word]
    name = re.split(r"[?#]", urls[-1])[0].rstrip("/").rpartition("/")[2] if urls else "index.html"
    return f"{directory}/{name}" if directory else name
