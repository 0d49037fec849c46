"""The bill of materials of a package: SPDX 2.3 in JSON, from what Debian's packages brought in."""

import hashlib
import json
import os
import time

from . import image, libraries
from .build import codename

TOOLCHAIN = ("libc6-dev", "linux-libc-dev", "libstdc++-", "libgcc-")


def make(build, artefact):
    """The path of the bill, next to the artefact."""
    path = artefact + ".spdx.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bill_of(build, artefact), file, indent=1)
        file.write("\n")
    return path


def bill_of(build, artefact):
    with open(artefact, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    name = os.path.basename(artefact)
    loaded = set(libraries.owners(libraries.loaded_libraries(build.program).values()).values())
    headers = set(libraries.owners(libraries.compiled_headers(build.folder)).values())
    compiled = {each for each in headers if not each.name.startswith(TOOLCHAIN)}
    is_image = name.endswith(".image.tar")
    if is_image:
        loaded |= set(libraries.installed(image.OTHER_PACKAGES).values())
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-millrace")]
    for package in sorted(loaded):
        is_outside = name.endswith(".deb") or libraries.is_libc(package) and not is_image
        kind = "DEPENDS_ON" if is_outside else "CONTAINS"
        relations.append(("SPDXRef-millrace", kind, id_of(package)))
    relations += [("SPDXRef-millrace", "STATIC_LINK", id_of(each)) for each in sorted(compiled)]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest[:32]}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(build.epoch)),
            "creators": ["Tool: millrace-make_packages"],
        },
        "packages": [own_entry(build, name, digest)]
        + [entry(package) for package in sorted(loaded | compiled)],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }


def id_of(package):
    text = f"{package.name}-{package.architecture}"
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in text)


def own_entry(build, name, digest):
    return {
        "name": "millrace",
        "SPDXID": "SPDXRef-millrace",
        "versionInfo": build.version,
        "packageFileName": name,
        "sourceInfo": f"commit {build.commit}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }


def entry(package):
    return {
        "name": package.name,
        "SPDXID": id_of(package),
        "versionInfo": package.version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{package.name}@{package.version}"
                f"?arch={package.architecture}&distro={codename()}",
            }
        ],
    }
