"""A program in another process: who asks for it is this one, who runs it is a fork of ``forking.py``.

It takes as long to start as Python does, so it imports next to nothing.
"""

import _socket
import marshal
import os
import signal
import sys

door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
door.connect(sys.argv[1])
asked = marshal.dumps((sys.argv[2:], os.getcwd(), dict(os.environ)))  # noqa: PTH109 - pathlib takes long
streams = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2))
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
door.sendmsg([len(asked).to_bytes(8, "little")], rights)
door.sendall(asked)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: door.sendall(bytes([number])))
# Whoever reads from a stream sees its end when the program has closed it.
for stream in (0, 1, 2):
    os.close(stream)
code = int.from_bytes(door.recv(4), "little", signed=True)
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
