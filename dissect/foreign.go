package dissect

import "github.com/qdissect/qdissect/internal/nettext"

// Foreign describes traffic that no protocol owns, for people who look at what
// was not recognised; all.Foreign() for example. A nil Foreign knows none.
type Foreign struct {
	// Name names what a payload looks like, "" if nothing comes to mind.
	Name func(payload []byte) string
	// Login returns where the password begins in a payload that carries one,
	// the length of the payload if it carries none.
	Login func(payload []byte) int
}

// LooksLike names what a payload looks like, "" if nothing comes to mind.
func (f *Foreign) LooksLike(payload []byte) string {
	if f == nil {
		return ""
	}
	return f.Name(payload)
}

// AppendGuess appends in words what a payload looks like, nothing if that is not known.
func (f *Foreign) AppendGuess(dst, payload []byte) []byte {
	if name := f.LooksLike(payload); name != "" {
		return append(append(dst, "looks like "...), name...)
	}
	return dst
}

// Shown returns bytes that no protocol could read as people and programs may see
// them: asterisks stand where a password could begin, and for all that follows
// it, since nobody knows where it ends. Passwords are found by the words that
// introduce them, such as rcon, and by Login.
func (f *Foreign) Shown(b []byte) []byte { return nettext.Mask(nil, b, f.secretAt(b)) }

func (f *Foreign) secretAt(b []byte) int {
	at := nettext.SecretAt(b)
	if f != nil {
		at = min(at, f.Login(b))
	}
	return at
}

// Shown returns the payload as people and programs may see it: as
// [Foreign.Shown] does, or all of it if secrets are asked for.
func (u *Unknown) Shown(secrets bool) []byte {
	at := len(u.Payload)
	if !secrets {
		at = u.Foreign.secretAt(u.Payload)
	}
	if at == len(u.Payload) {
		return u.Payload
	}
	u.shown = nettext.Mask(u.shown, u.Payload, at)
	return u.shown
}
