import sys
from pathlib import Path

# Tables of programs lie beside the tests that use them.
sys.path.append(str(Path(__file__).parent))
