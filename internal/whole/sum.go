package whole

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// Sum returns the SHA-256 of the first most bytes of a regular file, "" for what cannot be read twice.
func Sum(name string, most int64) string {
	st, err := os.Stat(name)
	if name == "-" || err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, most)); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
