"""Holds an SQLite file locked for so many seconds, in a process of its own: ``FILE SECONDS``."""

import sqlite3
import sys
import time

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
sys.stdout.write("locked\n")
sys.stdout.flush()
time.sleep(float(sys.argv[2]))
connection.execute("ROLLBACK")
