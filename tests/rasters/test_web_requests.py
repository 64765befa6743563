"""What servers answer to requests of our own, and which answers are left to GDAL."""

import pytest

from geouq.rasters.web_requests import Answer, answer_for, is_there, page_at

PART = {"content-range": "bytes 0-3/9"}


def answer(code=206, error="", content=b"abcd", **headers):
    return Answer(code, error, PART | headers, content)


def test_the_first_bytes_of_a_file_come_with_its_size():
    assert answer().is_part
    assert answer().size == 9


@pytest.mark.parametrize(
    "other",
    [
        answer(200),
        answer(content=b"abc"),
        answer(location="http://other/"),
        answer(**{"content-encoding": "gzip"}),
        answer(**{"content-range": "bytes 1-4/9"}),
        answer(**{"content-range": "bytes 0-3/*"}),
        Answer(206, "", {}, b"abcd"),
    ],
)
def test_anything_else_is_no_part(other):
    assert not other.is_part


@pytest.mark.parametrize(
    ("code", "error", "fails"),
    [
        (429, "", True),
        (503, "", True),
        (0, "Operation timed out after 1000 milliseconds", True),
        (0, "Recv failure: Connection reset by peer", True),
        (0, "SSL certificate problem", False),
        (501, "", False),
        (403, "", False),
        (404, "", False),
    ],
)
def test_a_failure_is_what_gdal_would_ask_for_again(code, error, fails):
    assert answer(code, error).is_failure is fails


@pytest.mark.parametrize("name", ["/data/a.tif", "/vsis3/bucket/a.tif", "/vsicurl?url=http://x/a.tif"])
def test_what_only_gdal_can_ask_for_is_not_asked_for(name):
    assert answer_for(name) is None
    assert is_there(name) is None
    assert page_at(name) == ""
