"""Where paths lead, and what stands there."""

from __future__ import annotations

import pytest

from agentrt.security.network_rules import host
from agentrt.security.paths import Zone, persists, place, protects, secret, site
from agentrt.security.shell_text import ANY, FACT

pytestmark = pytest.mark.pure

WHERE = site("/home/me/project", "/home/me/project")


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("x", Zone.INSIDE),
        (".", Zone.INSIDE),
        ("..", Zone.OUTSIDE),
        ("../project/x", Zone.INSIDE),
        ("../project2", Zone.OUTSIDE),
        ("/home/me/project/../x", Zone.OUTSIDE),
        ("//home//me/project/x", Zone.INSIDE),
        ("~/project/x", Zone.INSIDE),
        ("~/x", Zone.OUTSIDE),
        ("~you/x", Zone.OUTSIDE),
        ("/tmp/x", Zone.SCRATCH),
        ("/tmp/../etc/x", Zone.SYSTEM),
        ("/etc/x", Zone.SYSTEM),
        ("/", Zone.SYSTEM),
        ("/dev/null", Zone.STREAM),
        ("/dev/sda", Zone.DEVICE),
        ("/dev/tcp/a/1", Zone.SOCKET),
        (f"{ANY}/x", Zone.UNKNOWN),
        (f"/tmp/{ANY}", Zone.UNKNOWN),
        (f"/tmp/{FACT}", Zone.SCRATCH),
    ],
)
def test_zones(text: str, zone: Zone) -> None:
    assert place(text, WHERE.workspace, WHERE).zone is zone


def test_a_home_that_is_not_known_is_no_directory_of_the_workspace() -> None:
    elsewhere = site("/srv/app", "/srv/app")
    assert place("~/x", "/srv/app", elsewhere).zone is Zone.OUTSIDE
    assert site("/root/app", "/root/app").home == "/root"


@pytest.mark.parametrize("path", ["/", "/home", "/home/me", "/home/me/project", "/etc", "/home/you", "/root"])
def test_what_must_never_be_deleted(path: str) -> None:
    assert protects(path, WHERE)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/.ssh/id_rsa", "credentials"),
        ("/home/me/.ssh/id_rsa.pub", ""),
        ("/home/me/.s*/id_rsa", "credentials"),
        ("/home/me/*", ""),
        ("/home/me/project/*.py", ""),
        ("/home/me/project/.env", "settings"),
        ("/home/me/project/.env.example", ""),
        ("/home/me/project/server.key", "settings"),
        ("/home/me/server.key", "credentials"),
        ("/proc/12/environ", "credentials"),
        ("/etc/passwd", ""),
    ],
)
def test_secrets(path: str, kind: str) -> None:
    assert secret(path, path, WHERE) == kind


@pytest.mark.parametrize(
    ("path", "by_itself"),
    [
        ("/home/me/.bashrc", True),
        ("/etc/cron.d/x", True),
        (".git/hooks/x", True),
        (".git/index", False),
        (".bashrc", False),
    ],
)
def test_what_runs_by_itself(path: str, by_itself: bool) -> None:
    assert persists(place(path, WHERE.workspace, WHERE), WHERE) is by_itself


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("http://2852039166/x", "169.254.169.254"),
        ("http://0xa9.0xfe.0xa9.0xfe", "169.254.169.254"),
        ("http://0251.0376.0251.0376", "169.254.169.254"),
        ("http://[::ffff:169.254.169.254]/", "169.254.169.254"),
        ("http://localhost@evil.example:80/x", "evil.example"),
        ("me@host:path", "host"),
        ("HTTP://Example.ORG./", "example.org"),
    ],
)
def test_hosts(text: str, name: str) -> None:
    assert host(text) == name
