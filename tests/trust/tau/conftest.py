"""The harness is a bench; its tests find it there."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "bench" / "tau"))
