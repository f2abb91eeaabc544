package dissect

import (
	"slices"
	"time"
)

// A peerKey is a client and a server that issues it challenges. The port of the
// client is not part of it: servers compute challenges from the address alone, and
// some clients use a new port for every request.
type peerKey struct {
	client, server address
	port           uint16
	protocol       int8
}

// peer returns the key of a client and a server; up is the direction of requests.
func (k *flowKey) peer(up bool, proto int8) peerKey {
	if up {
		return peerKey{k.low, k.high, k.highPort, proto}
	}
	return peerKey{k.high, k.low, k.lowPort, proto}
}

// A peer is what a server sent to a client.
type peer struct {
	challenges [4]uint64 // newest first
	n          uint8
	streak     uint8  // challenges in a row without data
	refused    uint8  // of them, those that answered a challenge
	sum        uint32 // sum of the last reply that has one
	at         int64
	sumFrame   uint64 // frame of it
	sumTime    int64
}

// given returns the challenges that a client was given, the newest first.
func (p *peer) given() []uint64 { return p.challenges[:p.n] }

// challenges are those that servers gave to clients, and what proves that a client got one.
type challenges struct {
	peers *recent[peerKey, peer]
	// proofs has the times when clients last proved themselves. Whoever forges addresses
	// cannot fill it.
	proofs  *recent[peerKey, int64]
	provers uint64 // protocols of which a client proved itself
	issuers uint64 // those of which a server gave a challenge
	// issueSeeds are those of which a server gave one that clients also send
	// to ask for one: 0 or -1.
	issueSeeds uint64
}

// clear forgets everything.
func (c *challenges) clear() {
	c.peers.clear()
	c.proofs.clear()
	c.provers, c.issuers, c.issueSeeds = 0, 0, 0
}

// of returns what a server sent to a client, nil if it gave no challenge.
func (c *challenges) of(k *peerKey) *peer {
	if c.issuers>>k.protocol&1 == 0 {
		return nil
	}
	return c.peers.find(k)
}

// seeded returns the use of a challenge in a request, whose value for asking may be one that
// the server gave.
func (c *challenges) seeded(rec *Record, k *peerKey) Challenge {
	if rec.Pair.Challenge == ChallengeSeed && c.issueSeeds>>k.protocol&1 != 0 {
		if known := c.of(k); known != nil && slices.Contains(known.given(), rec.Pair.Value) {
			return ChallengeUsed
		}
	}
	return rec.Pair.Challenge
}

// proves reports whether a message carries a challenge that was issued to its
// sender.
func (c *challenges) proves(rec *Record, k *peerKey, turn *Turn) bool {
	if rec.Pair.Challenge != ChallengeUsed {
		return false
	}
	known := c.of(k)
	if known == nil || known.n == 0 {
		return false
	}
	turn.Issued = known.given()
	turn.Wrong = !slices.Contains(turn.Issued, rec.Pair.Value)
	return !turn.Wrong
}

// give records a challenge that a server issued; refused says that the request carried one.
func (c *challenges) give(rec *Record, k *peerKey, refused bool, now int64, turn *Turn) {
	c.issuers |= 1 << k.protocol
	if seed(rec.Pair.Value) {
		c.issueSeeds |= 1 << k.protocol
	}
	known := c.peers.get(k)
	if known.n == 0 || known.challenges[0] != rec.Pair.Value {
		turn.Changed, turn.ChangedAfter = known.n > 0 && now >= known.at, time.Duration(now-known.at)
		copy(known.challenges[1:], known.challenges[:])
		known.challenges[0] = rec.Pair.Value
		known.at = now
		if int(known.n) < len(known.challenges) {
			known.n++
		}
	}
	if known.streak < 255 {
		known.streak++
	}
	if refused && known.refused < 255 {
		known.refused++
	}
	turn.InARow, turn.Refused = int(known.streak), int(known.refused)
}

// seed reports whether a challenge is a value with which clients ask for one.
func seed(value uint64) bool {
	v := uint32(value)
	return v == 0 || v == 1<<32-1
}

// sameReplyWindow is the time within which an equal reply counts as cached.
const sameReplyWindow = 5 * time.Second

// remember remembers a reply's checksum and reports a cached reply to the rules.
func (c *challenges) remember(rec *Record, k *peerKey, now int64, turn *Turn) {
	known := c.peers.get(k)
	if age := now - known.sumTime; known.sum == rec.Pair.Sum && age >= 0 && age <= int64(sameReplyWindow) {
		turn.SameIn, turn.SameAgo = known.sumFrame, time.Duration(age)
		return
	}
	known.sum, known.sumFrame, known.sumTime = rec.Pair.Sum, rec.Frame, now
}

// vouchedFor is how long an address that proved itself to a server is trusted there.
const vouchedFor = 10 * time.Minute

// prove records that a client proved itself.
func (c *challenges) prove(k *peerKey, now int64) {
	c.provers |= 1 << k.protocol
	*c.proofs.get(k) = now
}

// proved returns when a client last proved itself.
func (c *challenges) proved(k *peerKey) (at int64, ok bool) {
	if c.provers>>k.protocol&1 != 0 {
		if t := c.proofs.find(k); t != nil {
			return *t, true
		}
	}
	return 0, false
}
