# The editors' console: pictures, vendored files, a million items to measure on.

HTMX = 2.0.11
VENDOR = api/console/assets/vendor
SEED ?= $(or $(TMPDIR),/tmp)/jianguo-seed

.PHONY: screenshots vendor-assets console-seed

screenshots: ## take the pictures of docs/console.md again, on the sample corpus in headless Chromium
	go run ./internal/consoletest/shots docs/console

vendor-assets: ## fetch htmx from its npm package and hold it against its checksum (SUMS=write: note a new one)
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cd "$$dir" && npm pack --silent htmx.org@$(HTMX) >/dev/null && \
		tar xzf htmx.org-$(HTMX).tgz && cp package/dist/htmx.min.js.gz $(CURDIR)/$(VENDOR)/
	cd $(VENDOR) && $(if $(filter write,$(SUMS)),sha256sum htmx.min.js.gz >SHA256SUMS,sha256sum --check SHA256SUMS)

console-seed: ## fill SEED with a million items, unless it is there, and measure every page on them
	go run ./cmd/jianguo-bench/consoleseed -items 1000000 $(SEED)
