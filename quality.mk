# Detection quality. The bundled sample is measured always; the labelled
# corpora, which are not part of the repository, where JIANGUO_CORPUS names
# their folder.

EVAL = go run ./cmd/jianguo eval

.PHONY: quality quality-report

quality: ## Hold detection quality against its golden file and, with JIANGUO_CORPUS, against real labels.
	go test ./ingest/eval -run "TestQualityGolden|TestEdits"
ifdef JIANGUO_CORPUS
	go test ./segment/cut -tags quality -run CorpusLikeGSE -v
	go test ./ingest/eval -tags quality -run 'Quality$$' -v -timeout 30m
	go test ./api/console -tags quality -run 'Excerpts$$' -v
else
	@echo 'JIANGUO_CORPUS is not set: only the bundled sample was measured.'
endif

quality-report: ## Print every table of docs/QUALITY.md; needs JIANGUO_CORPUS.
ifdef JIANGUO_CORPUS
	$(EVAL) --docs $(JIANGUO_CORPUS)/news-dev.jsonl.gz --labels $(JIANGUO_CORPUS)/news-dev-adds.tsv --corpus --sample 0 --wrong 0
	$(EVAL) --pairs $(JIANGUO_CORPUS)/sohu-b-train.jsonl.gz --pairs $(JIANGUO_CORPUS)/paws-dev.jsonl.gz --pairs $(JIANGUO_CORPUS)/wsdm-dev.jsonl.gz --wrong 0
	$(EVAL) --docs $(JIANGUO_CORPUS)/short-dev.jsonl.gz --corpus --sample 0
	$(EVAL) --docs $(JIANGUO_CORPUS)/broadcast.jsonl.gz --corpus --by published_at --sample 0
	$(EVAL) --docs $(JIANGUO_CORPUS)/techdocs.jsonl.gz --corpus --sample 0
else
	@echo 'JIANGUO_CORPUS is not set: it names the folder of the labelled corpora.'
	@exit 1
endif
