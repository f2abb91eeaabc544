package main

import (
	"net"
	"testing"
)

// TestAsksHere asks a server by names.
func TestAsksHere(t *testing.T) {
	loopback, all := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9317}, &net.TCPAddr{IP: net.IPv4zero, Port: 9317}
	for host, want := range map[string]bool{
		"": true, "localhost": true, "localhost:9317": true, "127.0.0.1:9317": true, "127.8.9.1": true, "[::1]:9317": true, "[::1]": true,
		"example.com": false, "example.com:9317": false, "localhost.example.com": false, "192.0.2.1:9317": false, "127.0.0.1.example.com": false,
	} {
		if got := asksHere(loopback, host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
		if !asksHere(all, host) {
			t.Errorf("%q is refused where others reach the server", host)
		}
	}
}
