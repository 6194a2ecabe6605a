"""Servers of coordination for tests: started for a block, killed at its end. Installed once, in SPATE_TEST_DEPS."""
import os
import shutil
import signal
import socket
import subprocess
import time

DEPS = os.environ.get("SPATE_TEST_DEPS") or os.path.expanduser("~/.cache/spate-tests")
AZURITE = "3.37.0"
ACCOUNT = "devstoreaccount1"  # Azurite's, and its key that everybody knows
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ZOOKEEPER_JARS = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-nop.jar"]


class Skipped(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    """Does a ZooKeeper server there serve?"""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(b"srvr")
            return b"Mode: " in connection.recv(4096)
    except OSError:
        return False


class Process:
    """A process of its own that ends with the block that uses it."""

    def __init__(self, arguments, log):
        self.arguments, self.log, self.process = arguments, log, None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class ZooKeeper:
    """One server, or several that are one service."""

    def __init__(self, folder, count):
        if not all(os.path.exists(jar) for jar in ZOOKEEPER_JARS) or not shutil.which("java"):
            raise Skipped("ZooKeeper needs the packages zookeeper and default-jre-headless")
        self.ports = [free_port() for _ in range(count)]
        peers = [(free_port(), free_port()) for _ in range(count)]
        self.servers = []
        for number, port in enumerate(self.ports, 1):
            data = os.path.join(folder, f"zookeeper-{count}-{number}")
            os.makedirs(data)
            lines = ["tickTime=200", "initLimit=50", "syncLimit=25", "minSessionTimeout=400", "maxSessionTimeout=60000", "maxClientCnxns=0",
                     f"dataDir={data}", f"clientPort={port}", "clientPortAddress=127.0.0.1", "admin.enableServer=false",
                     "4lw.commands.whitelist=ruok,srvr,mntr,cons", "quorumListenOnAllIPs=false"]
            if count > 1:
                lines += [f"server.{i}=127.0.0.1:{a}:{b}" for i, (a, b) in enumerate(peers, 1)]
                with open(os.path.join(data, "myid"), "w", encoding="ascii") as file:
                    file.write(f"{number}\n")
            with open(os.path.join(data, "zoo.cfg"), "w", encoding="ascii") as file:
                file.write("\n".join(lines) + "\n")
            self.servers.append(Process(["java", "-Xms32m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                                         "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.forceSync=no", "-cp", ":".join(ZOOKEEPER_JARS),
                                         "org.apache.zookeeper.server.quorum.QuorumPeerMain", os.path.join(data, "zoo.cfg")],
                                        os.path.join(data, "log")))

    def wait(self, ports):
        until = time.time() + 120
        while not all(answers(port) for port in ports):
            if time.time() > until:
                raise RuntimeError(f"ZooKeeper does not answer; see {self.servers[0].log}")
            time.sleep(0.05)

    def __enter__(self):
        for server in self.servers:
            server.start()
        self.wait(self.ports)
        return self

    def __exit__(self, *error):
        for server in self.servers:
            server.stop()

    def hosts(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)


def install_azurite():
    main = os.path.join(DEPS, "azurite/node_modules/azurite/dist/src/blob/main.js")
    if not shutil.which("node") or not (os.path.exists(main) or shutil.which("npm")):
        raise Skipped("Azurite needs node and npm")
    if not os.path.exists(main):
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", os.path.join(DEPS, "azurite"),
                               "azurite@" + AZURITE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0 or not os.path.exists(main):
            raise Skipped(f"npm does not install Azurite: {done.stdout[-300:]}")
    return main


class Azurite(Process):
    def __init__(self, folder):
        self.port = free_port()
        super().__init__(["node", install_azurite(), "--silent", "--disableTelemetry", "--location", os.path.join(folder, "data"),
                          "--blobHost", "127.0.0.1", "--blobPort", str(self.port)], os.path.join(folder, "log"))

    def wait(self):
        until = time.time() + 120
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                if self.process.poll() is not None or time.time() > until:
                    raise RuntimeError(f"Azurite does not answer; see {self.log}") from None
                time.sleep(0.05)

    def __enter__(self):
        self.start()
        self.wait()
        return self

    def __exit__(self, *error):
        self.stop()

    def restart(self):
        self.process.send_signal(signal.SIGTERM)  # killed, it loses what its index on disk does not have yet
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.stop()
        time.sleep(1)
        self.start()
        self.wait()
