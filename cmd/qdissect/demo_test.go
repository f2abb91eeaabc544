package main

import (
	"strings"
	"testing"
)

// TestDemo: the capture is the same each time, has the trouble that the help names, and replaces nothing.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"demo.pcap", "again.pcap"} {
		if out, errs, code := runIn(t, dir, strings.Fields("demo "+name)...); code != exitDone || !strings.Contains(out, "qdissect why "+name) {
			t.Fatalf("%d %s%s", code, out, errs)
		}
	}
	if _, errs, code := runIn(t, dir, "demo"); code != exitTrouble || !strings.Contains(errs, "demo.pcap exists") {
		t.Errorf("%d %s", code, errs)
	}
	report, _, _ := runIn(t, dir, "report", "demo.pcap")
	if again, _, _ := runIn(t, dir, "report", "again.pcap"); again != report {
		t.Errorf("%s\nand again\n%s", report, again)
	}
	for _, want := range []string{"* Forged flood at ", "* Reflection at 203.0.113.77", "* Reflection at 203.0.113.78", "* Junk flood at ", "KINDS OF REQUESTS", "valve-master join"} {
		if !strings.Contains(report, want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	if rules, _, code := runIn(t, dir, "rules", "demo.pcap"); code != exitDone || !strings.Contains(rules, "per second in total") {
		t.Errorf("%d %s", code, rules)
	}
}
