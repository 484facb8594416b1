from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.addresses import (
    Reach,
    explain_forbidden,
    explain_forbidden_name,
    measure_reach,
)

#: Where the clouds answer, behind each way of hiding an IPv4 address in an IPv6 one.
HIDDEN_METADATA = (
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::169.254.169.254",
    "2002:a9fe:a9fe::1",
)


class TestForbidden:
    @pytest.mark.parametrize(
        ("ip", "reason"),
        [
            ("169.254.169.254", "link-local"),
            ("169.254.0.1", "link-local"),
            ("fe80::1", "link-local"),
            ("febf::1", "link-local"),
            ("0.0.0.0", "no address"),  # noqa: S104 - that nobody connects to it is the test
            ("0.1.2.3", "no address"),
            ("::", "no address"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("ff02::1", "multicast"),
            ("255.255.255.255", "broadcast"),
            ("240.0.0.1", "reserved"),
            ("192.0.0.8", "reserved"),
            ("::127.0.0.1", "reserved"),
            ("4000::1", "reserved"),
            ("100.100.100.200", "credentials"),
            ("168.63.129.16", "credentials"),
            ("fd00:ec2::254", "credentials"),
            ("fd20:ce::254", "credentials"),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
            ("64:ff9b:1::1", "cannot be checked"),
        ],
    )
    def test_kinds(self, ip: str, reason: str) -> None:
        """What is never a store is not connected to, and the text says what it is."""
        assert reason in explain_forbidden(ip)

    @pytest.mark.parametrize("ip", HIDDEN_METADATA)
    def test_hidden(self, ip: str) -> None:
        """An IPv4 address in an IPv6 one is judged as what it is."""
        assert explain_forbidden(ip)

    @pytest.mark.parametrize("ip", ["64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::"])
    def test_translated(self, ip: str) -> None:
        """A gateway is never asked to go to its own machine or its own house."""
        assert "gateway" in explain_forbidden(ip)

    @pytest.mark.parametrize(
        "text", ["", "localhost", "127.1", "2130706433", "0x7f.1", "1.2.3.4.5", "fe80::1%eth0"]
    )
    def test_no_address(self, text: str) -> None:
        """What has not been resolved is no address, however a resolver would read it."""
        assert "no IP address" == explain_forbidden(text)

    @pytest.mark.parametrize(
        "ip",
        [
            "127.0.0.1",
            "127.8.9.10",
            "::1",
            "::ffff:127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.178.20",
            "100.64.0.1",
            "fd12:3456::1",
            "93.184.216.34",
            "64:ff9b::93.184.216.34",
            "2606:2800:220:1::1",
        ],
    )
    def test_usual(self, ip: str) -> None:
        """Stores are on this machine, in this house, and in the world."""
        assert "" == explain_forbidden(ip)

    @given(st.ip_addresses(v=4))
    def test_mapped(self, ip: IPv4Address) -> None:
        """No IPv4 address is judged milder for being written as an IPv6 one."""
        mapped = str(IPv6Address((0xFFFF << 32) | int(ip)))

        assert (explain_forbidden(str(ip)), measure_reach(str(ip))) == (
            explain_forbidden(mapped),
            measure_reach(mapped),
        )
        if explain_forbidden(str(ip)):
            assert explain_forbidden(str(IPv6Address((0x64FF9B << 96) | int(ip))))


class TestNames:
    @pytest.mark.parametrize(
        "name",
        ["metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"],
    )
    def test_metadata(self, name: str) -> None:
        """Names under which clouds hand out credentials are not even looked up."""
        assert "credentials" in explain_forbidden_name(name)

    @pytest.mark.parametrize("name", ["metadata.example.com", "localhost", "nas.fritz.box"])
    def test_others(self, name: str) -> None:
        """Every other name may be looked up; what it stands for is judged then."""
        assert "" == explain_forbidden_name(name)


class TestReach:
    @pytest.mark.parametrize(
        ("ip", "far"),
        [
            ("127.0.0.1", Reach.LOOPBACK),
            ("::1", Reach.LOOPBACK),
            ("::ffff:127.0.0.1", Reach.LOOPBACK),
            ("192.168.0.1", Reach.PRIVATE),
            ("100.64.0.1", Reach.PRIVATE),
            ("fd00::1", Reach.PRIVATE),
            ("8.8.8.8", Reach.PUBLIC),
            ("2606:4700::1", Reach.PUBLIC),
            ("64:ff9b::8.8.8.8", Reach.PUBLIC),
            ("a name", Reach.PUBLIC),
        ],
    )
    def test_far(self, ip: str, far: Reach) -> None:
        """Nearest is this machine, then this house, then the world."""
        assert far is measure_reach(ip)
