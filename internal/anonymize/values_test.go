package anonymize

import "testing"

func TestKnownGame(t *testing.T) {
	for text, want := range map[string]bool{
		"Counter-Strike: Source": true, "THE SHIP ": true, "": false, "Half-Life of Bob": false, "CO 10 Bob's mission": false,
	} {
		if got := knownGame([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
