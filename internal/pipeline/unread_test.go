package pipeline

import "testing"

// TestStreams: the guessed protocols of TCP segments.
func TestStreams(t *testing.T) {
	for _, c := range []struct {
		name     string
		src, dst uint16
		payload  string
		port     uint16
		want     string
	}{
		{"the port of RCON, without payload", 51000, 25575, "", 25575, "Source RCON"},
		{"from it", 25575, 51000, "", 25575, "Source RCON"},
		{"HTTP on another port", 51000, 30000, "GET / HTTP/1.1\r\n", 30000, "HTTP"},
		{"its answer", 30000, 51000, "HTTP/1.1 200 OK\r\n", 30000, "HTTP"},
		{"Minecraft's list", 51000, 25565, "\x10\x00\xff", 25565, "Minecraft"},
		{"nothing known", 51000, 30000, "\x01\x02", 30000, ""},
	} {
		if port, got := streamOf(c.src, c.dst, []byte(c.payload)); port != c.port || got != c.want {
			t.Errorf("%s: %q on port %d, want %q on %d", c.name, got, port, c.want, c.port)
		}
	}
}
