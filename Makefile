# jianguo: two commands for a newcomer, `make demo` and `make test`. They need
# Go, gcc, git, make and, for what tests need besides, apt.

export CGO_ENABLED = 1
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
ONCE ?=

# What the compiler is told of where time goes. Only the binary is built with it:
# a build by a profile shares no package with tests, which would then all be
# compiled twice.
PROFILE = cmd/jianguo/ingest.pgo

.PHONY: all build demo test check quality fuzz soak profile clean

all: build

build: ## the service and jianguo-bench, in bin/
	go build -pgo=$(PROFILE) -o bin/jianguo ./cmd/jianguo
	go build -o bin/jianguo-bench ./cmd/jianguo-bench

demo: build ## the service on the sample corpus, with verdicts on screen
	bin/jianguo demo $(if $(ONCE),--once --listen 127.0.0.1:0 --nats-listen 127.0.0.1:0)

test: ## all tests; installs what they need
	scripts/install-test-tools
	scripts/test

check: ## formatting, vet, staticcheck
	scripts/check

fuzz: ## every fuzz target for a minute
	scripts/fuzz 60s

soak: ## every property test on ten times as many random cases, new ones each time
	scripts/soak 10

profile: ## take $(PROFILE) anew, from an ingest of the news corpus that JIANGUO_CORPUS has
	@test -n "$(JIANGUO_CORPUS)" || { echo 'JIANGUO_CORPUS is not set: it names the folder of the corpora.'; exit 1; }
	mkdir -p bin
	go build -o bin/jianguo-profiled ./cmd/jianguo
	rm -rf bin/profiled
	bin/jianguo-profiled ingest --data bin/profiled --cpu-profile bin/cpu.prof $(JIANGUO_CORPUS)/news-dev.jsonl.gz
	go run ./scripts/barepgo <bin/cpu.prof >$(PROFILE)
	rm -rf bin/profiled bin/jianguo-profiled bin/cpu.prof

clean:
	rm -rf bin

-include quality.mk console.mk
