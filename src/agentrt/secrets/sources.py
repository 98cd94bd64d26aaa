"""The sources of a secret's value, as a program gives them. None shows its value in `repr`, and none can be encoded."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from ..errors import ConfigurationError
from ..specs.given import converted
from ..specs.secrets import EnvironmentSecret

SecretFunction: TypeAlias = Callable[[], str | Awaitable[str]]

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = re.compile(
    r"(?i:_*agentrt_).*|_|(?:BASH|COMP_|LD_).*|ENV|E?UID|GROUPS|HOME|IFS|OLDPWD|PATH|PPID|PROMPT_COMMAND|PS[0-4]|PWD"
    r"|SHELL|SHELLOPTS|TERM"
)
"""Variables that the shell itself or the runtime uses."""

_STEERS = re.compile(
    r"(?i:DYLD_.*|GIT_(?:SSH|SSH_COMMAND|ASKPASS|CONFIG.*|DIR|EDITOR|EXEC_PATH|EXTERNAL_DIFF|INDEX_FILE|OBJECT_DIRECTORY"
    r"|ALTERNATE_OBJECT_DIRECTORIES|PAGER|PROXY_COMMAND|SEQUENCE_EDITOR|TEMPLATE_DIR|WORK_TREE)"
    r"|PYTHON(?:PATH|HOME|STARTUP|INSPECT|BREAKPOINT|EXECUTABLE|USERBASE|WARNINGS|PYCACHEPREFIX|OPTIMIZE|PLATLIBDIR)"
    r"|NODE_(?:OPTIONS|PATH|EXTRA_CA_CERTS|REPL_EXTERNAL_MODULE)|RUBY(?:OPT|LIB)|PERL5?(?:LIB|OPT|5LIB|5OPT|5DB)"
    r"|_?JAVA_(?:TOOL_)?OPT(?:ION)?S|JDK_JAVA_OPTIONS|CLASSPATH|(?:GNU)?MAKE(?:FLAGS|FILES)|RUSTFLAGS|GOFLAGS"
    r"|RUSTC|(?:CARGO_BUILD_)?RUSTC(?:_WORKSPACE)?_WRAPPER|LUA_INIT.*|PHPRC|PHP_INI_SCAN_DIR|MAVEN_OPTS|GRADLE_OPTS|CC|CXX|LESSOPEN|LESSCLOSE|EDITOR|VISUAL|(?:MAN)?PAGER|BROWSER"
    r"|(?:SSH|SUDO)_ASKPASS(?:_REQUIRE)?|SSH_AUTH_SOCK|(?:HTTPS?|FTP|ALL|NO)_PROXY|RSYNC_RSH|CVS_RSH|SVN_SSH|HGRCPATH"
    r"|CDPATH|GLOBIGNORE|HIST(?:FILE|FILESIZE|SIZE|CONTROL|IGNORE|TIMEFORMAT)|INPUTRC|ZDOTDIR|XDG_(?:CONFIG|DATA|CACHE|STATE|RUNTIME)_.*|TMPDIR|CURL_HOME|WGETRC|TAR_OPTIONS|GREP_OPTIONS|DOCKER_HOST"
    r"|KUBECONFIG|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|OPENSSL_CONF|DOTNET_STARTUP_HOOKS|PYTEST_(?:ADDOPTS|PLUGINS)|VIMINIT|EXINIT|CURL_CA_BUNDLE|NODE_TLS_REJECT_UNAUTHORIZED"
    r"|NPM_CONFIG_(?:SCRIPT_SHELL|NODE_OPTIONS|PREFIX|USERCONFIG|GLOBALCONFIG)|PIP_CONFIG_FILE|GIT_(?:SSL_NO_VERIFY|COMMON_DIR)|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE)"
)
"""Variables that control programs: setting one may run another program, or send requests to another host."""

SHORTEST = 4
"""Minimum number of characters of a secret."""


class StaticSecret:
    """A known value. A plain `str` is accepted in its place."""

    def __init__(self, value: str, description: str = "") -> None:
        self.value, self.description = value, description

    def get_secret_value(self) -> str:
        """Return the value; the name is that of pydantic's `SecretStr`."""
        return self.value

    def __repr__(self) -> str:
        return f"StaticSecret(<hidden>, description={self.description!r})"


class LookupSecret:
    """The body of the answer to a GET of a URL, without line breaks around it.

    The values of `headers` are secrets, too. The URL is not: it is in the log. Raises `ConfigurationError` for a URL
    that is not http or https or that contains a user or a password, and for an invalid header.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, description: str = "") -> None:
        self.url, self.description = url, description
        self.headers = converted({} if headers is None else headers, dict[str, str], "LookupSecret", "headers")
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("a secret is looked up at a whole URL, of http or https")
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(
                f"the URL at {parts.hostname} has a user or a password in it: send them in a header"
            )
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or any(character in value for character in "\r\n\0"):
                raise ConfigurationError(f"{name!r} is not a header of one line: it cannot be sent to {parts.hostname}")

    def __repr__(self) -> str:
        hidden = dict.fromkeys(self.headers, "<hidden>")
        return f"LookupSecret({self.url!r}, headers={hidden}, description={self.description!r})"


class CallableSecret:
    """The result of a function, or of the awaitable that it returns. A plain function is accepted in its place.

    A function that is not async is called in a thread.
    """

    def __init__(self, function: SecretFunction, description: str = "") -> None:
        self.function, self.description = function, description

    def __repr__(self) -> str:
        return f"CallableSecret({getattr(self.function, '__name__', '...')}, description={self.description!r})"


SecretSource: TypeAlias = StaticSecret | EnvironmentSecret | LookupSecret | CallableSecret
AnySecret: TypeAlias = str | SecretSource | SecretFunction


def source_of(name: str, secret: AnySecret) -> SecretSource:
    """Return a secret that was given under a name as a source. Raises `ConfigurationError` if either is invalid."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"invalid name of a secret {name!r}: use letters, digits and '_', as for a variable")
    if _TAKEN.fullmatch(name):
        raise ConfigurationError(f"invalid name of a secret {name!r}: the shell uses that variable, choose another")
    if _STEERS.fullmatch(name):
        raise ConfigurationError(f"invalid name of a secret {name!r}: programs use that variable, choose another")
    if isinstance(secret, str):
        return StaticSecret(secret)
    if isinstance(secret, StaticSecret | EnvironmentSecret | LookupSecret | CallableSecret):
        return secret
    if callable(secret):
        return CallableSecret(secret)
    raise ConfigurationError(
        f"secret {name!r} is a {type(secret).__name__}: give a str, a function, EnvironmentSecret or LookupSecret"
    )


def usable(name: str, value: object) -> str:
    """Return the value of a secret. Raises `ConfigurationError` if no variable can hold it, or no mask can hide it."""
    if not isinstance(value, str):
        raise ConfigurationError(f"the value of secret {name!r} is a {type(value).__name__}, and must be a str")
    if len(value.strip()) < SHORTEST:
        raise ConfigurationError(
            f"secret {name!r} has less than {SHORTEST} characters: they would be found in any text"
        )
    if "\0" in value:
        raise ConfigurationError(f"secret {name!r} has a NUL in it, which no variable can hold")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"secret {name!r} is not text that UTF-8 can write") from None
    return value
