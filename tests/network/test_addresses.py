"""Which addresses may be asked."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ConfigurationError
from agentrt.network import AddressRefused, Guard, HostUnknown, is_public

pytestmark = pytest.mark.real

PRIVATE = [
    IPv4Network(one)
    for one in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
    )
]  # fmt: skip


@st.composite
def private(draw: st.DrawFn) -> IPv4Address:
    network = draw(st.sampled_from(PRIVATE))
    return network[draw(st.integers(0, network.num_addresses - 1))]


@pytest.mark.simulated
@given(private())
def test_a_private_address_is_not_public_in_any_of_its_forms(address: IPv4Address) -> None:
    number = int(address)
    assert not is_public(address)
    for prefix in (0, 0xFFFF << 32, 0x64FF9B << 96, 0x2002 << 112 >> 0):
        held = number << 80 if prefix == 0x2002 << 112 else number
        assert not is_public(IPv6Address(prefix | held))


@pytest.mark.pure
@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_only_routed_addresses_of_ipv6_are_public(address: IPv6Address) -> None:
    assert not is_public(address) or int(address) >> 125 == 1


@given(private(), st.sampled_from(["http", "https"]), st.integers(1, 65535))
async def test_no_private_address_passes_as_any_number(address: IPv4Address, scheme: str, port: int) -> None:
    """`2130706433` and `0x7f000001` are addresses, too, and so is one of IPv6 that holds one."""
    number = int(address)
    for host in (str(address), str(number), hex(number), f"[::ffff:{address}]"):
        with pytest.raises((AddressRefused, HostUnknown)):
            await Guard().check(f"{scheme}://{host}:{port}/x")


@pytest.mark.pure
@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "::1",
        "fe80::1",
        "2001:db8::1",
    ],
)
def test_metadata_of_clouds_is_not_public(host: str) -> None:
    assert not is_public(ip_address(host))


@pytest.mark.parametrize("host", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946"])
async def test_a_public_address_is_asked(host: str) -> None:
    assert is_public(ip_address(host))
    assert await Guard().addresses(host, 443) == (host,)


async def test_a_name_is_what_it_stands_for() -> None:
    with pytest.raises(AddressRefused) as refused:
        await Guard().addresses("localhost", 80)
    assert (refused.value.host, refused.value.address in ("127.0.0.1", "::1")) == ("localhost", True)
    with pytest.raises(AddressRefused, match=r"private.*terminal"):
        await Guard().check("http://LOCALHOST:1/")


@pytest.mark.simulated
@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://", "http://[::1", "x", "http://h:99999/", "ftp://h/"])
async def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(HostUnknown):
        await Guard().check(url)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 300, "a\0b"])
async def test_a_host_that_is_not_there_is_said_to_be_unknown(host: str) -> None:
    with pytest.raises(HostUnknown):
        await Guard().addresses(host, 80)


async def test_what_is_allowed_is_a_host_or_one_port_of_it() -> None:
    guard = Guard(["LocalHost", "127.0.0.2:81", "[::1]:82", "fd00::1", " 127.0.0.9 "])
    assert all(guard.allows(*place) for place in (("localhost", 5), ("127.0.0.2", 81), ("::1", 82), ("[fd00::1]", 1)))
    assert not any(guard.allows(*place) for place in (("127.0.0.2", 80), ("::1", 81), ("127.0.0.1", 81)))
    assert "127.0.0.9" in await guard.addresses("127.0.0.9", 80)


@pytest.mark.pure
@pytest.mark.parametrize("name", ["", "a b", "http://x", "x/y", "x:y", "u@h", ":80", "[::1"])
def test_what_names_no_host_is_not_allowed(name: str) -> None:
    with pytest.raises(ConfigurationError, match="not a host"):
        Guard([name])
