# What people type. meson and ninja do the work; the first build installs what is missing (scripts/install-dependencies).
BUILD ?= build
SPATE = $(BUILD)/spate
.PHONY: all spate everything demo test simulate test-drivers test-cluster test-crash test-memory bench check format install clean dependencies

all: spate
# The program, its modules and the library; tests are built when they are run.
spate: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(NINJA_FLAGS) program
everything: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(NINJA_FLAGS)

dependencies:
	@scripts/install-dependencies build
$(BUILD)/build.ninja: | dependencies
	@meson setup $(BUILD) --buildtype=release -Ddebug=true

demo: spate
	@examples/earthquakes/run $(SPATE)

test: everything
	@scripts/install-dependencies build test
	@tests/run $(BUILD)

# The suite of coordination drivers, whole (docs/cluster.md); DRIVER='local folder' for some of them.
test-drivers: everything
	@scripts/install-dependencies build test
	@tests/cluster/drivers $(BUILD) $(DRIVER)

# Jobs on several processes, killed, frozen, cut off (docs/cluster.md): DRIVER='local zookeeper zookeeper3 azure'; ONLY=C3,C5 for some of them.
test-cluster: everything
	@scripts/install-dependencies build test
	@tests/cluster/scenarios/run $(BUILD) $(if $(ONLY),--only $(ONLY)) $(or $(DRIVER),local)

# The long one: KILLS=500; SEED and JOB as a failure printed them.
test-crash: everything
	@tests/crash/run $(BUILD) --kills $(or $(KILLS),500) $(if $(SEED),--seed $(SEED)) $(if $(JOB),'$(JOB)')

# The simulator of coordination: SEEDS=10000 [FIRST=n]; SEED=n shows one seed with a log.
simulate: spate
	@ninja -C $(BUILD) $(NINJA_FLAGS) tests/simulation/simulate >/dev/null
	@tests/simulation/run $(BUILD) $(if $(SEED),--seed $(SEED),--no-mutants --seeds $(or $(SEEDS),10000) --first $(or $(FIRST),1))

# State of 2.5 GB in a budget of 256 MB: a minute on a quiet machine, and 2 GB of disk.
test-memory: everything
	@tests/memory/run $(SPATE)

bench: spate
	@scripts/install-dependencies build bench
	@bench/run $(BUILD)

check: everything
	@scripts/install-dependencies build check
	@scripts/check $(BUILD)

format:
	@scripts/install-dependencies check
	@git ls-files '*.c' '*.h' '*.inc' | xargs clang-format-14 -i

install: everything
	@meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)
