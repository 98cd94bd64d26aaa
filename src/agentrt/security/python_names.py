"""Python names that run, delete, send or show something. Data only."""

from __future__ import annotations

import re

SHELL = frozenset(
    {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "commands.getoutput", "pty.spawn",
     "asyncio.create_subprocess_shell", "platform.popen", "popen2.popen3", "posix.system", "IPython.get_ipython.system"}
)  # fmt: skip
EVALUATORS = frozenset(
    {"eval", "exec", "builtins.eval", "builtins.exec", "compile", "timeit.timeit", "timeit.repeat", "timeit.Timer",
     "cProfile.run", "profile.run"}
)  # fmt: skip
PROCESS = frozenset({"run", "call", "check_call", "check_output", "Popen"})
RUNNER = r"subprocess\.(?:run|call|check_call|check_output|Popen)"
EXEC = re.compile(r"(?:os|posix)\.(?:exec|spawn|posix_spawn)\w*")
COMMANDS = {
    "shutil.rmtree": ("rm", "-rf"), "os.removedirs": ("rm", "-rf"), "os.remove": ("rm",), "os.unlink": ("rm",),
    "os.rmdir": ("rmdir",), "shutil.move": ("mv",), "os.rename": ("mv",), "os.replace": ("mv",), "shutil.copy": ("cp",),
    "shutil.copyfile": ("cp",), "shutil.copy2": ("cp",), "shutil.copytree": ("cp", "-r"), "os.chmod": ("chmod",),
    "os.chown": ("chown",), "os.symlink": ("ln", "-s"), "os.truncate": ("truncate",), "os.mkdir": ("mkdir",),
    "os.makedirs": ("mkdir",), "distutils.dir_util.remove_tree": ("rm", "-rf"),
    "distutils.dir_util.copy_tree": ("cp", "-r"), "os.kill": ("kill",), "os.killpg": ("kill",), "os.setuid": ("sudo",),
}  # fmt: skip
MODULES = frozenset({"os", "posix", "subprocess", "shutil", "builtins", "sys", "socket", "importlib"})
NETWORK = re.compile(
    r"(?:urllib\d?|requests|httpx|aiohttp|socket|http\.client|httplib|ftplib|smtplib|paramiko|telnetlib|websockets?|urllib3"
    r"|pycurl|xmlrpc|http\.server|webbrowser|asyncio\.open_connection|boto3|fabric|dns)(?:\.|$)"
)
TALKS = re.compile(r"(?i)http|request|curl|rest|api|web|sock|rpc|niquests|docker|client")
"""Top-level names of libraries that may send requests."""
QUIET = re.compile(
    r"(?:urllib\d?\.parse|socket\.(?:gethostname|AF_|SOCK_|timeout|error|SOL_|SO_)|requests\.(?:exceptions|structures|compat|__)|aiohttp\.web|dns\.name)"
)
DECODE = re.compile(
    r"b64decode|b32decode|b85decode|a85decode|fromhex|unhexlify|decompress|rot13|marshal|decodebytes|bytes\(|chr\("
)
OF_ENVIRONMENT = frozenset({"get", "setdefault", "pop", "update", "copy"})
DANGEROUS_NAMES = frozenset(
    {"__builtins__", "__subclasses__", "__globals__", "__getattribute__", "__code__", "__mro__"}
)
LOOPBACK = re.compile(
    r"https?://(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?=[:/]|$)|localhost|127\.0\.0\.1|testserver"
)
METADATA = re.compile(r"169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200|fd00:ec2::254")
