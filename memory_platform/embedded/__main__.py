"""`python -m memory_platform.embedded`: run everything on this machine until Ctrl-C."""

import sys

from memory_platform.embedded.supervisor import main

sys.exit(main())
