"""The guard of conftest.py: nothing outside this machine can be reached, loopback can."""

import asyncio
import socket
import urllib.request

import pytest

OUTSIDE = "192.0.2.1"  # reserved for documentation: nobody has it


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_a_connection_to_another_machine_is_refused(no_network, method):
    with socket.socket() as sock, pytest.raises(no_network, match=OUTSIDE):
        getattr(sock, method)((OUTSIDE, 80))


def test_a_name_is_not_looked_up(no_network):
    with pytest.raises(no_network, match="example"):
        socket.getaddrinfo("example.org", 80)


def test_clients_do_not_swallow_the_refusal(no_network):
    with pytest.raises(no_network):
        urllib.request.urlopen(f"http://{OUTSIDE}/", timeout=1)


@pytest.mark.asyncio
async def test_asyncio_is_guarded_too(no_network):
    with pytest.raises(no_network):
        await asyncio.open_connection("example.org", 80)
    with pytest.raises(no_network):
        await asyncio.open_connection(OUTSIDE, 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_works(host):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection((host, server.getsockname()[1]), timeout=5) as client:
        accepted, _ = server.accept()
        with accepted:
            accepted.sendall(b"hello")
            assert client.recv(5) == b"hello"
