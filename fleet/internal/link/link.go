// Package link has the NATS server of a fleet and the connections to it.
package link

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/internal/whole"
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

// MaxPayload bounds a message of an embedded server, in bytes.
const MaxPayload = 8 << 20

// ServerOptions say how an embedded server works.
type ServerOptions struct {
	Listen   string // host:port, "" for connections of this process only
	Store    string // the folder of its files
	Users    string // the file of those who may connect
	Insecure bool   // others may listen in or connect
	TLS      TLS
}

// Add adds the flags.
func (o *ServerOptions) Add(f *pflag.FlagSet) {
	f.StringVar(&o.Listen, "listen", o.Listen, "the `ADDRESS` host:port for other machines")
	f.StringVar(&o.Store, "store", "", "the `FOLDER` in which the server keeps its files")
	f.StringVar(&o.Users, "users", "", "the `FILE` of those who may connect: lines of a role, a name and a public key")
	f.BoolVar(&o.Insecure, "insecure", false, "listen without --users or without TLS, also beyond this machine")
}

// A Server is an embedded NATS server with JetStream.
type Server struct {
	s    *server.Server
	self nkeys.KeyPair // of this process, nil if everybody may connect
}

// Start starts a server.
func Start(o ServerOptions) (*Server, error) {
	opts := &server.Options{
		ServerName: "qdissect-fleet", JetStream: true, StoreDir: o.Store, DontListen: o.Listen == "", NoSigs: true, NoLog: true,
		MaxPayload: MaxPayload, NoSystemAccount: true,
	}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		n, err2 := strconv.Atoi(port)
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("--listen %s: must be host:port, such as 0.0.0.0:4222", o.Listen)
		}
		opts.Host, opts.Port = host, n
		if n == 0 {
			opts.Port = server.RANDOM_PORT
		}
		if ip := net.ParseIP(host); !o.Insecure && host != "localhost" && (ip == nil || !ip.IsLoopback()) && (o.Users == "" || o.TLS.Cert == "") {
			return nil, errors.New("--listen beyond this machine needs --users, --tls-cert and --tls-key; --insecure does without")
		}
		free, err := net.Listen("tcp", o.Listen) // the server does not say why it cannot
		if err != nil {
			return nil, err
		}
		free.Close()
	}
	if o.TLS.Cert != "" {
		config, err := o.TLS.config()
		if err != nil {
			return nil, err
		}
		opts.TLS, opts.TLSConfig, opts.TLSTimeout = true, config, 5
		if o.TLS.CA != "" {
			opts.TLSVerify, config.ClientAuth = true, tls.RequireAndVerifyClientCert
		}
	}
	s := &Server{}
	if o.Users != "" {
		users, err := readUsers(o.Users)
		if err != nil {
			return nil, err
		}
		if s.self, err = nkeys.CreateUser(); err != nil {
			return nil, err
		}
		public, err := s.self.PublicKey()
		if err != nil {
			return nil, err
		}
		opts.Nkeys = append(users, &server.NkeyUser{Nkey: public})
	}
	debug.SetGCPercent(25) // the server makes much garbage, and keeps little
	var err error
	if s.s, err = server.NewServer(opts); err != nil {
		return nil, err
	}
	s.s.Start()
	if !s.s.ReadyForConnections(10 * time.Second) {
		s.Stop()
		return nil, fmt.Errorf("the NATS server does not start at %q with its files in %s", o.Listen, o.Store)
	}
	return s, nil
}

// URL returns where the server listens.
func (s *Server) URL() string { return s.s.ClientURL() }

// Connect connects this process, which may do everything.
func (s *Server) Connect(name string) (*nats.Conn, error) {
	list := []nats.Option{nats.Name(name), nats.InProcessServer(s.s), nats.MaxReconnects(-1)}
	if s.self != nil {
		public, err := s.self.PublicKey()
		if err != nil {
			return nil, err
		}
		list = append(list, nats.Nkey(public, s.self.Sign))
	}
	return nats.Connect("", list...)
}

// Linger waits until nobody but this process is connected, or for a time.
func (s *Server) Linger(most time.Duration) {
	for end := time.Now().Add(most); s.s.NumClients() > 1 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
}

// Stop stops the server.
func (s *Server) Stop() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// readUsers reads a file of users.
func readUsers(name string) ([]*server.NkeyUser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []*server.NkeyUser
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("%s:%d: must be a role, a name and a public key", name, n)
		}
		role := roles[words[0]]
		switch {
		case role == nil:
			return nil, fmt.Errorf("%s:%d: no role %q", name, n, words[0])
		case strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
			return nil, fmt.Errorf("%s:%d: the name %q: use a to z, digits, - and _", name, n, words[1])
		case slices.ContainsFunc(list, func(u *server.NkeyUser) bool { return u.Nkey == words[2] }):
			return nil, fmt.Errorf("%s:%d: this key is in another line already: each user needs one", name, n)
		case !nkeys.IsValidPublicUserKey(words[2]):
			return nil, fmt.Errorf("%s:%d: %q is not a public key that qdissect-fleet key prints", name, n, words[2])
		}
		may := role(words[1])
		may.Subscribe.Allow = append(may.Subscribe.Allow, inbox(words[2])+".>")
		list = append(list, &server.NkeyUser{Nkey: words[2], Permissions: may})
	}
	return list, lines.Err()
}

// roles are what those who connect may do, by the word in the file of users. Each has the name
// that follows it there: that of a run, or of a sensor. Everybody may receive answers.
var roles = map[string]func(name string) *server.Permissions{
	"run": func(name string) *server.Permissions {
		queue, bucket := "qdissect-work-"+name, "qdissect-"+name
		list := []string{"$JS.API.INFO", "qdissect.work." + name, "$KV." + bucket + ".>", "$JS.ACK." + queue + ".>", "$JS.FC.>"}
		for _, stream := range []string{queue, "KV_" + bucket} {
			list = append(list, "$JS.API.STREAM.*."+stream, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.CONSUMER.*."+stream+".>",
				"$JS.API.CONSUMER.MSG.NEXT."+stream+".>", "$JS.API.DIRECT.GET."+stream, "$JS.API.DIRECT.GET."+stream+".>")
		}
		p := publish(append(list, "qdissect.run."+name)...)
		p.Subscribe.Allow = []string{"qdissect.run." + name}
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
		return p
	},
	"work": func(name string) *server.Permissions {
		queue, bucket := "qdissect-work-"+name, "qdissect-"+name
		return publish("$KV."+bucket+".done.>", "$KV."+bucket+".bad.>", "$KV."+bucket+".worker.>",
			"$JS.API.STREAM.INFO.KV_"+bucket, "$JS.API.STREAM.MSG.GET.KV_"+bucket, "$JS.API.DIRECT.GET.KV_"+bucket, "$JS.API.DIRECT.GET.KV_"+bucket+".>",
			"$JS.API.CONSUMER.INFO."+queue+".*", "$JS.API.CONSUMER.MSG.NEXT."+queue+".*", "$JS.ACK."+queue+".>")
	},
	"status": func(name string) *server.Permissions {
		queue, bucket := "qdissect-work-"+name, "qdissect-"+name
		return publish("$JS.API.STREAM.INFO."+queue, "$JS.API.STREAM.INFO.KV_"+bucket, "$JS.API.STREAM.MSG.GET.KV_"+bucket,
			"$JS.API.DIRECT.GET.KV_"+bucket, "$JS.API.DIRECT.GET.KV_"+bucket+".>", "$JS.API.CONSUMER.*.KV_"+bucket+".>", "$JS.FC.>")
	},
	// A sensor publishes its own counts and status, and answers who asks it for packets.
	"sensor": func(name string) *server.Permissions {
		p := publish("qdissect.sensor." + name + ".>")
		p.Subscribe.Allow = []string{"qdissect.fetch." + name}
		p.Response = &server.ResponsePermission{MaxMsgs: 4096, Expires: 5 * time.Minute}
		return p
	},
	// A view reads what all sensors have published.
	"view": func(string) *server.Permissions {
		const stream = "qdissect-sensors"
		return publish("$JS.API.STREAM.INFO."+stream, "$JS.API.CONSUMER.CREATE."+stream+".>", "$JS.API.CONSUMER.INFO."+stream+".>",
			"$JS.API.CONSUMER.DELETE."+stream+".>", "$JS.API.CONSUMER.MSG.NEXT."+stream+".>")
	},
	// Who fetches packets asks sensors for them, and acknowledges each piece.
	"fetch": func(string) *server.Permissions {
		p := publish("qdissect.fetch.*")
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
		return p
	},
}

// publish permits to publish to subjects, and nothing else.
func publish(subjects ...string) *server.Permissions {
	return &server.Permissions{Publish: &server.SubjectPermission{Allow: subjects}, Subscribe: &server.SubjectPermission{}}
}

// inbox is where the user with a public key receives answers. Nobody else may listen there.
func inbox(public string) string { return "_INBOX_" + public }
