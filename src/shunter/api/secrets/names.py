"""Which variables, options and fields hold a secret, by their names: what `run --env` refuses and what is masked wherever more
people look than may read the job. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from shunter.api.late_patterns import late_pattern

_TERMS = (
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "(?:DB|DATABASE|SQL|PG|POSTGRES|MONGO|REDIS|SMTP|MAIL|FTP|PROXY|AUTH|USER|ADMIN|ROOT|REGISTRY|DOCKER|GIT)_?PASS(?![A-Z])",
    "SECRET",
    "CREDENTIAL",
    "TOKEN",
    "(?:API|ACCESS|PRIVATE|ACCOUNT|STORAGE|ENCRYPTION|KAGGLE)_?KEY",
    "CONNECTION_?STRING",
    "PWD",
)
"""Words of a name: HF_TOKEN, AWS_SECRET_ACCESS_KEY, PGPASSWORD, SSH_PRIVATE_KEY_B64, apiKey."""
_TERM = late_pattern("|".join(f"(?<=_){term}(?![A-Z])" if term == "PWD" else term for term in _TERMS))
_MENTION = late_pattern("|".join(term.replace("_?", "[_.-]?") for term in _TERMS), re.IGNORECASE)
_OF_TEXTS = late_pattern(
    r"TOKENI[SZ][A-Z]*|(?<!API_)(?<!AUTH_)(?<!ACCESS_)(?<!REFRESH_)(?<!BEARER_)TOKENS(?![A-Z])"
    r"|(?:^|_)(?:PAD|BOS|EOS|UNK|MASK|SEP|CLS|STOP|MAX|SPECIAL|START|END|IMAGE)_TOKEN(?![A-Z])"
)
"""Tokens of a text, and what makes them."""
_ABOUT = late_pattern(
    r"(?:.*_)?(?:(?:KEY|TOKEN|TOKEN_TYPE)_IDS?|NAME|NAMESPACE|FILE|FILENAME|PATH|DIR|REF|TYPE|CLASS|ERROR|EXCEPTION|COUNT|LENGTH|LEN"
    r"|SIZE|LIMIT|UR[IL]|ENDPOINT|TTL|SECONDS|EXPIRATION|APPLICATION_CREDENTIALS)"
)
"""Names of what is said about a secret, or of where it is: HF_TOKEN_PATH, AWS_ACCESS_KEY_ID. GOOGLE_APPLICATION_CREDENTIALS is a
path."""
_HUMP = late_pattern("(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = late_pattern("[^A-Za-z0-9]+")
_REFERENCE = late_pattern(r"\$(?:\w+|\{\w+\}|\(\w+\))")
_PLAIN = late_pattern(r"true|false|yes|no|null|none|[+-]?\d*\.\d+(?:e[+-]?\d+)?", re.IGNORECASE)


@lru_cache(maxsize=4096)
def holds_secret(name: str) -> bool:
    """Whether what has this name (`HF_TOKEN`, `--api-key`, `clientSecret`) is a password, a token or a key."""
    words = _BETWEEN.sub("_", _HUMP.sub("_", name)).strip("_").upper()
    return _ABOUT.fullmatch(words) is None and _TERM.search(_OF_TEXTS.sub("", words)) is not None


def is_credential(name: str, value: str) -> bool:
    """Whether a variable of this name has a secret as its value: False if the value is empty, a reference such as `$HF_TOKEN`, a
    truth value or a fraction."""
    return is_concealed(value) and holds_secret(name)


def is_concealed(value: str) -> bool:
    """Whether a value is masked where its name holds a secret: not if empty, a reference as `$(HF_TOKEN)`, a truth value or a
    fraction."""
    return bool(value) and _REFERENCE.fullmatch(value) is None and _PLAIN.fullmatch(value) is None


def names_secret(text: str) -> bool:
    """Whether a text may contain a name for which `holds_secret`: False only if it contains none."""
    return _MENTION.search(text) is not None
