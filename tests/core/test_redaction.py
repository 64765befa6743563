"""Credentials and signed addresses reach no message and no file of a run."""

import base64
import html
import json
import os
import sys
from urllib.parse import quote

import pytest
import rasterio
import yaml
from faulty.servers import serving
from forked import run_forked
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from landscape import write_tiles

from geouq.cli import main
from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError, DataError
from geouq.core.redaction import environment_read_once, holds_secret, redacted, remember_secrets, without_secrets

MARKER, UNSEEN = "Zq7Marked4Xw", "Nq3Unseen8Vb"
FORMS = {
    "user and password": "/vsicurl/https://bob:{}@host/{{tile}}.tif",
    "a user alone": "/vsicurl/https://{}@host/{{tile}}.tif",
    "user with an encoded slash": "/vsicurl/https://DOMAIN%2Fbob:{}@host/{{tile}}.tif",
    "password beside a port": "https://bob:{}@host:8443/{{tile}}.tif",
    "keys before a bucket": "/vsis3/KEY:{}@bucket/{{tile}}.tif",
    "key before a bucket": "/vsis3/{}:WORD@bucket/{{tile}}.tif",
    "address with one slash": "https:/bob:{}@host/{{tile}}.tif",
    "address behind a folder": "/data/https:/bob:{}@host:8443/{{tile}}.tif",
    "virtual file with one slash": "/vsicurl/https:/bob:{}@host/{{tile}}.tif",
    "query behind one slash": "http:/host/{{tile}}.tif?sig={}",
    "address of Windows": "https:\\bob:{}@host\\{{tile}}.tif",
    "query": "/vsicurl/https://host/{{tile}}.tif?sig={}",
    "query of one word": "/vsicurl/https://host/{{tile}}.tif?{}",
    "second of a query": "/vsicurl/https://host/{{tile}}.tif?a=1&token={}",
    "fragment": "/vsicurl/https://host/{{tile}}.tif#token={}",
    "matrix parameter": "/vsicurl/https://host/{{tile}}.tif;sig={}",
    "encoded query": "/vsicurl/https://host/{{tile}}.tif%3Fsig={}",
    "query encoded twice": "/vsicurl/https://host/{{tile}}.tif%253Fsig%253D{}",
    "header": "/vsicurl?header.Authorization=Bearer {}&url=https%3A%2F%2Fhost%2F{{tile}}.tif",
    "header file": "/vsicurl?header_file=/home/{}&url=https%3A%2F%2Fhost%2F{{tile}}.tif",
    "cookie": "/vsicurl?cookie={}&url=https%3A%2F%2Fhost%2F{{tile}}.tif",
    "nested address": "/vsicurl?max_retry=3&url=https%3A%2F%2Fbob%3A{}%40host%2F{{tile}}.tif",
    "in an archive": "/vsizip//vsicurl/https://bob:{}@host/a.zip/{{tile}}.tif",
    "in a marked archive": "/vsizip/{{/vsicurl/https://host/a.zip?sig={}}}/{{tile}}.tif",
    "AWS query": "/vsicurl/https://b.s3.amazonaws.com/{{tile}}.tif?X-Amz-Date=2024&X-Amz-Signature={}",
    "SAS": "/vsicurl/https://a.blob.core.windows.net/c/{{tile}}.tif?sv=2022-11-02&se=2030-01-01&sig={}",
    "GCS query": "https://storage.googleapis.com/b/{{tile}}.tif?X-Goog-Credential=c&X-Goog-Signature={}",
    "subset": 'ZARR:"/vsicurl/https://host/{{tile}}.zarr?sig={}":/mean',
    "vrt": "vrt:///vsicurl/https://bob:{}@host/{{tile}}.tif?bands=1",
    "address in vrt": "vrt://https://bob:{}@host/{{tile}}.tif?bands=1",
    "encrypted file": "/vsicrypt/key_b64={},file={{tile}}.tif",
    "ODBC": "ODBC:u/{}@source,{{tile}}",
    "PostgreSQL": "PG:host=h user=u password='{}' table={{tile}}",
    "PostgreSQL address": "postgresql://u:{}@h/{{tile}}",
    "MySQL": "MySQL:db,user=u,password={},tables={{tile}}",
    "XML": "<GDAL_WMS><UserPwd>u:{}</UserPwd><X>{{tile}}</X></GDAL_WMS>",
}
SPECIAL = "@:/?#&=;%'\" +,~!$^()[]|\\"
HTTP = sorted(name for name, form in FORMS.items() if "/bob:{}@" in form and "vrt" not in form)


@pytest.fixture(autouse=True)
def _nothing_in_mind(monkeypatch):
    """Forget the secrets that other tests have shown."""
    monkeypatch.setattr("geouq.core.redaction._known", set())


def of(form, secret=MARKER):
    return FORMS[form].format(secret)


def assert_unsaid(text, secret=MARKER):
    """Neither the marked secret nor an encoding of it is in a text or in the bytes of a file."""
    found = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    aligned = [base64.b64encode(b"x" * n + secret.encode())[4:-4] for n in range(3)]
    for written in (secret.encode(), quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode(), *aligned):
        assert written not in found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("https://me:hunter2@host/a.tif cannot be read", "https://***@host/a.tif cannot be read"),
        ("https://hunter%2F2@host/a.tif cannot be read", "https://***@host/a.tif cannot be read"),
        ("/vsicurl/https://host/a.tif?sig=5f7a0c&x=1: 403", "/vsicurl/https://host/a.tif?*** 403"),
        ("/vsicurl?header.Authorization=hunter2&url=https%3A%2F%2Fhost", "/vsicurl?***"),
        ("'s3://bucket/{tile}.tif?versionId=5f7a0c' is odd", "'s3://bucket/{tile}.tif?***' is odd"),
        ("what is wrong? nothing in truth/{tile}.tif", "what is wrong? nothing in truth/{tile}.tif"),
    ],
)
def test_an_error_tells_an_address_without_its_secrets(text, told):
    assert str(DataError(text)) == told


@pytest.mark.parametrize(
    "text",
    [
        "/vsis3/bucket/a@2x.tif",
        "https://host/a@2x.tif",
        "/vsicurl/https://host/a%402x.tif",
        "/vsis3%2Fbucket%2Fa%402x.tif",
        "https://host:8080/{tile}.tif",
        "https://[::1]:8080/a.tif",
        "https://[::1]:8080/a@2x.tif",
        "https://127.0.0.1:8080/a@2x.tif",
        "/data/https:/host/a@2x.tif",
        "http: error 404 at 12:30",
        "C:\\data\\a@2x.tif",
        "NETCDF:/data/a@2x.nc:v",
        'NETCDF:"f.nc":v',
        "x=1;y=2",
        "x.yaml:3: password: unknown key; known are a, b",
        "regions: unknown key 'token'; did you mean 'tokens'?",
        "file:///C:/data/{tile}.tif",
        "/vsizip/C:/data/x.zip/{tile}.tif",
        "/data/a#1;b/{tile}?.tif",
        "GTI:/vsicurl/https://host/{tile}.gti.gpkg",
        "vrt://{tile}.vrt",
        "x.yaml:12: unknown key 'colour'; did you mean 'key'?",
        "tokens: 5 of 6 tiles passed; the signature of a function",
        "POP > 1000 AND NAME = 'Passau'",
    ],
)
def test_what_holds_no_secret_stays_as_it_is(text):
    assert without_secrets(text) == without_secrets(text, whole=True) == text
    assert not holds_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "password: {}",
        "a: 1\n  api_key: {}\nb: 2",
        "{{user: bob, token: {}}}",
        "gdalinfo --config AWS_SECRET_ACCESS_KEY {} a.tif",
        "gdalinfo --password {}",
        "PRIVATE-TOKEN: {}",
        "georaster:u,{},db,T,C,1",
        "OCI:u/p@{}@db:t",
        r"https:\/\/bob:{}@host\/a.tif",
        "https%3A%2Fbob%3A{}%40host%2Fa.tif",
    ],
)
def test_options_headers_and_lines_of_yaml_are_shown_without_secrets(text):
    assert_unsaid(without_secrets(text.format(UNSEEN)), UNSEEN)


@pytest.mark.parametrize(
    ("address", "secret"),
    [
        ("/vsicurl?max_retry=3&url=https%3A%2F%2Fbob%3APass%25word1%40host%2Fa.tif", "Pass%word1"),
        ("/vsicurl?header.Authorization=Bearer%20Token4word&url=https%3A%2F%2Fhost", "Token4word"),
        ("/vsicurl?userpwd=bob:Pass4word&url=https://host/a.tif", "Pass4word"),
        ("/vsicached?file=/vsicurl/https%3A%2F%2Fbob%3APass4word%40host%2Fa.tif", "Pass4word"),
        ("vrt://a.tif?oo=PASSWORD=Pass4word", "Pass4word"),
        ("https://host/a.tif?sig=a#b=", "sig=a#b="),
        (r"https://bob:pa\\ss4word@host/a.tif", r"pa\\ss4word"),
    ],
)
def test_the_secret_of_an_encoded_address_is_recognised_alone(address, secret):
    remember_secrets(address)

    assert without_secrets(f"server said: {secret} is wrong") == "server said: *** is wrong"


@pytest.mark.parametrize(
    "text", ["see //host/a.tif", "Bearer of news", "the header of a.tif", "https://host/a.tif", "/vsicurl/https://host"]
)
def test_what_stands_around_a_secret_hides_nothing(text):
    remember_secrets("/vsicurl?max_retry=3&header.Authorization=Bearer%20Token4word&url=https%3A%2F%2Fhost%2Fa.tif")
    remember_secrets("/vsicached?file=/vsicurl/https://host&token=Token4word")

    assert without_secrets(text) == text


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_secret_is_recognised_in_a_sentence_and_the_tile_stays(form):
    shown = without_secrets(f"tile a1: '{of(form, UNSEEN)}' does not exist: HTTP response code: 403")

    assert_unsaid(shown, UNSEEN)
    assert without_secrets(of(form, UNSEEN), whole=True).count("{tile}") == 1
    assert shown.startswith("tile a1: '")


@given(
    form=st.sampled_from(sorted(FORMS)),
    before=st.text(SPECIAL + "ab", max_size=4),
    after=st.text(SPECIAL + "ab", max_size=4),
)
@example(form="encrypted file", before="'x", after="y'")
@example(form="MySQL", before='"', after='":')
@example(form="PostgreSQL address", before="//", after="?")
@example(form="address behind a folder", before="//", after="?")
@example(form="user and password", before="//", after="?")
def test_a_value_is_cleaned_whatever_its_secret_is_made_of_and_once_is_enough(form, before, after):
    inside = before + MARKER + after
    if form == "PostgreSQL":
        inside = inside.replace("\\", "\\\\").replace("'", "\\'")
    if form in {"a user alone", "key before a bucket"}:  # where a host would end
        inside = "".join(letter for letter in inside if letter not in "/?#\\")
    if form in {"XML", "MySQL", "encrypted file", "ODBC"}:
        inside = "".join(letter for letter in inside if letter not in "<&\\ ")
    value = of(form, inside)

    clean = redacted({"data": {"truth": [value]}})

    assert_unsaid(str(clean))
    assert redacted(clean) == clean


@given(
    form=st.sampled_from(HTTP),
    secret=st.text(
        st.characters(min_codepoint=32, max_codepoint=383, exclude_characters="{}"), min_size=3, max_size=20
    ),
    data=st.data(),
)
def test_a_secret_that_was_seen_is_removed_where_it_is_repeated_in_any_way(form, secret, data):
    """Alone, encoded, escaped or cut off, as other programs do it."""
    secret = f"Kd5Seen{secret}9Rt"
    remember_secrets(of(form, secret))
    ways = (str, quote, lambda text: quote(text, safe=""), lambda text: quote(quote(text, safe=""), safe=""),
            lambda text: json.dumps(text)[1:-1], lambda text: repr(text)[1:-1], html.escape)  # fmt: skip
    written = data.draw(st.sampled_from(ways))(secret)
    cut = data.draw(st.integers(len("Kd5Seen"), len(written)))

    shown = without_secrets(f"CURL said: {written[:cut]}")

    assert "Kd5" not in shown
    if cut == len(written):
        assert shown == "CURL said: ***"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_SECRET_ACCESS_KEY", MARKER),
        ("AWS_SESSION_TOKEN", MARKER),
        ("GDAL_HTTP_USERPWD", f"bob:{MARKER}"),
        ("GDAL_HTTP_AUTH", MARKER),
        ("GDAL_HTTP_HEADERS", f"Authorization: Bearer {MARKER}"),
        ("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=a;AccountKey={MARKER};EndpointSuffix=x"),
        ("PGPASSWORD", MARKER),
        ("HTTPS_PROXY", f"http://bob:{MARKER}@proxy:3128"),
        ("MY_API_TOKEN", MARKER),
    ],
)
def test_credentials_of_the_environment_are_removed(monkeypatch, name, value):
    message = f"error 403 for {MARKER} of somebody"
    assert MARKER in without_secrets(message)
    monkeypatch.setenv(name, value)

    assert_unsaid(without_secrets(message))


def test_the_environment_is_read_once_inside_and_anew_after_it(monkeypatch):
    with environment_read_once(), environment_read_once():
        reads = []
        monkeypatch.setattr("geouq.core.redaction._environment_now", lambda: reads.append(1) or frozenset())
        for _ in range(3):
            without_secrets("error 403")
        remember_secrets(f"https://me:Other{MARKER}@host/a.tif")
        assert without_secrets(f"error 403 for Other{MARKER}") == "error 403 for ***"
        assert not reads
    monkeypatch.undo()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", MARKER)

    assert_unsaid(without_secrets(f"error 403 for {MARKER} of somebody"))


@pytest.mark.parametrize(("name", "value"), [("OLDPWD", "/work/forest"), ("GDAL_HTTP_AUTH", "NEGOTIATE"),
                                             ("AWS_SHARED_CREDENTIALS_FILE", "/work/forest")])  # fmt: skip
def test_variables_that_hold_no_credentials_hide_nothing(monkeypatch, name, value):
    monkeypatch.setenv(name, value)

    assert without_secrets(f"NEGOTIATE in {value}") == f"NEGOTIATE in {value}"


FULL = """version: 1
name: full
data:
  mean: m/{tile}.tif
  std: s/{tile}.tif
  truth: t/{tile}.tif
  mask: k/{tile}.tif
  weights: w/{tile}.tif
  covariates: {slope: 'c/{tile}.tif'}
  classes: {cover: 'l/{tile}.tif'}
variables: {AGB: {band: 1, units: Mg}}
tiles: [a1, b1]
training_tiles: [c1]
regions:
  west: [a1]
  counties: {polygons: counties.gpkg, name: NAME, where: "POP > 1000"}
  codes: {classes: codes.tif, names: {1: forest}}
output: {directory: results}
drivers: [GTiff]
fingerprint: modified
gates: [{metric: zms, variable: AGB, min: 0.5}]
"""


def leaves(value, path=()):
    """Paths to all texts and keys of a configuration."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        if isinstance(value, dict):
            yield (*path, key), True
        if isinstance(entry, dict | list):
            yield from leaves(entry, (*path, key))
        else:
            yield (*path, key), False


POSITIONS = sorted(leaves(yaml.safe_load(FULL)), key=repr)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(position=st.sampled_from(POSITIONS), form=st.sampled_from(sorted(FORMS)))
def test_a_secret_at_any_place_of_a_configuration_is_refused_or_not_written(tmp_path, position, form):
    """An address of a layer may hold one; config.yaml is without it, and can be loaded again."""
    (*steps, last), is_key = position
    root = yaml.safe_load(FULL)
    section = root
    for step in steps:
        section = section[step]
    if is_key:
        section[of(form)] = section.pop(last)
    else:
        section[last] = of(form)
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(root), encoding="utf-8")

    try:
        experiment = load_experiment(file)
    except ConfigError as error:
        assert_unsaid(str(error))
        return
    assert MARKER in to_yaml(experiment)
    assert (steps or [last])[0] in {"data", "regions"}
    clean = to_yaml(experiment, credentials=False)
    assert_unsaid(clean)
    file.write_text(clean, encoding="utf-8")
    assert to_yaml(load_experiment(file), credentials=False) == clean


@pytest.fixture(scope="module")
def run_of_server(tmp_path_factory):
    """The folder of an experiment whose truth is read with secrets from a server, and a function that runs commands."""
    folder = tmp_path_factory.mktemp("served")
    names = ("a1", "b1")
    config = write_tiles(folder, names, shape=(64, 64), text="output: {maps: [cells, z]}\nrecalibration: scale\n")

    def command(*arguments):
        environment = os.environ | {"GDAL_HTTP_HEADERS": f"X-Mine: {MARKER}"}
        return run_forked([sys.executable, "-m", "geouq", *arguments], folder, env=environment)

    with serving(folder) as (address, _):
        signed = address.replace("//", f"//me:{MARKER}@")
        truth = f"'/vsicurl/{signed}/truth/{{tile}}.tif?sig={MARKER}'\ntiles: [{', '.join(names)}]"
        config.write_text(config.read_text().replace("truth/{tile}.tif", truth), encoding="utf-8")
        done = command("run", "experiment.yaml", "--log-json", "--verbose")
        yield folder, done, command


def assert_clean(folder, done):
    assert "Traceback" not in done.stderr
    written = [path for path in (folder / "results").rglob("*") if path.is_file()]
    for text in (done.stdout, done.stderr, *(path.read_bytes() for path in written)):
        assert_unsaid(text)
    return {path.name for path in written}


def test_no_file_and_no_word_of_a_run_holds_a_secret_and_it_goes_well(run_of_server):
    folder, done, _ = run_of_server

    assert done.returncode == 0, done.stderr
    names = assert_clean(folder, done)
    assert {"run.json", "results.json", "config.yaml", "recalibration.md", "index.html", "a1_z.tif", "a1.nc"} <= names


def test_a_report_needs_no_secret_and_other_commands_say_where_to_give_it(run_of_server):
    folder, _, command = run_of_server

    report, verify, again = (command(name, "results/small") for name in ("report", "verify", "recalibrate"))

    assert report.returncode == 0, report.stderr
    for done in (verify, again):
        assert "the credentials in data.truth were not saved" in done.stdout + done.stderr
        assert "give these in the environment (GDAL_HTTP_USERPWD" in done.stdout + done.stderr
    assert again.returncode == 2
    for done in (report, verify, again):
        assert_clean(folder, done)


def assert_run_unsaid(result, folder):
    """A run in which a tile could not be read names the server, and neither its words nor its files hold the secret."""
    assert result.exit_code == 3
    assert "127.0.0.1:9" in result.output
    assert_unsaid(result.output)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert_unsaid(path.read_bytes())


def test_no_word_on_tiles_that_cannot_be_read_and_no_table_of_them_holds_a_secret(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"), text="tiles: [a1, b1]\n")
    address = f"/vsicurl/http://me:{MARKER}@127.0.0.1:9/{{tile}}.tif?sig={MARKER}"
    config.write_text(config.read_text().replace("truth/{tile}.tif", address), encoding="utf-8")

    assert_run_unsaid(geouq("run", "experiment.yaml"), tmp_path / "results")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("command", ["run", "compare", "recalibrate"])
def test_no_folder_is_named_after_a_secret(command, form, geouq, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = geouq(command, "x", "--out", of(form))

    assert done.exit_code == 2
    assert "'--out': holds what looks like a password" in done.output
    assert_unsaid(done.output)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_command_line_and_a_traceback_are_shown_without_secrets(monkeypatch, capsys):
    address = f"http://me:{MARKER}@host/{{tile}}.tif"

    with pytest.raises(SystemExit, match="2"):
        main(["run", "x.yaml", f"--token={MARKER}"])
    monkeypatch.setattr("geouq.config.load_experiment", lambda _: 1 / len(address.partition(MARKER)[0][99:]))
    with pytest.raises(SystemExit, match="1"):
        main(["run", address])

    shown = "".join(capsys.readouterr())
    assert "No such option" in shown
    assert "ZeroDivisionError" in shown
    assert_unsaid(shown)


def test_a_password_with_blanks_in_a_source_of_a_vrt_is_not_printed(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"), text="tiles: [a1, b1]\ndrivers: [COG, VRT]\n")
    with rasterio.open(tmp_path / "truth" / "a1.tif") as source:
        size = f'rasterXSize="{source.width}" rasterYSize="{source.height}"'
        place = ", ".join(map(str, source.transform.to_gdal()))
        srs, names = source.crs.to_string(), source.descriptions
    address = f"/vsicurl/http://me:my {MARKER}@127.0.0.1:9/a1.tif"
    bands = "".join(
        f'<VRTRasterBand dataType="Float32" band="{k}"><Description>{name}</Description><SimpleSource>'
        f"<SourceFilename>{address}</SourceFilename><SourceBand>{k}</SourceBand><SourceProperties {size} "
        f'DataType="Float32" BlockXSize="16" BlockYSize="16"/></SimpleSource></VRTRasterBand>'
        for k, name in enumerate(names, 1)
    )
    text = f"<VRTDataset {size}><SRS>{srs}</SRS><GeoTransform>{place}</GeoTransform>{bands}</VRTDataset>"
    (tmp_path / "truth" / "a1.vrt").write_text(text, encoding="utf-8")
    (tmp_path / "truth" / "b1.tif").rename(tmp_path / "truth" / "b1.vrt")
    config.write_text(config.read_text().replace("truth/{tile}.tif", "truth/{tile}.vrt"), encoding="utf-8")

    assert_run_unsaid(geouq("run", "experiment.yaml"), tmp_path / "results")
