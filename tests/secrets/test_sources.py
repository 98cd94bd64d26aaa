"""Where a secret's value comes from: which names may have one."""

from __future__ import annotations

import pytest

from agentrt.errors import ConfigurationError
from agentrt.secrets.sources import source_of

pytestmark = pytest.mark.pure

STEERING = [
    "GIT_SSH_COMMAND",
    "PYTHONPATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "BASH_ENV",
    "RUBYOPT",
    "PERL5OPT",
    "http_proxy",
    "EDITOR",
    "DOCKER_HOST",
]


@pytest.mark.parametrize("name", STEERING)
def test_a_variable_that_programs_go_by_is_no_name_of_a_secret(name: str) -> None:
    with pytest.raises(ConfigurationError, match="invalid name of a secret"):
        source_of(name, "a value")


@pytest.mark.parametrize("name", ["GIT_TOKEN", "PYTHON_API_KEY", "NODE_AUTH_TOKEN", "DATABASE_URL", "PIP_INDEX_URL"])
def test_a_variable_that_holds_something_is_one(name: str) -> None:
    source_of(name, "a value")
