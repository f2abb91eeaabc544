// Package link has the NATS server of a fleet and the connections to it.
package link

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/qdissect/qdissect/internal/whole"
	"github.com/spf13/pflag"
)

// TLS are the files of one end of a connection.
type TLS struct {
	Cert, Key string // of this end
	CA        string // that signed the certificate of the other end
}

// Add adds the flags.
func (t *TLS) Add(f *pflag.FlagSet) {
	f.StringVar(&t.Cert, "tls-cert", "", "the certificate of this end, a PEM `FILE`")
	f.StringVar(&t.Key, "tls-key", "", "its key, a PEM `FILE`")
	f.StringVar(&t.CA, "tls-ca", "", "the certificates that sign the certificate of the other end, a PEM `FILE`")
}

// config reads the files. It returns nil if there are none.
func (t *TLS) config() (*tls.Config, error) {
	if *t == (TLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("--tls-cert and --tls-key need each other")
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Cert, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificates", t.CA)
		}
		c.ClientCAs = c.RootCAs
	}
	return c, nil
}

// Options say how to connect to a server.
type Options struct {
	URL         string
	Creds, NKey string // files
	TLS         TLS
	flag        string // of URL
}

// Add adds the flags, with the given name for that of the server.
func (o *Options) Add(f *pflag.FlagSet, name string) {
	o.flag = name
	f.StringVar(&o.URL, name, "", "the `URL` of a NATS server with JetStream, such as nats://host:4222 or tls://host:4222")
	o.AddCredentials(f)
}

// AddCredentials adds the flags without that of the server.
func (o *Options) AddCredentials(f *pflag.FlagSet) {
	f.StringVar(&o.NKey, "nkey", "", "the `FILE` with the secret key of this user; qdissect-fleet key makes one")
	f.StringVar(&o.Creds, "creds", "", "the `FILE` with the credentials of a NATS user (JWT and seed)")
	o.TLS.Add(f)
}

// Connect connects to the server, and again whenever the connection breaks. The first
// connection must succeed. The command, with a name if it has one, tells people who is connected.
func (o *Options) Connect(command string, more ...nats.Option) (*nats.Conn, error) {
	list := []nats.Option{nats.Name("qdissect-fleet " + command), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second), nats.Timeout(5 * time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})} // Explain tells it
	if o.NKey != "" {
		key, public, err := readKey(o.NKey)
		if err != nil {
			return nil, err
		}
		list = append(list, nats.Nkey(public, key.Sign), nats.CustomInboxPrefix(inbox(public)))
	}
	if o.Creds != "" {
		if err := private(o.Creds); err != nil {
			return nil, err
		}
		list = append(list, nats.UserCredentials(o.Creds))
	}
	config, err := o.TLS.config()
	if err != nil {
		return nil, err
	}
	if config != nil {
		list = append(list, nats.Secure(config))
	}
	if o.URL == "" {
		command, _, _ = strings.Cut(command, " ")
		return nil, fmt.Errorf("%s needs --%s URL", command, o.flag)
	}
	c, err := nats.Connect(o.URL, append(list, more...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.URL, err)
	}
	return c, nil
}

// Away reports whether an error says that no server listens.
func Away(err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout)
}

// Explain returns the reason of an error, if it is that the server does not permit something.
func Explain(c *nats.Conn, err error) error {
	if denied := c.LastError(); err != nil && errors.Is(denied, nats.ErrPermissionViolation) {
		return fmt.Errorf("the server does not permit this to this user: %w", denied)
	}
	return err
}

// private returns an error if others may read a file with a secret.
func private(name string) error {
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	if st.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return fmt.Errorf("%s: others can read this secret; chmod 600 it", name)
	}
	return nil
}

// readKey reads a file with the seed of a key.
func readKey(name string) (key nkeys.KeyPair, public string, err error) {
	if err := private(name); err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, "", err
	}
	if key, err = nkeys.FromSeed(bytes.TrimSpace(text)); err == nil {
		public, err = key.PublicKey()
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return key, public, nil
}

// Key returns the public key of the secret key in a file, which it makes if there is none.
func Key(name string) (string, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		key, err := nkeys.CreateUser()
		if err != nil {
			return "", err
		}
		seed, err := key.Seed()
		if err != nil {
			return "", err
		}
		if err := whole.Write(name, append(seed, '\n'), true); err != nil {
			return "", err
		}
	}
	_, public, err := readKey(name)
	return public, err
}
