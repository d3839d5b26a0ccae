# jianguo: two commands for a newcomer, `make demo` and `make test`. They need
# Go, gcc, git and make; tests also need apt.

export CGO_ENABLED = 1
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
ONCE ?=
FUZZTIME ?= 20m
SECONDS ?= 60
FLEET_SECONDS ?= 180

.PHONY: all build demo test test-long check chaos fleet dist dist-test purego quality fuzz soak clean

all: build

build: ## jianguo, in bin/
	go build -buildvcs=auto -ldflags="-s -w" -o bin/ ./cmd/jianguo

demo: build ## the service on the sample corpus, with verdicts on screen
	bin/jianguo demo $(if $(ONCE),--once --listen 127.0.0.1:0 --nats-listen 127.0.0.1:0)

test: ## all tests; installs what they need
	scripts/install-test-tools
	scripts/test

test-long: ## the long tier: an hour of chaos, new random cases, every fuzz target for FUZZTIME, the packages (root)
	scripts/install-test-tools
	JIANGUO_TIER=long scripts/test -timeout 10h
	scripts/soak 10
	scripts/fuzz $(FUZZTIME)
	scripts/dist-test

chaos: ## one fault after the other happens to the service for SECONDS, and nothing acknowledged may be lost
	JIANGUO_CHAOS_SECONDS=$(SECONDS) go test -count=1 -timeout $$(( $(SECONDS) + 900 ))s -v -run '^TestChaos' ./cmd/jianguo

fleet: ## each part of a NATS cluster and two services is killed, stopped and cut off in turn, for FLEET_SECONDS
	JIANGUO_FLEET_SECONDS=$(FLEET_SECONDS) go test -count=1 -timeout $$(( $(FLEET_SECONDS) + 900 ))s -v -run '^TestFleet$$' ./cmd/jianguo

check: ## formatting, vet, staticcheck
	scripts/check

purego: ## build without assembly, and test the packages that have any
	scripts/purego

fuzz: ## every fuzz target for a minute
	scripts/fuzz 60s

soak: ## every property test on ten times as many random cases, new ones each time
	scripts/soak 10

dist: ## what is released, in dist/: a tarball and a Debian package
	scripts/dist

dist-test: ## two builds are the same; the package is installed, upgraded, removed and purged in a chroot (root, debootstrap)
	scripts/dist-test

clean:
	rm -rf bin dist

-include quality.mk console.mk
