package corpus

import "testing"

// TestForeignCaptures: what real servers and clients of other protocols say gets
// no label, on the ports of ours as well.
func TestForeignCaptures(t *testing.T) {
	for name, ours := range map[string]int{
		"bedrock-gophertunnel": 1, // gamedig asks in Minecraft's query protocol, too
		"cube2":                0,
		"q1-quakespasm":        0,
		"q2-alienarena":        0,
		"qw-mvdsv":             0,
	} {
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
			if unknown == 0 || len(labels) > ours || labels["minecraft"] != ours {
				t.Errorf("%d unknown, labels %v", unknown, labels)
			}
		})
	}
}
