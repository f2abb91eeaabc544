// Package netns plays scenes against firewall rules: in a network namespace of its own,
// with the addresses and at the times of the capture, and counts what the rules let pass.
// It needs Linux, root, ip (iproute2) and nft (nftables); tests are skipped elsewhere.
//
// # What limits of nftables do
//
// Measured with Linux 6.18 and nftables 1.0.6; TestLimits holds it.
//
// "limit rate over N/second burst M packets drop" is a bucket of M tokens that begins
// full. It gets N tokens a second, continuously, up to M; the time has nanoseconds. A
// packet takes a token and passes; if there is less than one, it takes nothing and is
// dropped. So at most M + N·t packets pass in any t seconds. Without "burst" M is 5, with
// any rate and unit; 0 is refused. 300/minute is the same as 5/second.
//
// In a set with "flags dynamic", each element has a bucket of its own, which begins full.
//
// An element is made by the first packet of its address. With "update @set" each packet
// that matches renews the timeout, also one that is then dropped; with "add @set" the
// timeout counts from the first packet, and the bucket begins full again after it. An
// element that is over its timeout no longer counts for its own address, but it keeps
// its place in the set until it is collected. That happens once a second (gc-interval
// changes it): places get free between 0 and 1 second after the timeout, sometimes a
// little more.
//
// If the set is full, an address without an element gets none and the expression does
// not match, whatever the rate. With "limit rate over … drop" such packets pass (a flood
// of more than 65,535 addresses within the timeout passes as if there were no rule, and
// so do new honest clients); with "limit rate … accept" before a drop they are dropped.
// Addresses that are in the set remain limited. "size" is exact. A meter behaves as a
// set; without a size it holds 65,535 elements.
package netns
