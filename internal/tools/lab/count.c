/* The baseline of all figures: read a capture with libpcap and count the UDP
   packets, doing no more than that. */
#include <pcap/pcap.h>
#include <stdio.h>

static unsigned long packets, udp;

static void count(u_char *user, const struct pcap_pkthdr *h, const u_char *p)
{
	unsigned off = 12, type;

	(void)user;
	packets++;
	if (h->caplen < 34)
		return;
	type = p[off] << 8 | p[off + 1];
	while (type == 0x8100 && h->caplen >= off + 26) {
		off += 4;
		type = p[off] << 8 | p[off + 1];
	}
	if (type == 0x0800)
		udp += p[off + 2 + 9] == 17;
	else if (type == 0x86dd)
		udp += p[off + 2 + 6] == 17;
}

int main(int argc, char **argv)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *in = argc == 2 ? pcap_open_offline(argv[1], err) : NULL;

	if (!in || pcap_loop(in, -1, count, NULL) < 0)
		return 1;
	printf("%lu packets, %lu udp\n", packets, udp);
	return 0;
}
