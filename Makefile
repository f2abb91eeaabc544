# Versions are pinned here and nowhere else.
GOLANGCI = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE = go run golang.org/x/tools/cmd/deadcode@v0.52.0
BENCHSTAT = go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
NFPM = go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
FUZZTIME ?= 60s

# The tools of internal/tools/lab, a module of its own, run in this folder.
LAB_BIN = $(or $(TMPDIR),/tmp)
LAB = go build -C internal/tools/lab -o $(LAB_BIN)

.PHONY: all build test race clients lint generate golden fuzz bench benchcmp bench-peers bench-instr bench-cache bench-paired ci packages web

all: build test

build:
	CGO_ENABLED=0 go build ./...

test:
	go test ./...

race:
	go test -race ./...

# The modules in clients, with Python 3 and Node.js.
clients:
	go build -o "$${TMPDIR:-/tmp}/qdissect-clients" ./cmd/qdissect
	QDISSECT_BIN="$${TMPDIR:-/tmp}/qdissect-clients" python3 -W error -m unittest discover clients/python
	cd clients/node && QDISSECT_BIN="$${TMPDIR:-/tmp}/qdissect-clients" node --test

# What no program reaches is dead, except the public packages and what they and
# the tests need. There, only what is exported may be out of reach.
LIVE = ^internal/(hostile|mkpcap|must|tools/scenes)/|func: CheckConversation$$
lint:
	gofmt -l . | (! grep .)
	go vet ./... && go vet -C internal/tools/lab ./...
	$(STATICCHECK) ./...
	$(GOLANGCI) run --allow-parallel-runners ./...
	cd fleet && $(STATICCHECK) -tags long ./... && $(GOLANGCI) run --allow-parallel-runners --build-tags long ./...
	dead=$$($(DEADCODE) ./...) && ! echo "$$dead" | grep -E '^(cmd|internal)/' | grep -vE "$(LIVE)"
	dead=$$($(DEADCODE) -test ./...) && ! echo "$$dead" | grep -v '_test\.go:' | grep -E 'func: (\w+\.)?[a-z]\w*$$'

# The lists of fields, findings, games and names in filters; a test fails when they are old.
generate:
	go run ./cmd/qdissect protocols --fields --markdown > docs/fields.md
	go run ./cmd/qdissect protocols --findings --markdown > docs/findings.md
	go run ./cmd/qdissect protocols --causes --markdown > docs/causes.md
	go run ./cmd/qdissect protocols --games --markdown > docs/games.md
	go test ./cmd/qdissect -run '^TestFilterPage$$' -update

# Write the goldens again. Read what changed before you commit it.
golden:
	go test ./cmd/qdissect -run "^Test(Golden|Scripts|ReportPages|Readme|Questions)$$" -update
	go test ./internal/top -update
	QDISSECT_UPDATE=1 go test ./dissect -run "^TestTranscripts$$"
	go test ./report -run "^TestForms$$" -update

# Every fuzz target for FUZZTIME, one after the other, and FuzzSamples so long for each protocol.
fuzz:
	@for module in . fleet; do for pkg in $$(go -C $$module list ./...); do \
		for target in $$(go -C $$module test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			for one in $$([ $$target = FuzzSamples ] && ls dissect/*/testdata/samples.txt | cut -d/ -f2 || echo all); do \
				echo "== $$pkg $$target $$one"; \
				QDISSECT_PROTOCOL=$$one go -C $$module test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2x $$pkg || exit 1; \
			done; \
		done; \
	done; done

# Benchmarks, six runs each; compare two outputs with make benchcmp OLD=a NEW=b.
bench:
	go test -run '^$$' -bench . -benchmem -count 6 ./...

benchcmp:
	$(BENCHSTAT) $(OLD) $(NEW)

# The site, dist/web/index.html: docs/web.md. Needs xz.
web:
	go run ./internal/tools/mksite

# Packages, archives, their checksums and lists of components in dist: docs/packages.md.
# PACKAGES="-only linux/amd64 -formats deb" makes a part of it.
packages:
	NFPM='$(NFPM)' packaging/build $(PACKAGES)

ci:
	.ci/run

# Times of docs/performance.md, on this machine; SLOW=1 for tshark's
# text and JSON, which take minutes.
bench-peers:
	SLOW=$(SLOW) internal/tools/lab/benchtimes 3000000 5 > $(LAB_BIN)/bench-peers.txt
	$(BENCHSTAT) $(LAB_BIN)/bench-peers.txt

# Instructions per packet, counted by valgrind; BASE=PROGRAM compares with
# another build. Four minutes, or eight.
bench-instr:
	CGO_ENABLED=0 go build -o $(or $(TMPDIR),/tmp)/qdissect-bench ./cmd/qdissect
	internal/tools/lab/benchinstr $(or $(TMPDIR),/tmp)/qdissect-bench $(BASE)

# Instructions and cache misses per packet by stage, on a capture with compressed
# replies. Two minutes. It fails if there are 5 % more misses than docs/performance.md has.
bench-cache:
	CGO_ENABLED=0 go build -o $(or $(TMPDIR),/tmp)/qdissect-bench ./cmd/qdissect
	internal/tools/lab/benchinstr -cache $(or $(TMPDIR),/tmp)/qdissect-bench > $(or $(TMPDIR),/tmp)/qdissect-bench.txt
	@cat $(or $(TMPDIR),/tmp)/qdissect-bench.txt
	@awk -F' *[|] *' 'FNR == NR { if (sub(/, misses$$/, "", $$2)) for (i = 3; i <= 5; i++) most[$$2 i] = 1.05 * $$i; next } \
		$$3 == "instructions" { name = $$2 } \
		$$2 == "all" { for (i = 3; i <= 5; i++) if ($$(i + 1) > most[name i]) { print name ": " $$(i + 1) " misses, at most " most[name i]; bad = 1 } } \
		END { exit bad }' docs/performance.md $(or $(TMPDIR),/tmp)/qdissect-bench.txt

# This build against another, OLD=PROGRAM, in turn: on a machine that does nothing else.
bench-paired:
	internal/tools/lab/benchtimes 400000 13 $(OLD) > $(LAB_BIN)/bench-paired.txt
	$(BENCHSTAT) -col pkg $(LAB_BIN)/bench-paired.txt
