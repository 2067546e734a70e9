"""Makes `pytest scenarios/` collect the scenario files, and gives tests beside them the `holdpoint` fixture."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest_plugins = ["holdpoint_pytest"]
