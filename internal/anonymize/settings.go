package anonymize

import (
	"bytes"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
)

// A kind is what the key of a setting says about its value.
type kind struct {
	privacy dissect.Privacy
	numbers bool // numbers are replaced too
	fact    bool // of the game, or privacy if the value has an equals sign
	version bool // a version if the value looks like one
}

func kindOf(key string) (k kind) {
	key = strings.ToLower(strings.TrimSpace(key))
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(key, p) })
	}
	k.fact, k.version = facts()[key], has("version")
	switch {
	case names()[key]:
		k.privacy, k.numbers = dissect.PersonName, true
	case has("challenge"):
		k.privacy, k.numbers = dissect.Token, true
	case has("pass", "pwd"):
		k.privacy = core.Key // 0 and 1 say only whether there is a password
	case has("guid", "hash", "steamid", "steam_id", "uuid", "cdkey", "cd_key", "token", "ticket", "secret", "serial", "xuid", "blaid"):
		k.privacy, k.numbers = dissect.PersonID, true
	case has("hostname", "servername", "server_name"):
		k.privacy, k.numbers = dissect.ServerText, true
	default:
		k.privacy = dissect.ServerText
	}
	return k
}

// Limits of the cached kinds.
const maxKinds, maxKind = 1 << 12, 64

// settingRole returns the role of a setting with a key and a value, and whether numbers in
// it are replaced too.
func (w *rewriter) settingRole(key, v []byte) (r dissect.Privacy, numbers bool) {
	k, ok := w.kinds[string(key)]
	if !ok {
		k = kindOf(string(key))
		if len(w.kinds) >= maxKinds {
			clear(w.kinds)
		}
		if len(key) <= maxKind {
			w.kinds[string(key)] = k
		}
	}
	if k.fact && bytes.IndexByte(v, '=') < 0 || k.version && versionLike(v) {
		return dissect.Public, false // Unreal Tournament 3 puts other settings after equals signs
	}
	return k.privacy, k.numbers
}
