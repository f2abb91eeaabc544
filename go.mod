module github.com/qdissect/qdissect

go 1.26.0

require (
	github.com/gopacket/gopacket v1.7.7
	github.com/klauspost/compress v1.20.3
)

require (
	github.com/dsnet/compress v0.0.1 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/net v0.55.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
)
