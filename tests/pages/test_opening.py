"""Showing a page: in the browser, or by the line that forwards a port."""

import shlex
import webbrowser

import pytest

from geouq.pages.opening import forwarding, open_page

REMOTE = {"SSH_CONNECTION": "10.0.0.7 50000 10.0.0.9 2222"}


@pytest.fixture
def asked(monkeypatch):
    urls = []
    monkeypatch.setattr(webbrowser, "open", lambda url: urls.append(url) or True)
    return urls


@pytest.mark.parametrize("environment", [{}, REMOTE | {"DISPLAY": "localhost:10.0"}])
def test_the_first_page_is_opened_in_the_browser(asked, tmp_path, environment):
    assert open_page(tmp_path, environment) == ""
    assert asked == [(tmp_path / "report/index.html").as_uri()]


def test_without_a_browser_the_page_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(webbrowser, "open", lambda _: False)

    assert str(tmp_path / "report/index.html") in open_page(tmp_path, {})


def test_over_ssh_no_browser_is_opened_and_the_line_to_forward_a_port_is_told(asked, tmp_path):
    told = open_page(tmp_path, REMOTE)

    assert not asked
    assert "-p 2222 " in told
    assert f"--directory {tmp_path}" in told


def test_a_folder_with_a_space_survives_both_shells(tmp_path):
    line = forwarding(tmp_path / "my run", REMOTE["SSH_CONNECTION"], "ada").splitlines()[1]

    assert shlex.split(shlex.split(line)[-1])[-1] == str(tmp_path / "my run")
