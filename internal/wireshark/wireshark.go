// Package wireshark writes a script that shows in Wireshark what qdissect found. The
// script decodes nothing: it reads the comments that [report.TreeNote] writes.
package wireshark

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/envelope"
)

//go:embed wireshark.lua
var script string

// A field is a line of the script's list: a letter for the type, the name, and what it is.
type field struct {
	kind      byte
	path, doc string
}

// shared are the fields that all protocols share.
var shared = []field{
	{'s', "protocol", "Protocol of the message."},
	{'s', "message", "Name of the message, such as info_reply."},
	{'s', "role", "request, reply or notice."},
	{'u', "length", "Size of the message in bytes, joined and decompressed."},
	{'s', "alternative", "Another protocol that the message may belong to."},
	{'u', "parts", "Number of parts that came of a split message."},
	{'u', "missing_part", "Number, from 1, of a part that did not come."},
}

// context are those that follow the numbers of the envelope.
var context = []field{
	{'s', "summary", "The line of qdissect about the message."},
	{'q', "request_frame", "Frame of the request that this answers."},
	{'r', "reply_frame", "Frame of a reply to this."},
	{'f', "part_frame", "Frame of another part or fragment of the message."},
	{'f', "whole_frame", "Frame that completed the message of which this is a part."},
	{'f', "icmp_frame", "Frame of the ICMP error about this."},
	{'f', "refused_frame", "Frame that this ICMP error is about."},
	{'n', "server", "Facts about a server, from any protocol."},
}

// findings are those that follow what is said of a server.
var findings = []field{
	{'s', "finding", "Identifier of what is wrong or noteworthy, such as a2s.split.missing."},
	{'s', "finding.severity", "chat, note, warning or error."},
	{'s', "finding.text", "What is wrong or noteworthy."},
	{'s', "cut", "The tree did not fit into the comment."},
}

// kinds are the types of the fields of protocols.
var kinds = map[dissect.Kind]byte{
	dissect.Bytes: 'x', dissect.String: 's', dissect.Uint: 'u', dissect.Int: 'i', dissect.Float: 'd', dissect.Bool: 'b', dissect.Char: 's',
	dissect.ID: 'u', dissect.Decimal: 'd', dissect.Endpoint: 's', dissect.Group: 'n', dissect.List: 'n',
}

// Script returns the script for the fields of some protocols. version is that of the
// program.
func Script(protocols []*dissect.Protocol, version string) string {
	var b strings.Builder
	for _, f := range fields(protocols) {
		fmt.Fprintf(&b, "%c %s %s\n", f.kind, f.path, f.doc)
	}
	return strings.NewReplacer("@VERSION@", version, "@FIELDS@", b.String()).Replace(script)
}

// kindOf returns the type of a key of the envelope.
func kindOf(k *envelope.Key) byte {
	switch k.Kind {
	case envelope.Nanoseconds:
		return 't'
	case envelope.Mark, envelope.Flag:
		return 'b'
	case envelope.Word, envelope.Text:
		return 's'
	}
	return 'u'
}

func fields(protocols []*dissect.Protocol) []field {
	list := slices.Clone(shared)
	for _, k := range envelope.Read(envelope.Message | envelope.Answer) {
		if name := k.TreeName(); name != "" {
			list = append(list, field{kindOf(k), name, cmp.Or(k.TreeDoc, k.Schema)})
		}
	}
	list = append(list, context...)
	for i := range envelope.Lookup("server").Fields {
		k := &envelope.Lookup("server").Fields[i]
		list = append(list, field{kindOf(k), "server." + k.Name, cmp.Or(k.TreeDoc, k.Schema)})
	}
	list = append(list, findings...)
	for _, p := range protocols {
		list = append(list, field{'n', p.JSONKey(), p.Title + "."})
		for _, f := range p.Catalog.Fields() {
			path := p.JSONKey() + strings.TrimPrefix(f.Path, p.Name)
			list = append(list, field{kinds[f.Kind], path, f.Doc})
			also := func(kind byte, suffix, doc string) { list = append(list, field{kind, path + suffix, doc}) }
			switch f.Kind {
			case dissect.Endpoint:
				also('a', ".ip", "IPv4 address.")
				also('A', ".ip6", "IPv6 address.")
				also('u', ".port", "Port.")
			case dissect.Decimal, dissect.Float:
				also('s', core.TextSuffix, "Text in place of a number.")
			}
			if len(f.Names) > 0 {
				also('s', "_name", "What the value means.")
			}
			if f.Style != dissect.NoStyle {
				also('s', "_plain", "Without colour codes.")
			}
		}
	}
	return list
}
