"""A program for the Python of QGIS: it opens the maps of a run as QGIS does, and prints as JSON what QGIS then shows.

It is started as a process of its own, as QGIS has a Python of its own: qgis_program.py MAPS PICTURE
"""

import json
import sys
from pathlib import Path

BACKGROUND, WIDE, HIGH = "#00ff00", 600, 400


def shown_by_polygons(layer):
    """What a layer of polygons is coloured by, and its classes."""
    renderer = layer.renderer()
    classes = [
        (one.lowerValue(), one.upperValue(), one.label(), one.symbol().color().name(), one.symbol().symbolLayerCount())
        for one in (renderer.ranges() if renderer.type() == "graduatedSymbol" else [])
    ]
    return {"renderer": renderer.type(), "by": getattr(renderer, "classAttribute", str)(), "classes": classes}


def shown_by_raster(layer):
    """The band that a raster shows, and its colours."""
    renderer = layer.renderer()
    if renderer.type() == "singlebandpseudocolor":
        ramp = renderer.shader().rasterShaderFunction()
        classes = [(one.value, one.label, one.color.name()) for one in ramp.colorRampItemList()]
    else:
        classes = [(one.value, one.label, one.color.name()) for one in getattr(renderer, "classes", list)()]
    band = renderer.usesBands()[0]
    return {"renderer": renderer.type(), "by": layer.bandName(band).partition(": ")[2], "classes": classes}


def shown(layer):
    """What QGIS makes of a layer."""
    found = {"valid": layer.isValid(), "crs": layer.crs().isValid(), "name": layer.name()}
    if not layer.isValid():
        return found
    return found | (shown_by_polygons(layer) if hasattr(layer, "featureCount") else shown_by_raster(layer))


def packages_of(maps):
    """Layers of polygons as they are when a GeoPackage is dragged into the window, and their lists of styles."""
    from qgis.core import QgsVectorLayer

    found = {}
    for path in sorted(maps.glob("*.gpkg")):
        layer = QgsVectorLayer(f"{path}|layername={path.stem}", path.stem, "ogr")
        count, _, names, about, error = layer.listStylesInDatabase()
        found[path.stem] = shown(layer) | {"styles": dict(zip(names, about)), "count": count, "error": error}  # noqa: B905
    return found


def rasters_of(maps):
    """Rasters with the style that stands next to them."""
    from qgis.core import QgsRasterLayer

    found = {}
    for path in sorted(maps.glob("*.qml")):
        (raster,) = [own for kind in (".tif", ".vrt") if (own := path.with_suffix(kind)).exists()]
        layer = QgsRasterLayer(str(raster), path.stem)
        message, is_loaded = layer.loadNamedStyle(str(path))
        found[path.stem] = shown(layer) | {"loaded": is_loaded, "message": message}
    return found


def drawn(layers, picture):
    """Draw layers as a new project shows them; return the limits of the picture and the errors."""
    from qgis.core import QgsMapRendererParallelJob, QgsMapSettings, QgsRectangle
    from qgis.PyQt.QtCore import QSize
    from qgis.PyQt.QtGui import QColor

    extent = QgsRectangle()
    extent.setMinimal()
    for layer in layers:
        extent.combineExtentWith(layer.extent())
    extent.scale(1.1)
    settings = QgsMapSettings()
    settings.setLayers(layers)
    settings.setDestinationCrs(layers[0].crs())
    settings.setBackgroundColor(QColor(BACKGROUND))
    settings.setOutputSize(QSize(WIDE, HIGH))
    settings.setExtent(extent)
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    job.renderedImage().save(str(picture))
    box = settings.visibleExtent()
    return [box.xMinimum(), box.yMinimum(), box.xMaximum(), box.yMaximum()], [one.message for one in job.errors()]


def definition_of(maps, picture):
    """All layers of the layer definition with their groups, and a picture of those that are drawn."""
    from qgis.core import QgsLayerDefinition, QgsProject

    project = QgsProject.instance()
    root = project.layerTreeRoot()
    is_loaded, error = QgsLayerDefinition.loadLayerDefinition(str(maps / "maps.qlr"), project, root)
    entries = root.findLayers()
    layers = [
        shown(entry.layer()) | {"group": entry.parent().name(), "drawn": entry.isVisible(), "open": entry.isExpanded()}
        for entry in entries
    ]
    box, errors = drawn([entry.layer() for entry in entries if entry.isVisible()], picture)
    project.clear()
    return {"loaded": is_loaded, "error": error, "layers": layers, "box": box, "errors": errors}


def main(maps, picture):
    """Print what QGIS shows of the folder of maps."""
    from qgis.core import QgsApplication

    application = QgsApplication([], GUIenabled=False)
    application.initQgis()
    messages = []
    application.messageLog().messageReceived.connect(lambda text, tag, _: messages.append(f"{tag}: {text}"))
    found = {"packages": packages_of(maps), "rasters": rasters_of(maps), "definition": definition_of(maps, picture)}
    print(json.dumps(found | {"messages": messages}))  # noqa: T201  the test reads it
    application.exitQgis()


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
