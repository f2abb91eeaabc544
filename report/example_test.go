package report_test

import (
	"net/netip"
	"os"
	"time"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/report"
)

// An analyzer writes JSON lines. The fields of messages need the tree.
func ExampleNewWriter() {
	w := report.NewWriter(os.Stdout, report.NewJSON(report.JSONOptions{}))
	a, err := dissect.New(dissect.Config{Protocols: all.Protocols(), Tree: true}, w)
	if err != nil {
		panic(err)
	}
	a.Datagram(&dissect.Datagram{
		Frame: 1, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Src: netip.MustParseAddrPort("192.0.2.1:51000"), Dst: netip.MustParseAddrPort("198.51.100.1:27015"),
		Payload: []byte("\xff\xff\xff\xffU\xff\xff\xff\xff"),
	})
	a.Flush()
	if err := w.Err(); err != nil {
		panic(err)
	}
	// Output:
	// {"type":"message","frame":1,"time":"2026-01-01T00:00:00.000000000Z","src_ip":"192.0.2.1","src_port":51000,"dst_ip":"198.51.100.1","dst_port":27015,"flow_id":"1:k9MFq+Ze1U+rX4iezNuD4P6G354=","protocol":"a2s","message":"players_request","role":"request","length":9,"wire_length":9,"detect":"header","summary":"players request  challenge -1","a2s":{"type":"U","type_name":"A2S_PLAYER","challenge":-1}}
}
