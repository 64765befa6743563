"""Credentials and signed addresses reach no message and no file of a run."""

import pytest

from geouq.errors import DataError

SECRETS = ("hunter2", "5f7a0c")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("https://me:hunter2@host/a.tif cannot be read", "https://...@host/a.tif cannot be read"),
        ("/vsicurl/https://host/a.tif?sig=5f7a0c&x=1: 403", "/vsicurl/https://host/a.tif?... 403"),
        ("/vsicurl?header.Authorization=hunter2&url=https%3A%2F%2Fhost", "/vsicurl?..."),
        ("'s3://bucket/{tile}.tif?versionId=5f7a0c' is odd", "'s3://bucket/{tile}.tif?...' is odd"),
        ("what is wrong? nothing in truth/{tile}.tif", "what is wrong? nothing in truth/{tile}.tif"),
    ],
)
def test_an_error_tells_an_address_without_its_secrets(text, told):
    assert str(DataError(text)) == told


def test_no_file_and_no_word_of_a_run_holds_a_secret(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"), text="tiles: [a1, b1]\n")
    address = "/vsicurl/http://me:hunter2@127.0.0.1:9/{tile}.tif?sig=5f7a0c"
    config.write_text(config.read_text().replace("truth/{tile}.tif", address))

    result = geouq("run", "experiment.yaml")

    assert result.exit_code == 3
    assert "127.0.0.1:9" in result.output
    written = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert any(path.name == "run.json" for path in written)
    for secret in SECRETS:
        assert secret not in result.output
        assert not [path.name for path in written if secret.encode() in path.read_bytes()]
