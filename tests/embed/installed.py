"""Programs built as a user builds them: from an installed tree, by pkg-config."""
import os
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


def install(build, folder):
    """As `make install DESTDIR=folder` does; what a program is compiled with, and what it needs to run."""
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": folder})
    found = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names if name == "spate.pc"]
    libraries = os.path.dirname(os.path.dirname(found[0]))
    tree = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(found[0]), "PKG_CONFIG_SYSROOT_DIR": folder}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "spate"], check=True, capture_output=True, text=True, env=tree).stdout.split()
    return flags, libraries


def compile_example(name, flags, libraries, folder):
    """`name`: below examples/, without `.c`."""
    program = os.path.join(folder, os.path.basename(name))
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", f"{ROOT}/examples/{name}.c", *flags, f"-Wl,-rpath,{libraries}", "-o", program], check=True)
    return program
