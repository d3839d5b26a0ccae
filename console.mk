# The editors' console: vendored files, items to measure on.

HTMX = 2.0.11
VENDOR = api/console/assets/vendor

.PHONY: vendor-assets console-seed

vendor-assets: ## fetch htmx from its npm package and hold it against its checksum (SUMS=write: note a new one)
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cd "$$dir" && npm pack --silent htmx.org@$(HTMX) >/dev/null && \
		tar xzf htmx.org-$(HTMX).tgz && cp package/dist/htmx.min.js.gz $(CURDIR)/$(VENDOR)/
	cd $(VENDOR) && $(if $(filter write,$(SUMS)),sha256sum htmx.min.js.gz >SHA256SUMS,sha256sum --check SHA256SUMS)

console-seed: ## measure every page of the console on 100,000 generated items
	go test -run none -bench Pages -benchtime 40x -timeout 30m ./api/console
