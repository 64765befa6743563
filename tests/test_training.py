"""Files and pages for training code: batches of numpy, torch and Lightning, and tiles of scikit-learn."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine
from sklearn.ensemble import RandomForestRegressor

import geouq as package

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to"
SHAPE = (4, 1, 32, 32)


@pytest.fixture(autouse=True)
def copied(monkeypatch, tmp_path):
    """The files to copy are modules of the program, which runs in an empty folder."""
    monkeypatch.syspath_prepend(str(HOW_TO / "training"))
    monkeypatch.chdir(tmp_path)
    yield
    for name in ("calibration", "predict_tiles"):
        sys.modules.pop(name, None)


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", (HOW_TO / page).read_text(encoding="utf-8"), re.DOTALL)


def batches_of(count=5, shape=SHAPE, seed=0):
    """Batches of a forecaster whose std is too small by a factor of 1.5."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        mean, variance = rng.normal(20, 5, shape), rng.gamma(4, 1, shape)
        yield mean, variance, mean + 1.5 * np.sqrt(variance) * rng.normal(size=shape)


def all_of(batches):
    return [np.concatenate(layers) for layers in zip(*batches, strict=True)]


def of_numpy(mean, variance, truth):
    z = (truth - mean) / np.sqrt(variance)
    rmse = np.sqrt(np.mean((mean - truth) ** 2))
    return {"rmse": rmse, "z_std": np.std(z), "coverage_90": np.mean(np.abs(z) <= 1.6448536269514722)}


def assert_is(found, expected):
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6)


def test_the_loop_on_the_page_prints_the_metrics_of_all_batches(capsys):
    exec(blocks_of("train.md")[0], {"batches": batches_of()})  # noqa: S102  the page
    printed = dict(re.findall(r"'(\w+)': (-?[\d.]+)", capsys.readouterr().out))
    expected = of_numpy(*all_of(batches_of()))

    assert {name: float(printed[name]) for name in expected} == pytest.approx(expected, abs=6e-4)


def test_pixels_that_are_not_valid_do_not_count():
    from calibration import Calibration

    calibration, (mean, variance, truth) = Calibration(), all_of(batches_of())
    valid = truth > 20
    calibration.update(mean, variance, np.where(valid, truth, -9999), valid=valid)

    assert calibration.summary.n == valid.sum()
    assert_is(calibration.compute(), of_numpy(mean[valid], variance[valid], truth[valid]))


def test_an_epoch_without_batches_has_no_metrics_and_a_reset_begins_anew():
    from calibration import Calibration

    calibration = Calibration()
    assert calibration.compute() == {}
    calibration.update(*all_of(batches_of(seed=1)))
    calibration.reset()
    calibration.update(*all_of(batches_of()))
    calibration.gather()  # without processes
    assert_is(calibration.compute(), of_numpy(*all_of(batches_of())))


def test_summaries_go_from_process_to_process_and_add():
    parts = [pickle.loads(pickle.dumps(package.summarize(*batch))) for batch in batches_of()]  # noqa: S301  own

    together, whole = sum(parts), package.summarize(*all_of(batches_of()))
    assert together.n == whole.n
    assert package.coverage(together, level=0.9) == package.coverage(whole, level=0.9)
    assert package.crps(together) == pytest.approx(package.crps(whole))


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_tensors_give_the_numbers_of_arrays(kind):
    torch = pytest.importorskip("torch")
    from calibration import Calibration

    arrays = [layer.astype(kind) for layer in all_of(batches_of())]
    of_arrays, of_tensors = Calibration(), Calibration()
    of_arrays.update(*arrays)
    of_tensors.update(*(torch.from_numpy(layer).requires_grad_() for layer in arrays))

    assert of_tensors.summary == of_arrays.summary


def test_bfloat16_is_taken():
    torch = pytest.importorskip("torch")
    from calibration import Calibration

    calibration, arrays = Calibration(), all_of(batches_of())
    calibration.update(*(torch.from_numpy(layer).bfloat16() for layer in arrays))

    assert calibration.compute()["coverage_90"] == pytest.approx(of_numpy(*arrays)["coverage_90"], abs=0.02)


class Loaded:
    """A model whose image is its output: mean and logarithm of the variance."""

    def __call__(self, image):
        return image

    def eval(self):
        """Do nothing."""


def loader_of(torch, batches):
    for mean, variance, truth in batches:
        yield torch.from_numpy(np.concatenate([mean, np.log(variance)], axis=1)), torch.from_numpy(truth)


def test_the_validation_of_torch_on_the_page_returns_the_metrics_of_an_epoch():
    torch = pytest.importorskip("torch")
    names = {}
    exec(blocks_of("train.md")[1], names)  # noqa: S102  the page

    found = names["validate"](Loaded(), loader_of(torch, batches_of()), "cpu")
    assert_is(found, of_numpy(*all_of(batches_of())))


IN_PROCESS = """import pickle, sys
import test_training as own
import torch
from torch import distributed
rank, folder = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
names = {}
exec(own.blocks_of("train.md")[1], names)
found = names["validate"](own.Loaded(), own.loader_of(torch, list(own.batches_of())[rank::2]), "cpu")
open(f"{folder}/{rank}.pickle", "wb").write(pickle.dumps(found))
distributed.destroy_process_group()
"""


def test_many_processes_have_the_metrics_of_all_batches(tmp_path):
    pytest.importorskip("torch")
    paths = [str(HOW_TO / "training"), str(Path(__file__).parent), *sys.path]
    own = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", IN_PROCESS]
    processes = [subprocess.Popen([*command, str(rank), str(tmp_path)], env=own) for rank in range(2)]
    try:
        assert [process.wait(300) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    first, second = (pickle.loads((tmp_path / f"{rank}.pickle").read_bytes()) for rank in range(2))  # noqa: S301  own

    assert first == second
    assert_is(first, of_numpy(*all_of(batches_of())))


# lightning uses a class of torch that recent releases of torch deprecate
@pytest.mark.filterwarnings(r"ignore:`isinstance\(treespec, LeafSpec\)` is deprecated:FutureWarning")
def test_the_callback_of_lightning_logs_the_metrics_of_an_epoch(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    torch = pytest.importorskip("torch")
    names = {}
    exec(blocks_of("train.md")[2], names)  # noqa: S102  the page
    exec(blocks_of("train.md")[3], names)  # noqa: S102  the page

    class Task(lightning.LightningModule):
        """Returns its input."""

        validation_step = names["validation_step"]

        def forward(self, image):
            """Return mean and logarithm of the variance."""
            return image

    images = [{"image": image[0:4], "mask": truth[:, 0]} for image, truth in loader_of(torch, batches_of())]
    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, callbacks=[names["LogCalibration"]()],
        default_root_dir=tmp_path, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    (logged,) = trainer.validate(Task(), torch.utils.data.DataLoader(images, batch_size=None), verbose=False)

    expected = of_numpy(*all_of(batches_of()))
    assert {name: logged[f"val/{name}"] for name in expected} == pytest.approx(expected, rel=1e-4)


def landscape(folder, seed=0):
    """Two tiles of three features and of the truth, with a column without features; plots of the first tile."""
    rng, weights = np.random.default_rng(seed), np.array([2.0, -1.0, 0.5])
    for number, name in enumerate(("a", "b")):
        features = rng.normal(size=(3, 40, 50)).astype("f4")
        truth = np.tensordot(weights, features, 1) + 3 + rng.normal(size=(40, 50))
        features[:, :, 7] = np.nan
        place = Affine(10, 0, 500_000 + 500 * number, 0, -10, 7_000_000)
        for path, bands in ((f"features/{name}.tif", features), (f"truth/{name}.tif", truth[np.newaxis])):
            (folder / path).parent.mkdir(exist_ok=True)
            about = {"count": len(bands), "height": 40, "width": 50, "dtype": "float32", "nodata": np.nan}
            with rasterio.open(folder / path, "w", driver="GTiff", crs="EPSG:32633", transform=place, **about) as file:
                file.write(bands.astype("f4"))
    plots = rng.normal(size=(400, 3))
    return {"features_of_plots": plots, "truth_of_plots": plots @ weights + 3 + rng.normal(size=400)}


def test_the_page_of_scikit_learn_predicts_writes_and_evaluates_tiles(tmp_path, capsys):
    exec(blocks_of("scikit-learn.md")[0], landscape(tmp_path))  # noqa: S102  the page
    z, coverage = map(float, re.findall(r"[\d.]+(?=,|\n)", capsys.readouterr().out))

    assert z == pytest.approx(1, abs=0.05)
    assert coverage == pytest.approx(0.9, abs=0.03)
    with rasterio.open(tmp_path / "predictions/a_mean.tif") as file:
        mean = file.read(1)
    assert np.isnan(mean[:, 7]).all()
    assert np.isfinite(np.delete(mean, 7, axis=1)).all()


def test_the_spread_of_trees_is_that_of_each_pixel(tmp_path):
    from predict_tiles import of_forest, predict_tile

    plots = landscape(tmp_path)
    model = RandomForestRegressor(5, random_state=0).fit(plots["features_of_plots"], plots["truth_of_plots"])
    predict_tile(of_forest(model), tmp_path / "features/a.tif", tmp_path / "mean.tif", tmp_path / "std.tif")
    with rasterio.open(tmp_path / "features/a.tif") as file:
        pixel = file.read()[:, 12, 20].astype(float)
    trees = [tree.predict(pixel[np.newaxis])[0] for tree in model.estimators_]

    for name, expected in (("mean", np.mean(trees)), ("std", np.std(trees))):
        with rasterio.open(tmp_path / f"{name}.tif") as file:
            assert file.read(1)[12, 20] == pytest.approx(expected, rel=1e-6)
