"""The bill of materials in the format CycloneDX, for tools that look for known vulnerabilities."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component as Listed
from cyclonedx.model.component import ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from tools.dist.components import Component
from tools.dist.sources import epoch, version


def write(components: Sequence[Component], file: Path) -> None:
    """Write the bill; its time and number depend only on what it lists."""
    bom = Bom(
        components=[_listed(one) for one in components],
        serial_number=uuid5(NAMESPACE_URL, "\n".join(one.purl for one in components)),
    )
    bom.metadata.timestamp = datetime.fromtimestamp(epoch(), UTC)
    bom.metadata.component = Listed(
        name="fairhaul",
        version=version(),
        type=ComponentType.APPLICATION,
        bom_ref="fairhaul",
        licenses=[LicenseFactory().make_from_string("Apache-2.0 OR MIT")],
    )
    bom.register_dependency(bom.metadata.component, bom.components)
    file.write_text(JsonV1Dot6(bom).output_as_string(indent=1) + "\n")


def _listed(one: Component) -> Listed:
    licences = [LicenseFactory().make_from_string(one.licence)] if one.licence else []
    return Listed(
        name=one.name,
        version=one.version,
        purl=PackageURL.from_string(one.purl),
        bom_ref=one.purl,
        licenses=licences,
    )
