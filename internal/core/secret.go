package core

import "github.com/qdissect/qdissect/internal/nettext"

// Hidden returns a field that replaces f where its value is a secret.
func (f *Field) Hidden() *Field {
	h := *f
	h.Secret, h.Column = true, f
	h.form = h.formOf()
	if h.Privacy == Public {
		h.Privacy = Key
	}
	return &h
}

// Tree reports whether a tree is built.
func Tree(r *Reader) bool { return r.want }

// Hide replaces the field that was read last by hidden, which [Field.Hidden]
// returned for it.
func Hide(r *Reader, hidden *Field) {
	if n := len(r.nodes) - 1; n >= 0 && r.nodes[n].Field == hidden.Column {
		r.nodes[n].Field = hidden
	}
}

// HideSetting hides the value that was read last if the setting is a secret.
func HideSetting(r *Reader, hidden *Field, key, value string) {
	if r.want && len(key) >= len("passw") {
		r.hideSetting(hidden, key, value)
	}
}

func (r *Reader) hideSetting(hidden *Field, key, value string) {
	switch {
	case len(value) == 1 && digit(value[0]): // as most of them are
	case !nettext.SecretKey(key):
	case r.state == failed:
		// What could not be read is a part of it.
		if r.err.Field == hidden.Column {
			r.err.Field = hidden
		}
	case nettext.SecretSetting(key, value):
		Hide(r, hidden)
	}
}
