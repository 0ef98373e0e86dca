"""Makes a figure part of a page: an SVG that takes its text colour from the page, or a PNG if the SVG were too large."""
import base64
import io
import re
import xml.etree.ElementTree as ElementTree

import common

# A larger figure is embedded as a PNG, since a page of many figures must open quickly.
MOST_SVG_BYTES = 400_000
PNG_DPI = 110

# Text stays text, so that it can be searched and copied. The fixed salt makes equal documents give equal bytes.
LOOK = {"svg.fonttype": "none", "svg.hashsalt": "reprise", "text.color": common.INK, "axes.labelcolor": common.INK,
        "axes.edgecolor": common.INK, "xtick.color": common.INK, "ytick.color": common.INK}

SVG = "http://www.w3.org/2000/svg"
HREF = "{http://www.w3.org/1999/xlink}href"
# Elements to remove: the first holds matplotlib's name and address, the second would style the whole page.
LEFT_OUT = (f"{{{SVG}}}metadata", f"{{{SVG}}}style")


def with_prefix(key, value, prefix):
    """Returns an attribute with references made unique within the page and black replaced by the page's text colour."""
    if key == "id":
        return prefix + value
    if key == "href" and value.startswith("#"):
        return "#" + prefix + value[1:]
    value = value.replace("url(#", "url(#" + prefix)
    return value.replace(common.INK, "currentColor") if key in ("style", "fill", "stroke") else value


def for_page(svg, prefix, title):
    """Returns an SVG file's root element as text, without declarations and comments, sized for wide and narrow pages."""
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
    """Returns {"svg": text} or {"png": base64}, with "width_px"."""
    svg = io.BytesIO()
    figure.savefig(svg, format="svg", bbox_inches="tight", transparent=True)
    text = for_page(svg.getvalue(), prefix, title)
    if len(text.encode()) <= MOST_SVG_BYTES:
        return {"svg": text, "width_px": int(re.search(r' width="(\d+)"', text).group(1))}
    png = io.BytesIO()
    figure.savefig(png, format="png", bbox_inches="tight", dpi=PNG_DPI)
    width_px = int.from_bytes(png.getvalue()[16:20], "big")
    return {"png": base64.b64encode(png.getvalue()).decode("ascii"), "width_px": width_px}
