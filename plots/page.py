"""A figure as part of a page: an SVG that takes its ink from the page, or a PNG where that would be huge."""
import base64
import io
import re
import xml.etree.ElementTree as ElementTree

import common

# Beyond it a figure is embedded as a PNG: a page of many figures has to open at once.
MOST_SVG_BYTES = 400_000
PNG_DPI = 110

# Letters stay letters, to be searched and copied, and the same document gives the same bytes.
LOOK = {"svg.fonttype": "none", "svg.hashsalt": "reprise", "text.color": common.INK, "axes.labelcolor": common.INK,
        "axes.edgecolor": common.INK, "xtick.color": common.INK, "ytick.color": common.INK}

SVG = "http://www.w3.org/2000/svg"
HREF = "{http://www.w3.org/1999/xlink}href"
# The first of these is matplotlib's name and address, the other would style the whole page.
LEFT_OUT = (f"{{{SVG}}}metadata", f"{{{SVG}}}style")


def with_prefix(key, value, prefix):
    """An attribute whose names of other elements are unique in the page, and whose ink is the page's."""
    if key == "id":
        return prefix + value
    if key == "href" and value.startswith("#"):
        return "#" + prefix + value[1:]
    value = value.replace("url(#", "url(#" + prefix)
    return value.replace(common.INK, "currentColor") if key in ("style", "fill", "stroke") else value


def for_page(svg, prefix, title):
    """An SVG file's root element as text: no declarations, no comments, sized to be read on wide and narrow pages."""
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in [child for child in parent if child.tag in LEFT_OUT]:
            parent.remove(child)
    for element in root.iter():
        attributes = {"href" if key == HREF else key: value for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({key: with_prefix(key, value, prefix) for key, value in attributes.items()})
    width, height = (float(re.match(r"[\d.]+", root.get(side)).group()) * 4 / 3 for side in ("width", "height"))
    root.attrib.update({"width": f"{width:.0f}", "height": f"{height:.0f}", "role": "img", "aria-label": title,
                        "style": f"max-width:{width:.0f}px;min-width:{0.7 * width:.0f}px"})
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def picture_of(figure, prefix, title):
    """{"svg": text} or {"png": base64}, and "width_px"."""
    svg = io.BytesIO()
    figure.savefig(svg, format="svg", bbox_inches="tight", transparent=True)
    text = for_page(svg.getvalue(), prefix, title)
    if len(text.encode()) <= MOST_SVG_BYTES:
        return {"svg": text, "width_px": int(re.search(r' width="(\d+)"', text).group(1))}
    png = io.BytesIO()
    figure.savefig(png, format="png", bbox_inches="tight", dpi=PNG_DPI)
    width_px = int.from_bytes(png.getvalue()[16:20], "big")
    return {"png": base64.b64encode(png.getvalue()).decode("ascii"), "width_px": width_px}
