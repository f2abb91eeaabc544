// Package hexinput turns what people paste into bug reports into the payloads
// of datagrams.
//
// # Forms
//
// These are understood, any number of them in one text, with prose, Markdown
// and the times of a log around them:
//
//   - Plain hex: pairs or longer words of digits, in either case, with blanks,
//     commas, colons, semicolons, hyphens or bars between them or nothing, each
//     after 0x or \x or nothing. The same bytes as text may follow them, also as
//     the next cell of a Markdown table.
//   - Dumps with offsets in hex: hexdump -C, xxd with and without -g and -c, and
//     whatever else prints an offset, groups and maybe a text. A "*" repeats the row
//     above it.
//   - tcpdump -x, -X, -xx and -XX; tshark -x.
//   - Wireshark: copies of packets as hex, as an escaped string and as base64, C
//     arrays, and streams that are followed (as hex, raw or C arrays).
//   - Python: bytes and bytearray literals, lists of numbers, fromhex.
//   - C, Go, PHP, JavaScript, Java, Rust, Lua and the like: strings with escapes,
//     which may stand without quotes on a line, lists of numbers and characters,
//     what these languages print for them, and strings of hex digits.
//   - Base64: as an argument of what decodes it, alone on a line, and anywhere if
//     the payload begins with ffffffff.
//
// # Where a datagram ends
//
// A literal, a list and a dump end by themselves. A dump begins anew where its
// offset is 0 or goes back, and, as in a stream that is followed, after a row
// that is not full and where the indentation changes to that of the other
// direction.
//
// Plain hex has no end of its own. A line of it goes on with the one before it
// if all of these hold, and begins another datagram otherwise:
//
//   - no line lies between them, blank or not;
//   - it has nothing before the hex, neither a label nor a time;
//   - it does not begin as queries do: with ffffffff and a letter, digit or
//     underscore, or with feffffff, fefd00, fefd09, SAMP or a few others;
//   - the first line of the datagram has 8 bytes or more, all lines up to the one
//     before it have as many as that, and it has no more;
//   - if the first line is a single word, it is one as well, and both or neither
//     begin with a tab, as tshark indents one direction.
//
// Hex after a bracket or a quote that is not closed on its line goes on in the next
// lines up to where it is, unless one begins as queries do. Note says so if nothing
// closes it.
//
// So lines of one width and a shorter one are one datagram, and so are words of
// an odd number of digits each, if the sum is even. Lines after > go on in the
// same way, as quotations, if the first of them begins as queries do and has a
// multiple of 8 bytes; all other lines with a label, such as "request: ff ff" or
// "< ff ff", begin a datagram each. Where two lines might as well be two
// datagrams, Note says so.
//
// Strings are joined as the language would: if they stand next to each other,
// with nothing, +, a period or a backslash between them. A string of Python on
// the next line is joined only within brackets, that of another language unless
// it begins as queries do.
//
// # What is a payload
//
// Numbers, times, hashes and hardware addresses look like hex. They are passed
// over, unless the text has nothing else and is short. What begins as queries
// do, has a label that announces bytes, stands on a line of its own with digits
// from a to f, or has several pairs of them counts anywhere.
//
// What certainly is hex but has a wrong digit or an odd number of them is an
// error, with its line and column; the column counts characters. Nothing is
// guessed to mend it.
//
// # Headers
//
// An IP packet, or a frame (Ethernet, Linux cooked, loopback) that holds one, is
// decoded by package packet, through VLAN tags and tunnels: Data is the payload
// of its UDP datagram. That is expected of tcpdump's dumps; anything else is a packet only if
// all its lengths agree. IP
// fragments are not put together.
//
// # How it works
//
// The text is read line by line: each line is given to the forms of the table forms in
// turn. The first that recognises it reads it, with the lines that belong to it.
//
//	form      a line looks like                  taken from it
//	dump      00000010  ff ff  |..|              bytes; offsets and text prove them
//	plain     12:00:01 ff ff | ..                bytes, and more of them on the next line
//	encoded   /////1RTb3VyY2U=                   base64
//	scan      send(b'\xff', [255, 0x41], "ff")   strings, lists, base64 and hex, wherever they stand
//
// Dump, plain and scan share the reader of hex words (words.go). Scan goes through
// the line from left to right. A string that is not a payload itself is scanned
// as well: it may hold hex, or a literal. Whether hex among other things is a
// payload depends on its label (words.go). Positions are those in the text; they
// become lines and columns at the end.
//
// A time at the beginning of a line is that of the datagrams that begin there, or
// of the next one.
//
// The package has no state, reads nothing but its argument, and holds at most
// MaxInput bytes of payloads.
package hexinput
