#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packaging/LICENSES-OF-COMPONENTS must have a notice for every library that the build needs, and for no other."""
import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
needed = re.search(r"^build=\((.*)\)$", (root / "tests/tools/install.sh").read_text(), re.M)[1].split()
needed = {name for name in needed if name.endswith("-dev")}
notices = (root / "packaging/LICENSES-OF-COMPONENTS").read_text()
named = set(re.findall(r"^=+\n.* \(([\w.-]+)\), (?:linked|compiled into .*)\n=+$", notices, re.M))
for name in sorted(needed ^ named):
    print(name, "has no notice" if name in needed else "has a notice, but the build does not need it")
print(f"{len(named)} components")
sys.exit(1 if needed != named else 0)
