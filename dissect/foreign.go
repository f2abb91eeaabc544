package dissect

import "github.com/qdissect/qdissect/internal/nettext"

// Foreign describes traffic that no protocol owns, such as all.Foreign(). A nil
// Foreign describes nothing.
type Foreign struct {
	// Name names the likely protocol of a payload, "" if it is not known.
	Name func(payload []byte) string
	// Login returns the offset of the password in a payload, or the length of the
	// payload if there is none.
	Login func(payload []byte) int
}

// LooksLike names the likely protocol of a payload, "" if it is not known.
func (f *Foreign) LooksLike(payload []byte) string {
	if f == nil {
		return ""
	}
	return f.Name(payload)
}

// AppendGuess appends "looks like" and the likely protocol of a payload, nothing if
// it is not known.
func (f *Foreign) AppendGuess(dst, payload []byte) []byte {
	if name := f.LooksLike(payload); name != "" {
		return append(append(dst, "looks like "...), name...)
	}
	return dst
}

// Shown masks the secrets in bytes that no protocol could decode: everything from
// the start of a possible password, since its end is not known. Passwords are found
// by the words that introduce them, such as rcon, and by Login.
func (f *Foreign) Shown(b []byte) []byte { return nettext.Mask(nil, b, f.secretAt(b)) }

func (f *Foreign) secretAt(b []byte) int {
	at := nettext.SecretAt(b)
	if f != nil {
		at = min(at, f.Login(b))
	}
	return at
}

// Shown returns the payload with secrets masked as by [Foreign.Shown], or unmasked
// if secrets is true.
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
