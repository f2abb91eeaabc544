package corpus

import "testing"

// TestForeignCaptures checks that traffic of other protocols gets no label, also on
// the ports of ours.
func TestForeignCaptures(t *testing.T) {
	for _, name := range []string{"cube2"} {
		t.Run(name, func(t *testing.T) {
			labels, unknown := map[string]int{}, 0
			for _, l := range capture(t, name) {
				switch {
				case l["type"] != "message":
				case l["protocol"] == "unknown":
					unknown++
				default:
					labels[l["protocol"].(string)]++
				}
			}
			if unknown == 0 || len(labels) > 0 {
				t.Errorf("%d unknown, labels %v", unknown, labels)
			}
		})
	}
}
