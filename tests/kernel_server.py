"""A warm process that forks a notebook's kernel for each line it reads: a connection file and a folder, as JSON.

A kernel forked from it is a true one; it need not import what this process has imported.
"""

import json
import os
import signal
import sys

# What most notebooks import, and no lesson: which formulas are registered depends on the lessons that are imported.
CORE = ["practice", "tables", "summary", "menus", "derivation", "drawing"]
WARM = ["ipykernel.kernelapp", "matplotlib.pyplot", "ipywidgets", *(f"blackboard.{name}" for name in CORE)]


def serve(connection_file, folder):
    """Be a kernel until a client ends it; its own log is not the notebook's."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.chdir(folder)
    sys.path[0] = ""  # as in a kernel that was started by itself: the folder of the notebook
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance([f"--f={connection_file}"])


def main():
    """Fork until the input ends."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel sets it before it imports
    for name in WARM:
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels that ended need nobody to wait for them
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            serve(*json.loads(line))
            os._exit(0)


if __name__ == "__main__":
    main()
