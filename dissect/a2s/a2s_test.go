package a2s

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/dsnet/compress/bzip2"

	"github.com/qdissect/qdissect/dissect"
	"github.com/qdissect/qdissect/dissect/dissecttest"
	"github.com/qdissect/qdissect/internal/core"
	"github.com/qdissect/qdissect/internal/must"
	"github.com/qdissect/qdissect/reassembly"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b := must.Get(hex.DecodeString(strings.Join(strings.Fields(s), "")))(t)
	return b
}

// The example packets of the documents.
const (
	docInfoSource = `FF FF FF FF 49 02 67 61 6D 65 32 78 73 2E 63 6F 6D 20 43 6F 75 6E 74 65 72 2D 53 74 72 69 6B 65
		20 53 6F 75 72 63 65 20 23 31 00 64 65 5F 64 75 73 74 00 63 73 74 72 69 6B 65 00 43 6F 75 6E 74 65 72 2D 53 74 72
		69 6B 65 3A 20 53 6F 75 72 63 65 00 F0 00 05 10 04 64 6C 00 00 31 2E 30 2E 30 2E 32 32 00`
	docInfoShip = `FF FF FF FF 49 07 53 68 69 70 20 53 65 72 76 65 72 00 62 61 74 61 76 69 65 72 00 73 68 69 70 00
		54 68 65 20 53 68 69 70 00 60 09 01 05 00 6C 77 00 00 01 03 03 31 2E 30 2E 30 2E 34 00`
	docInfoSin = `FF FF FF FF 49 2F 53 65 6E 73 65 6D 61 6E 6E 20 53 69 4E 20 44 4D 00 70 61 72 61 64 6F 78 00 53 69 4E 20 31 00
		53 69 4E 20 31 00 1D 05 00 10 00 6C 77 00 00 31 2E 30 2E 30 2E 30 00`
	docInfoRagDoll = `FF FF FF FF 49 FC 54 68 65 20 44 75 64 65 27 73 20 64 6F 6A 6F 00 53 6F 63 63 65 72 00 52 44 4B 46 53 6F 63 63
		65 72 00 52 61 67 44 6F 6C 6C 4B 75 6E 67 46 75 3A 20 53 6F 63 63 65 72 00 EA 03 01 04 00 00 77 00 00 32 2E 33 2E 30 2E 30 00`
	docChallenge = `FF FF FF FF 41 32 42 59 45`
)

// infoFull has every optional field of a Source reply.
const infoFull = "\xff\xff\xff\xffI\x11Full \xc3\xa9 server\x00ctf_2fort\x00tf\x00Team Fortress\x00\x00\x00\x18\x20\x02dl\x01\x01" +
	"8622567\x00\xf1\x87\x69\x0a\x0b\x0c\x0d\x01\x00\x10\x01\x8c\x69SourceTV\x00ctf,nocrits\x00\xd4\x5c\x12\x00\x00\x00\x00\x00"

const infoGoldSrcMod = "\xff\xff\xff\xffm192.0.2.7:27015\x00Gold\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0c\x12\x2fdl\x00\x01" +
	"www.counter-strike.net\x00\x00\x00\x01\x00\x00\x00\x00\x9e\xf7\x0a\x00\x01\x01\x00"

const infoFuel = "\xff\xff\xff\xffI\x02A server\x00FL-Gnaw\x00FOW\x00FL\x00Frontlines: Fuel of War\x001.3.0\x00\x15\x64\x02\x20dw\x01\x00\x1e\x00\x03\x07\x08"

const infoHLTVReply = "\xff\xff\xff\xffm127.0.0.1:27020\x00HLTV Proxy\x00de_nuke\x00cstrike\x00Counter-Strike\x00\x00\x64\x30pl\x00\x00"

const infoModLeftOut = "\xff\xff\xff\xffm127.0.0.1:27015\x00No block\x00boot_camp\x00valve\x00Half-Life\x00\x00\x10\x30dw\x00\x01\x00\x00"

const (
	playersTwo = "\xff\xff\xff\xffD\x02\x00Alice\x00\x0e\x00\x00\x00\x00\x00\xc8\x42\x01Bob\x00\xfd\xff\xff\xff\x00\x00\x80\xbf"
	playersLow = "\xff\xff\xff\xffD\x01\x00Alice\x00\x0e\x00\x00\x00\x00\x00\xc8\x42\x01Bob\x00\xfd\xff\xff\xff\x00\x00\x80\x3f"
	// The Ship: two records, then deaths and money of both.
	playersShip = playersTwo + "\x01\x00\x00\x00\xc4\x09\x00\x00\x02\x00\x00\x00\x3c\xf6\xff\xff"
	rulesThree  = "\xff\xff\xff\xffE\x03\x00mp_timelimit\x0030\x00sv_tags\x00\x00mp_timelimit\x0031\x00"
)

// armaBlob is a server browser message with one add-on, two mods (one of them an add-on
// with a one-byte identifier) and two signatures. It contains each of the bytes that
// are escaped.
const armaBlob = "\x03\x00\x01\x00\x89\x01\x10\xc5\xa5\x58" +
	"\x02\x10\x20\x30\xff\x04\x15\xe4\xde\x1a\x05CBA_A\x00\x01\x02\x00\x11\x07\x04Zeus" +
	"\x02\x02a3\x03cba"

// binaryRules escapes a blob and cuts it into pieces of n bytes.
func binaryRules(blob string, n int, plain string, plainRules int) string {
	escaped := strings.NewReplacer("\x01", "\x01\x01", "\x00", "\x01\x02", "\xff", "\x01\x03").Replace(blob)
	var pieces []string
	for len(escaped) > 0 {
		k := min(n, len(escaped))
		pieces = append(pieces, escaped[:k])
		escaped = escaped[k:]
	}
	var b strings.Builder
	b.WriteString("\xff\xff\xff\xffE")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(pieces)+plainRules)))
	for i, p := range pieces {
		b.WriteString(string([]byte{byte(i + 1), byte(len(pieces)), 0}) + p + "\x00")
	}
	b.WriteString(plain)
	return b.String()
}

// longRules is a message that needs several parts.
func longRules() []byte {
	b := []byte("\xff\xff\xff\xffE\x50\x00")
	for i := range 80 {
		b = fmt.Appendf(b, "sv_some_longer_setting_%d\x00value %d of it\x00", i, i*i)
	}
	return b
}

func pack(t testing.TB, plain []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := must.Get(bzip2.NewWriter(&z, &bzip2.WriterConfig{Level: 9}))(t)
	must.Get(w.Write(plain))(t)
	must.Do(t, w.Close())
	return z.Bytes()
}

// cut splits a message into parts in one of the formats.
func cut(message []byte, variant uint8, id uint32, size int, unpacked uint32, crc uint32) (parts [][]byte) {
	total := (len(message) + size - 1) / size
	for i := range total {
		b := binary.LittleEndian.AppendUint32([]byte("\xfe\xff\xff\xff"), id)
		if variant == goldSrc {
			b = append(b, byte(i<<4|total))
		} else {
			b = append(b, byte(total), byte(i))
			if variant == source || variant == sourcePackedSize {
				b = binary.LittleEndian.AppendUint16(b, 1248)
			}
			if i == 0 && (variant == sourcePacked || variant == sourcePackedSize) {
				b = binary.LittleEndian.AppendUint32(b, unpacked)
				b = binary.LittleEndian.AppendUint32(b, crc)
			}
		}
		parts = append(parts, append(b, message[i*size:min((i+1)*size, len(message))]...))
	}
	return parts
}

func packed(t testing.TB, variant uint8, size int, plain []byte) [][]byte {
	t.Helper()
	return cut(pack(t, plain), variant, 0x80001234, size, uint32(len(plain)), crc32.ChecksumIEEE(plain))
}

// repeat copies the unpacked size and the CRC-32 from the header of the first part into
// the headers of all parts.
func repeat(parts [][]byte, header int) [][]byte {
	for i := range parts[1:] {
		parts[i+1] = slices.Insert(parts[i+1], header, parts[0][header:header+packedExtra]...)
	}
	return parts
}

func samples(t testing.TB) []dissecttest.Sample {
	const possible, likely, certain = dissect.Possible, dissect.Likely, dissect.Certain
	one := dissecttest.One
	with := func(s dissecttest.Sample, findings ...string) dissecttest.Sample { s.Findings = findings; return s }
	sound := func(s dissecttest.Sample, at ...int) dissecttest.Sample { s.Sound = at; return s }
	cuttable := func(s dissecttest.Sample) dissecttest.Sample { s.Cut = true; return s }
	doc := func(name, message, dump string) dissecttest.Sample {
		return one(name, message, likely, string(unhex(t, dump)))
	}
	split := func(name string, verdict dissect.Verdict, parts [][]byte, findings ...string) dissecttest.Sample {
		return dissecttest.Sample{Name: name, Parts: parts, Message: "rules_reply", Verdict: verdict, Findings: findings}
	}
	long := longRules()
	return []dissecttest.Sample{
		cuttable(one("ping request", "ping_request", likely, "\xff\xff\xff\xffi")),
		cuttable(one("ping reply of GoldSrc", "ping_reply", likely, "\xff\xff\xff\xffj\x00")),
		cuttable(one("ping reply of Source", "ping_reply", likely, "\xff\xff\xff\xffj000000000000000\x00")),
		cuttable(one("ping reply, the letter alone", "ping_reply", possible, "\xff\xff\xff\xffj")),
		cuttable(one("challenge request", "challenge_request", likely, "\xff\xff\xff\xffW")),
		doc("challenge", "challenge_reply", docChallenge),
		cuttable(one("connection challenge of Source", "challenge_reply", likely, "\xff\xff\xff\xffA\x33\x49\x4f\x5a\x01\x02\x03\x04\x05\x06\x07\x08\x03\x00\x00\x00\x00\x00\x01")),
		cuttable(one("connection challenge of GoldSrc", "challenge_reply", likely, "\xff\xff\xff\xffA00000000 1234567890 3 76561198000000000 1\n\x00")),
		cuttable(one("info request", "info_request", certain, "\xff\xff\xff\xffTSource Engine Query\x00")),
		cuttable(one("info request with challenge", "info_request", certain, "\xff\xff\xff\xffTSource Engine Query\x00\x32\x42\x59\x45")),
		cuttable(one("info request padded", "info_request", certain, "\xff\xff\xff\xffTSource Engine Query\x00"+strings.Repeat("\x00", 200))),
		cuttable(one("info request with challenge and padding", "info_request", certain, "\xff\xff\xff\xffTSource Engine Query\x00\x32\x42\x59\x45"+strings.Repeat("\x00", 100))),
		cuttable(with(one("info request with -1", "info_request", certain, "\xff\xff\xff\xffTSource Engine Query\x00\xff\xff\xff\xff"), "a2s.info.bogus_challenge")),
		cuttable(with(one("info request without its end", "info_request", certain, "\xff\xff\xff\xffTSource Engine Query"), "a2s.info.noterm")),
		cuttable(with(one("info request of a scanner", "info_request", likely, "\xff\xff\xff\xffTSource Engine\x00"), "a2s.info.query")),
		doc("info of Source", "info_reply", docInfoSource),
		doc("info of The Ship", "info_reply", docInfoShip),
		doc("info of SiN 1", "info_reply", docInfoSin),
		doc("info of Rag Doll Kung Fu", "info_reply", docInfoRagDoll),
		sound(one("info with all extra data", "info_reply", likely, infoFull), 65), // before the extra data flag
		with(one("info of another layout", "info_reply", likely, "\xff\xff\xff\xffI\x02A server\x00FL-Gnaw\x00FOW\x00FL\x00Frontlines: Fuel of War\x001.3.0\x00\x15\x64"), "a2s.info.layout", "malformed"),
		one("info request of Frontlines", "info_request", dissect.Certain, "\xff\xff\xff\xffFLSQ"),
		one("info of Frontlines", "info_reply", likely, infoFuel),
		with(one("info of Frontlines with too many players", "info_reply", likely, strings.Replace(infoFuel, "\x15\x64\x02\x20", "\x15\x64\x21\x20", 1)), "a2s.info.counts"),
		cuttable(one("info of GoldSrc with mod", "info_reply", likely, infoGoldSrcMod)),
		cuttable(with(one("info with values that are not defined", "info_reply", likely, strings.Replace(infoFull, "dl\x01\x01", "xz\x01\x02", 1)), "value.undefined", "value.undefined", "value.undefined")),
		cuttable(with(one("info of The Ship with a mode that is not defined", "info_reply", likely, strings.Replace(string(unhex(t, docInfoShip)), "lw\x00\x00\x01", "lw\x00\x00\x09", 1)), "value.undefined")),
		one("info of HLTV", "info_reply", likely, infoHLTVReply),
		cuttable(with(one("info with the mod left out", "info_reply", likely, infoModLeftOut), "a2s.info.nomod")),
		cuttable(one("players request", "players_request", likely, "\xff\xff\xff\xffU\x32\x42\x59\x45")),
		cuttable(one("players request of old clients", "players_request", possible, "\xff\xff\xff\xffU")),
		sound(with(one("players request with -1 twice", "players_request", likely, "\xff\xff\xff\xffU\xff\xff\xff\xff\xff\xff\xff\xff"), "trailing"), 5, 9),
		one("players", "players_reply", likely, playersTwo),
		one("no players", "players_reply", likely, "\xff\xff\xff\xffD\x00"),
		sound(with(one("players, count too low", "players_reply", likely, playersLow), "a2s.players.count"), 21, 29),
		with(one("players, count too high", "players_reply", likely, "\xff\xff\xff\xffD\x05"+playersTwo[6:]), "a2s.players.count"),
		with(one("players, cut", "players_reply", likely, playersTwo[:len(playersTwo)-3]), "a2s.players.cut", "a2s.players.count"),
		sound(one("players of The Ship", "players_reply", likely, playersShip), len(playersTwo)),
		cuttable(with(one("players and a stray byte", "players_reply", likely, playersTwo+"x"), "trailing")),
		cuttable(with(one("players and padding", "players_reply", likely, playersTwo+strings.Repeat("\x00", 24)), "trailing")),
		cuttable(with(one("players of The Ship and a stray byte", "players_reply", likely, playersShip+"x"), "trailing")),
		cuttable(with(one("no players and a stray byte", "players_reply", possible, "\xff\xff\xff\xffD\x00x"), "trailing")),
		cuttable(with(one("one player more than announced, as long as The Ship's block and a byte", "players_reply", likely, "\xff\xff\xff\xffD\x02"+playersTwo[6:]+"\x00Charlie\x00\x01\x00\x00\x00\x00\x00\x80\x3f"), "a2s.players.count")),
		with(one("players without names", "players_reply", likely, "\xff\xff\xff\xffD\x02\x00\x00\x01\x00\x00\x00\x00\x00\xc8\x42\x00\x00\x02\x00\x00\x00\x00\x00\xc9\x42"), "a2s.players.unnamed"),
		with(one("hidden players of CS:GO", "players_reply", likely, "\xff\xff\xff\xffD\x01\x00Max Players\x00\x18\x00\x00\x00\x00\x00\xc8\x42"), "a2s.players.max_entry"),
		cuttable(one("rules request", "rules_request", likely, "\xff\xff\xff\xffV\x32\x42\x59\x45")),
		one("rules", "rules_reply", likely, rulesThree),
		with(one("rules, cut", "rules_reply", likely, rulesThree[:len(rulesThree)-4]), "a2s.rules.truncated"),
		sound(with(one("rules, count too low", "rules_reply", likely, strings.Replace(rulesThree, "E\x03", "E\x02", 1)), "a2s.rules.count"), 32),
		cuttable(with(one("rules and a stray byte", "rules_reply", likely, rulesThree+"x"), "trailing")),
		cuttable(with(one("rules and a stray zero byte", "rules_reply", likely, rulesThree+"\x00"), "trailing")),
		cuttable(with(one("rules and padding", "rules_reply", likely, rulesThree+strings.Repeat("\x00", 4)), "trailing")),
		cuttable(with(one("no rules and a stray byte", "rules_reply", possible, "\xff\xff\xff\xffE\x00\x00x"), "trailing")),
		cuttable(with(one("rules, count big-endian, and a stray byte", "rules_reply", likely, strings.Replace(rulesThree, "E\x03\x00", "E\x00\x03", 1)+"x"), "a2s.rules.bigendian", "trailing")),
		with(one("rules, count big-endian", "rules_reply", likely, strings.Replace(rulesThree, "E\x03\x00", "E\x00\x03", 1)), "a2s.rules.bigendian"),
		one("binary rules", "rules_reply", likely, binaryRules(armaBlob, 20, "", 0)),
		one("binary rules, cut inside an escape", "rules_reply", likely, binaryRules(armaBlob, 1, "", 0)),
		one("plain rule that begins like binary ones", "rules_reply", likely, "\xff\xff\xff\xffE\x02\x00\x01a\x00x\x00b\x00y\x00"),
		one("binary rules and others", "rules_reply", likely, binaryRules(armaBlob, 40, "island\x00Altis\x00", 1)),
		with(one("binary rules, cut inside", "rules_reply", likely, binaryRules(armaBlob[:len(armaBlob)-7], 40, "", 0)), "a2s.rules.binary_broken"),
		one("binary rules with trailing data", "rules_reply", likely, binaryRules(armaBlob+"more", 100, "", 0)),
		one("binary rules of DayZ", "rules_reply", likely, binaryRules("\x02\x00\x00\x00\x01\x10\x20\x30\x40\x04\x15\xe4\xde\x1a\x02CF\x01\x04dayz", 100, "", 0)),
		split("GoldSrc split", certain, cut(long, goldSrc, 7, 1391, 0, 0)),
		split("Source split", certain, cut(long, source, 7, 1248, 0, 0)),
		split("Source split without size", certain, cut(long, sourceNoSize, 7, 1248, 0, 0)),
		split("Source split in one part", certain, cut([]byte(rulesThree), source, 7, 1248, 0, 0)),
		split("Source split, bit 15", certain, cut(long, source, 0x8007, 1248, 0, 0), "a2s.split.bit15"),
		split("compressed", certain, packed(t, sourcePacked, 400, long)),
		split("compressed with size", certain, packed(t, sourcePackedSize, 400, long)),
		split("compressed, size and CRC-32 in every part", certain, repeat(packed(t, sourcePacked, 400, long), noSizeHeader)),
		split("compressed with size, size and CRC-32 in every part", certain, repeat(packed(t, sourcePackedSize, 400, long), sizeHeader)),
		split("compressed in one part", certain, packed(t, sourcePacked, 4000, []byte(rulesThree))),
		split("marked as compressed, but plain", certain, cut(long, source, 0x80000007, 1248, 0, 0), "a2s.bz2.plain"),
		{Name: "compressed, wrong CRC-32", Parts: cut(pack(t, long), sourcePacked, 1<<31, 5000, uint32(len(long)), 1), Message: "split", Findings: []string{"a2s.bz2.crc"}},
		{Name: "compressed, wrong size", Parts: cut(pack(t, long), sourcePacked, 1<<31, 5000, uint32(len(long))+1, 1), Message: "split", Findings: []string{"a2s.bz2.size"}},
		{Name: "compressed, more than announced", Parts: cut(pack(t, long), sourcePacked, 1<<31, 5000, 100, 1), Message: "split", Findings: []string{"a2s.bz2.long"}, Allocates: true},
		{Name: "bomb", Parts: cut(pack(t, make([]byte, 1<<20)), sourcePacked, 1<<31, 5000, 1<<30, 1), Message: "split", Findings: []string{"a2s.bz2.bomb"}},
		{Name: "split of an unknown message", Parts: [][]byte{[]byte("\xfe\xff\xff\xff\x01\x00\x00\x00\x01\x00\xe0\x04nonsense")}, Message: "split", Findings: []string{"a2s.split.guess", "a2s.split.unread"}},
		cuttable(with(one("challenge of qstat's tests, with five FF", "challenge_reply", likely, "\xff\xff\xff\xff\xffA2BYES\x93Cq"), "a2s.header.extra", "trailing")),
		cuttable(one("connect request", "connect_request", certain, "\xff\xff\xff\xffqconnect0x12345678\x00")),
		cuttable(one("connect request with a number", "connect_request", possible, "\xff\xff\xff\xffq\x01\x02\x03\x04")),
		cuttable(one("join request", "join_request", possible, "\xff\xff\xff\xffk\x18\x00\x00\x00\x03\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08Alice\x00hunter2\x002000\x00\x04\x00\x01\x02\x03\x04")),
		cuttable(one("connected", "connect_reply", possible, "\xff\xff\xff\xffB01234\x00")),
		cuttable(with(one("connection rejected", "connect_reject", possible, "\xff\xff\xff\xff9Server is full\x00"), "a2s.refused")),
		cuttable(one("rcon challenge", "rcon_challenge_reply", certain, "\xff\xff\xff\xffchallenge rcon 3141592653\n\x00")),
		cuttable(with(one("print", "print", possible, "\xff\xff\xff\xfflBad rcon_password.\n\x00"), "a2s.refused")),
		cuttable(one("log line", "log", certain, "\xff\xff\xff\xffRL 10/05/2020 - 12:00:00: Server shutdown\n\x00")),
		cuttable(one("log line of a command", "log", certain, "\xff\xff\xff\xffRL 10/05/2020 - 12:00:00: rcon from \"192.0.2.7:5\": command \"sv_password hunter2\"\n\x00")),
		cuttable(one("log line with secret", "log", certain, "\xff\xff\xff\xffShunter2L 10/05/2020 - 12:00:00: Server shutdown\n\x00")),
		with(one("unknown letter", "unknown", possible, "\xff\xff\xff\xff\x99\x01\x02"), "a2s.type"),
		with(one("header only", "unknown", possible, "\xff\xff\xff\xff"), "a2s.empty"),
	}
}

func TestConformance(t *testing.T) { dissecttest.Run(t, Protocol(), samples(t)) }

func FuzzDecode(f *testing.F) { dissecttest.Fuzz(f, Protocol(), samples(f)) }

// TestSplitFormats checks that the content of the parts decides their format, not the
// kind of reply: GoldSrc engines that answer info as Source does still split as
// GoldSrc.
func TestSplitFormats(t *testing.T) {
	long := longRules()
	for _, tc := range []struct {
		variant uint8
		size    int
	}{{goldSrc, 1391}, {goldSrc, 300}, {source, 1248}, {source, 1188}, {source, 300}, {sourceNoSize, 1248}, {sourceNoSize, 250}, {sourcePacked, 200}, {sourcePackedSize, 200}} {
		parts := cut(long, tc.variant, 42, tc.size, 0, 0)
		if tc.variant == sourcePacked || tc.variant == sourcePackedSize {
			parts = packed(t, tc.variant, tc.size, long)
		}
		// The deciding part may arrive last.
		for rotate := range parts {
			turned := append(slices.Clone(parts[rotate:]), parts[:rotate]...)
			got := dissecttest.Decode(t, Protocol(), turned...)
			if got.Type != mRulesReply || got.Length != len(long) || got.Split.Parts != len(parts) || got.Split.Variant != formats[tc.variant].name {
				t.Fatalf("variant %d, size %d, rotated by %d: %s of %d bytes, %+v", tc.variant, tc.size, rotate, got.Type.Name, got.Length, got.Split)
			}
			if got.Split.Compressed != (tc.variant >= sourcePacked) {
				t.Errorf("variant %d: compressed %v", tc.variant, got.Split.Compressed)
			}
		}
	}
}

// TestLimits checks the numbers of docs/limits.md: how large a message a header may
// announce.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		packed, size int
		bomb         bool
	}{
		{10, 4 << 10, false}, {10, 4<<10 + 1, true},
		{1000, 100 * 1000, false}, {1000, 100*1000 + 1, true},
		{20000, 1 << 20, false}, {20000, 1<<20 + 1, true},
	} {
		message := append([]byte("BZh9"), make([]byte, c.packed-4)...)
		r := dissecttest.Decode(t, Protocol(), cut(message, sourcePacked, 1<<31, 1200, uint32(c.size), 1)...)
		if found := slices.ContainsFunc(r.Findings, func(f dissect.Finding) bool { return f.Type == bzipBomb }); found != c.bomb {
			t.Errorf("%d bytes in %d: found %v", c.size, c.packed, found)
		}
	}
}

// TestSplitHeaders checks the exact limits of every format of the split header.
func TestSplitHeaders(t *testing.T) {
	const mark = "\xfe\xff\xff\xff"
	const plain, packed = mark + "\x01\x02\x03\x00", mark + "\x01\x02\x03\x80"
	const begin, z = "\xff\xff\xff\xff", "BZh"
	type part = reassembly.Part
	long := strings.Repeat("x", 30)
	for _, test := range []struct {
		name  string
		bytes string
		as    uint8 // format to read, 0 to detect it
		want  part  // without the id; total 0 means no part
	}{
		// Not a part, or too short for any format.
		{"eight bytes", plain, 0, part{}},
		{"another mark", "\xff\xff\xff\xff\x01\x02\x03\x00\x12" + long, 0, part{}},
		{"no such format", plain + "\x02\x01" + long, 6, part{}},

		// The first part shows the format.
		{"goldsrc, first", plain + "\x02" + begin, 0, part{Total: 2, Header: 9, Variant: goldSrc}},
		{"goldsrc, first, bit 31", packed + "\x02" + begin, 0, part{Total: 2, Header: 9, Variant: goldSrc}},
		{"goldsrc, 15 parts", plain + "\x0f" + begin, 0, part{Total: 15, Header: 9, Variant: goldSrc}},
		{"goldsrc, one byte short", plain + "\x02" + begin[:3], 0, part{Index: 0, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, index 1 with a message", plain + "\x12" + begin, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, total 0", plain + "\x00" + begin, 0, part{}},
		{"no size, first", plain + "\x02\x00" + begin, 0, part{Total: 2, Header: 10, Variant: sourceNoSize}},
		{"source, first", plain + "\x02\x00\xe0\x04" + begin, 0, part{Total: 2, Size: 0x4e0, Header: 12, Variant: source}},
		{"no size, six bytes of FF", plain + "\x02\x00\xff\xff" + begin, 0, part{Total: 2, Header: 10, Variant: sourceNoSize}},
		{"no size, a message of FF", plain + "\x02\x00" + begin + begin, 0, part{Total: 2, Header: 10, Variant: sourceNoSize}},
		{"packed, first", packed + "\x02\x00sizesum_" + z, 0, part{Total: 2, Header: 18, Variant: sourcePacked}},
		{"packed with size, first", packed + "\x02\x00\xe0\x04sizesum_" + z, 0, part{Total: 2, Size: 0x4e0, Header: 20, Variant: sourcePackedSize}},
		{"BZh without bit 31", plain + "\x02\x00sizesum_" + z, 0, part{Total: 2, Header: 10, Guess: sourceNoSize}},
		{"BZh behind a size without bit 31", plain + "\x02\x00\xe0\x04sizesum_" + z, 0, part{Total: 2, Size: 0x4e0, Header: 12, Guess: source}},
		{"BZh with index 1", packed + "\x02\x01sizesum_" + z, 0, part{Index: 1, Total: 2, Header: 10, Guess: sourcePacked}},
		{"total 1", plain + "\x01\x00\xe0\x04" + begin, 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},

		// Later parts: a valid size, or the other formats.
		{"size 399", plain + "\x03\x01\x8f\x01" + long, 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"size 400", plain + "\x03\x01\x90\x01" + long, 0, part{Index: 1, Total: 3, Size: 400, Header: 12, Guess: source}},
		{"size 1400", plain + "\x03\x01\x78\x05" + long, 0, part{Index: 1, Total: 3, Size: 1400, Header: 12, Guess: source}},
		{"size 1401", plain + "\x03\x01\x79\x05" + long, 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"no data after the size", plain + "\x03\x01\x90\x01", 0, part{Index: 1, Total: 3, Size: 400, Header: 12, Guess: source}},
		{"half a size", plain + "\x03\x01\x90", 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"no data at all", plain + "\x03\x01", 0, part{Index: 1, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"bit 31 and a size", packed + "\x03\x01\x90\x01" + long, 0, part{Index: 1, Total: 3, Size: 400, Header: 12, Guess: sourcePackedSize}},
		{"bit 31", packed + "\x03\x01" + long, 0, part{Index: 1, Total: 3, Header: 10, Guess: sourcePacked}},
		{"bit 31, goldsrc", packed + "\x12b" + long, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"bit 31, goldsrc, after a text", packed + "\x12\x00b" + long, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, second of two", plain + "\x12b" + long, 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, last of 15", plain + "\xefb" + long, 0, part{Index: 14, Total: 15, Header: 9, Guess: goldSrc}},
		{"goldsrc, no data", plain + "\x12", 0, part{Index: 1, Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, index 1 of 1", plain + "\x11", 0, part{}},
		{"20 parts without size", plain + "\x14\x01xx" + long, 0, part{Index: 1, Total: 20, Header: 10, Guess: sourceNoSize}},
		{"20 parts, no data", plain + "\x14\x01", 0, part{Index: 1, Total: 20, Header: 10, Guess: sourceNoSize}},
		{"goldsrc, fourth of four, after a text", plain + "\x34\x00bx" + long, 0, part{Index: 3, Total: 4, Header: 9, Guess: goldSrc}},
		{"goldsrc, second of four, after a text", plain + "\x14\x00bx" + long, 0, part{Index: 1, Total: 4, Header: 9, Guess: goldSrc}},
		{"goldsrc, first of four, damaged", plain + "\x04\x00bx" + long, 0, part{Total: 4, Header: 10, Guess: sourceNoSize}},
		{"51 parts: index and total of goldsrc are equal", plain + "\x33\x01xx" + long, 0, part{Index: 1, Total: 51, Header: 10, Guess: sourceNoSize}},
		{"goldsrc of one part without a message", plain + "\x01\x01xx" + long, 0, part{}},
		{"31 parts", plain + "\x1f\x01xx" + long, 0, part{Index: 1, Total: 31, Header: 10, Guess: sourceNoSize}},
		{"32 parts and more are goldsrc's", plain + "\x25\x01xx" + long, 0, part{Index: 2, Total: 5, Header: 9, Guess: goldSrc}},
		{"index below the total by one", plain + "\x03\x02xx" + long, 0, part{Index: 2, Total: 3, Header: 10, Guess: sourceNoSize}},
		{"index of the total", plain + "\x03\x03xx" + long, 0, part{Index: 0, Total: 3, Header: 9, Guess: goldSrc}},
		{"index of the total, but a message where Source has it", plain + "\x03\x03\xe0\x04" + begin, 0, part{}},
		{"the same without a message", plain + "\x03\x03\xe0\x04" + long, 0, part{Index: 3, Total: 3, Size: 0x4e0, Header: 12, Guess: source}},
		{"the same with a size that Source does not have", plain + "\x03\x03\x79\x05" + begin, 0, part{Index: 0, Total: 3, Header: 9, Guess: goldSrc}},
		{"index above the total, a message where no size is", plain + "\x03\x05" + begin, 0, part{}},
		{"index of the total, packed, no size", packed + "\x03\x03sizesum_" + z, 0, part{}},
		{"index of the total, packed, a size", packed + "\x03\x03\xe0\x04sizesum_" + z, 0, part{}},
		{"index above the total, packed, no size", packed + "\x11\x12xx" + long, 0, part{}},
		{"index of the total, packed, a size, no message", packed + "\x03\x03\xe0\x04" + long, 0, part{Index: 3, Total: 3, Size: 0x4e0, Header: 12, Guess: sourcePackedSize}},
		{"packed, first, too short for its sizes", packed + "\x11\x00abc", 0, part{}},
		{"packed or goldsrc, first, too short for sizes", packed + "\x02\x00\xe0\x04abc", 0, part{Total: 2, Header: 9, Guess: goldSrc}},
		{"goldsrc, index of the total, but a message", plain + "\x22" + begin, 0, part{}},
		{"goldsrc, index of the total", plain + "\x22b" + long, 0, part{Index: 2, Total: 2, Header: 9, Guess: goldSrc}},
		{"one part, its rules cut short", plain + "\x01\x00\xe0\x04" + begin + "E\x02\x00a\x001\x00b\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, all its rules", plain + "\x01\x00\xe0\x04" + begin + "E\x01\x00a\x001\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, rules big endian", plain + "\x01\x00\xe0\x04" + begin + "E\x00\x01a\x001\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, a player cut short", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00a\x001234567", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, a player", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00a\x0012345678", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, no rules", plain + "\x01\x00\xe0\x04" + begin + "E\x00\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, half a number of rules", plain + "\x01\x00\xe0\x04" + begin + "E\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, a rule without a name", plain + "\x01\x00\xe0\x04" + begin + "E\x01\x00\x001\x00", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, a player without a name", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00\x0012345678", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, a name that does not end", plain + "\x01\x00\xe0\x04" + begin + "D\x01\x00" + long, 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, two players", plain + "\x01\x00\xe0\x04" + begin + "D\x02\x00ab\x0012345678\x01cd\x0012345678", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"one part, the second player cut short", plain + "\x01\x00\xe0\x04" + begin + "D\x02\x00ab\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00cd\x001234567", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source, Cut: true}},
		{"one part, info", plain + "\x01\x00\xe0\x04" + begin + "I\x11abc", 0, part{Total: 1, Size: 0x4e0, Header: 12, Variant: source}},
		{"total 0", plain + "\x00\x00xx" + long, 0, part{}},
		{"255 parts, the last", plain + "\xff\xfe\xe0\x04" + long, 0, part{Index: 254, Total: 255, Size: 0x4e0, Header: 12, Guess: source}},

		// Known formats.
		{"as goldsrc", plain + "\x12\x01" + long, goldSrc, part{Index: 1, Total: 2, Header: 9, Variant: goldSrc}},
		{"as goldsrc, index of the total", plain + "\x22\x01" + long, goldSrc, part{Index: 2, Total: 2, Header: 9, Variant: goldSrc}},
		{"as source", plain + "\x03\x01\x00\x00" + long, source, part{Index: 1, Total: 3, Header: 12, Variant: source}},
		{"as source, index of the total", plain + "\x03\x03\xe0\x04" + long, source, part{Index: 3, Total: 3, Size: 0x4e0, Header: 12, Variant: source}},
		{"a first part of no bytes", plain + "\x03\x00", 0, part{Total: 3, Header: 10, Guess: sourceNoSize}},
		{"as source, one byte short", plain + "\x03\x01\x00", source, part{}},
		{"as no size, one byte short", plain + "\x03", sourceNoSize, part{}},
		{"as packed, first", packed + "\x03\x00sizesum_", sourcePacked, part{Total: 3, Header: 18, Variant: sourcePacked}},
		{"as packed, first, one byte short", packed + "\x03\x00sizesum", sourcePacked, part{}},
		{"as packed, second", packed + "\x03\x01", sourcePacked, part{Index: 1, Total: 3, Header: 10, Variant: sourcePacked}},
		{"as packed with size, first", packed + "\x03\x00\x01\x02sizesum_", sourcePackedSize, part{Total: 3, Size: 0x201, Header: 20, Variant: sourcePackedSize}},
		{"as packed with size, first, one byte short", packed + "\x03\x00\x01\x02sizesum", sourcePackedSize, part{}},
	} {
		got, ok := readSplit([]byte(test.bytes), test.as)
		if got.ID != 0 && ok && uint32(got.ID)&^compressedBit != 0x030201&^compressedBit {
			t.Errorf("%s: id %#x", test.name, got.ID)
		}
		got.ID = 0
		if ok != (test.want.Total > 0) || ok && got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, ok, test.want)
		}
	}
	if v := detectSplit([]byte(plain + "\x02" + begin)); v != dissect.Certain {
		t.Errorf("a first part is %v", v)
	}
	if v := detectSplit([]byte(plain + "\x12b")); v != dissect.Likely {
		t.Errorf("a later part is %v", v)
	}
	if v := detectSplit([]byte(plain + "\x22b")); v != dissect.Possible {
		t.Errorf("an index of the total is %v", v)
	}
	if v := detectSplit([]byte(plain + "\x00")); v != dissect.Possible {
		t.Errorf("a damaged header is %v", v)
	}
}

// TestOf checks that the summary of a truncated list states the announced number.
func TestOf(t *testing.T) {
	for want, s := range map[string]dissect.Summarizer{
		"1 of 3 rules":    &RulesReply{Count: 3, Rules: make([]dissect.KeyValue, 1)},
		"3 rules":         &RulesReply{Count: 0x300, Rules: make([]dissect.KeyValue, 3)},
		"9 of 30 players": &PlayersReply{Count: 30, Players: make([]Player, 9)},
		"":                &Part{noID: true},
		"id 0":            &Part{},
	} {
		if got := string(s.AppendSummary(nil)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestBegins: a message whose first part is missing began before the capture, if that is near.
func TestBegins(t *testing.T) {
	for _, f := range []struct {
		frame uint64
		want  *dissect.FindingType
	}{{1, core.CaptureBegins}, {1000, core.CaptureBegins}, {1001, splitMissing}} {
		var k dissecttest.Keeper
		a := must.Get(dissect.New(dissect.Config{Protocols: []*dissect.Protocol{Protocol()}}, &k))(t)
		for i, part := range []string{"\xfe\xff\xff\xff\x01\x00\x00\x00\x03\x01\xe0\x04b\x002\x00", "\xfe\xff\xff\xff\x01\x00\x00\x00\x03\x02\xe0\x04c\x003\x00"} {
			a.Datagram(&dissect.Datagram{Frame: f.frame + uint64(i), Payload: []byte(part),
				Src: netip.MustParseAddrPort("198.51.100.1:27015"), Dst: netip.MustParseAddrPort("192.0.2.1:50000")})
		}
		a.Flush()
		if len(k.Records) != 1 || !k.Records[0].Has(f.want) {
			t.Errorf("from frame %d on: no %s", f.frame, f.want.ID)
		}
	}
}

// TestSplitParse parses single parts.
func TestSplitParse(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  Part
	}{
		{"\xfe\xff\xff\xff\x01\x00\x00\x80\x02\xff\xff\xff\xffE", Part{ID: 1 | compressedBit, Total: 2, Variant: "goldsrc"}},
		{"\xfe\xff\xff\xff\x01\x00\x00\x80\x02\x00sizesum_BZh", Part{ID: 1 | compressedBit, Total: 2, Variant: "source-nosize", Compressed: true}},
		{"\xfe\xff\xff\xff\x01\x00\x00\x00\x02\x01\xe0\x04x", Part{ID: 1, Index: 1, Total: 2}},
	} {
		m, err := Parse([]byte(test.bytes))
		p, ok := m.(*Part)
		if err != nil || !ok {
			t.Fatalf("%T, %v", m, err)
		}
		got := *p
		got.Data = nil
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%+v, want %+v", got, test.want)
		}
	}
	var e *dissect.Error
	for _, damaged := range []string{"\x00\x00", "\x00\x03\x03\xe0\x04x", "\x80\x11\x00abc"} {
		if _, err := Parse([]byte("\xfe\xff\xff\xff\x01\x00\x00" + damaged)); !errors.As(err, &e) || e.Offset != 8 || e.Have != -1 {
			t.Errorf("a damaged header %q: %v", damaged, err)
		}
	}
}
