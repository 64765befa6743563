"""Credentials and signatures of addresses, which must not reach messages, logs, run.json or pages."""

import re

_USER = re.compile(r"(\w+://)[^/\s@'\"]+@")
_QUERY = re.compile(r"(\w+://[^\s?'\"<>]+|/vsi\w+)\?[^\s'\"<>]*")


def without_secrets(text: str) -> str:
    """The text with users, passwords and query strings of addresses left out.

    >>> without_secrets("https://me:word@host/a.tif?X-Amz-Signature=5f cannot be read")
    'https://...@host/a.tif?... cannot be read'
    >>> without_secrets("is it there? see truth/{tile}.tif")
    'is it there? see truth/{tile}.tif'
    """
    return _QUERY.sub(r"\1?...", _USER.sub(r"\1...@", text))
