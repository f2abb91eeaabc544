package filter

import (
	"testing"

	"golang.org/x/net/bpf"
)

// BenchmarkMatch matches one query in Ethernet and IPv4, in our machine and in
// that of x/net/bpf.
func BenchmarkMatch(b *testing.B) {
	data := captures()[0].frames[0].data
	for _, bench := range [][2]string{
		{"udp", "udp"},
		{"udp_port", "udp port 27015"},
		{"port", "port 27015"},
		{"host", "host 192.0.2.200"},
		{"portrange", "udp dst portrange 27015-27030"},
		{"bytes", "udp[8:4] = 0xffffffff"},
		{"mixed", "src net 10 or src net 192.0.2 and udp port (27015 or 27016) and not host 198.51.100.7"},
		{"no_match", "tcp port 80 or arp or udp port 53"},
		{"default", Default(linkEthernet).String()},
	} {
		f := parseFor(b, bench[1])
		match := matcherFor(b, bench[1], linkEthernet, Options{})
		p, err := f.Compile(linkEthernet, Options{})
		if err != nil {
			b.Fatal(err)
		}
		vm, err := bpf.NewVM(p.Instructions())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bench[0]+"/machine", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				match(data, len(data))
			}
		})
		b.Run(bench[0]+"/xnet", func(b *testing.B) {
			for b.Loop() {
				if _, err := vm.Run(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		match, err := parseFor(b, "udp port 27015 and not host 192.0.2.1").Matcher(linkEthernet, Options{})
		if err != nil || match == nil {
			b.Fatal(err)
		}
	}
}
